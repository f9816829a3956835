// Scratch memory of CPU kernels: each thread keeps blocks that it has freed. malloc() gives large ones back to the system, whose
// pages are then cleared for every task: up to two thirds of a kernel's time (1-D k4 s2, 64 to 32 channels, 16 signals of 4096, 29
// ms in place of 11; EPYC, 2026-11-28).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "HalideRuntime.h"
#include "conv_transpose/conv_transpose.h"

namespace {

constexpr std::size_t alignment = 128;

// Small blocks stay with malloc(). AddressSanitizer sees what goes beyond a block if it is a block of its own.
constexpr std::size_t least_bytes = 32 << 10;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t most_bytes = 0;
#else
constexpr std::size_t most_bytes = conv_transpose::kept_scratch_bytes;
#endif

/// In front of what a kernel sees.
struct alignas(alignment) Block {
    std::size_t bytes;
};

class KeptBlocks {
  public:
    ~KeptBlocks() {
        is_over_ = true;
        for (std::size_t i = 0; i < count_; i++) std::free(blocks_[i]);
    }

    /// None after the end of a thread, whose last objects may still run kernels.
    static KeptBlocks *of_thread() {
        if (is_over_) return nullptr;
        static thread_local KeptBlocks blocks;
        return &blocks;
    }

    /// The smallest that is large enough.
    Block *take(std::size_t bytes) {
        for (std::size_t i = 0; i < count_; i++)
            if (blocks_[i]->bytes >= bytes) return remove(i);
        return nullptr;
    }

    /// Smaller ones make room.
    void keep(Block *block) {
        while (count_ > 0 && blocks_[0]->bytes < block->bytes && !has_room(*block)) std::free(remove(0));
        if (!has_room(*block)) return std::free(block);
        std::size_t at = count_++;
        for (; at > 0 && blocks_[at - 1]->bytes > block->bytes; at--) blocks_[at] = blocks_[at - 1];
        blocks_[at] = block;
        all_bytes_ += block->bytes;
    }

  private:
    std::array<Block *, 8> blocks_{};  ///< from the smallest on
    std::size_t count_ = 0, all_bytes_ = 0;
    static thread_local bool is_over_;

    bool has_room(const Block &block) const { return count_ < blocks_.size() && all_bytes_ + block.bytes <= most_bytes; }
    Block *remove(std::size_t i) {
        Block *const block = blocks_[i];
        all_bytes_ -= block->bytes;
        std::copy(blocks_.begin() + i + 1, blocks_.begin() + count_--, blocks_.begin() + i);
        return block;
    }
};

thread_local bool KeptBlocks::is_over_ = false;

}  // namespace

extern "C" {

void *halide_malloc(void *, std::size_t wanted) {
    const std::size_t bytes = (wanted + alignment - 1) / alignment * alignment;
    if (bytes < wanted || bytes + sizeof(Block) < bytes) return nullptr;
    KeptBlocks *const kept = bytes < least_bytes ? nullptr : KeptBlocks::of_thread();
    Block *block = kept ? kept->take(bytes) : nullptr;
    if (!block) {
        void *const memory = std::aligned_alloc(alignment, sizeof(Block) + bytes);
        if (!memory) return nullptr;
        block = new (memory) Block{bytes};
    }
    return block + 1;
}

void halide_free(void *, void *scratch) {
    if (!scratch) return;
    Block *const block = static_cast<Block *>(scratch) - 1;
    KeptBlocks *const kept = block->bytes < least_bytes ? nullptr : KeptBlocks::of_thread();
    kept ? kept->keep(block) : std::free(block);
}

}  // extern "C"
