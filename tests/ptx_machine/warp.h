// The state of a block and of its warps while they run: what decoded instructions work on.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_WARP_H
#define CONV_TRANSPOSE_PTX_MACHINE_WARP_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "product_rules.h"
#include "ptx_machine.h"
#include "ptx_program.h"
#include "shared_history.h"
#include "tensor_map.h"

namespace ptx_machine {

/// Throws PtxError with the instruction's text.
[[noreturn]] void fail(const Instruction &instruction, const std::string &what);

/// Calls function(lane) for those in the mask.
template <class Function>
void for_each_lane(uint32_t mask, Function function) {
    if (mask == ~0u) {
        for (int l = 0; l < lanes; l++) function(l);
        return;
    }
    for (; mask; mask &= mask - 1) function(std::countr_zero(mask));
}

/// What the warps that arrive have seen is what those see that wait.
inline void merge(std::vector<int32_t> &to, const std::vector<int32_t> &from) {
    to.resize(from.size(), 0);
    std::transform(from.begin(), from.end(), to.begin(), to.begin(), [](int32_t a, int32_t b) { return std::max(a, b); });
}

/// One of the barriers 0 to 15 of a block.
struct Barrier {
    uint32_t threads = 0;  ///< that it is for; 0 for all of the block
    std::vector<Warp *> arrived, waiting;
    std::vector<int32_t> seen;  ///< what the warps that arrived had seen
};

/// A box of a tensor: where it begins, and how much further on it is read.
struct Box {
    TensorMap map;
    int32_t first[5], offset[3];
};

/// A copy by the copy engine, of a run of bytes or of a box.
struct BulkCopy {
    uint32_t to;
    uint64_t from;
    uint32_t bytes;
    std::optional<Box> box;
};

/// From shared memory, of a run of bytes or of a box. Nobody may know that it is done before its thread has waited for it.
struct BulkStore {
    uint64_t to;
    uint32_t from, bytes;
    std::optional<Box> box;
    int group = 0;  ///< the number of its group, from 1 on, once it has been committed
};

struct Mbarrier {
    uint32_t count = 0;    ///< of arrivals that a phase has
    uint32_t pending = 0;  ///< of them
    uint32_t phases = 0;   ///< that have ended
    int64_t bytes = 0;     ///< that are expected and have not come
    int made_by = -1;      ///< the warp that initialized it
    bool fenced = false;   ///< since then, by that warp: the copy engine sees it
    std::vector<int32_t> seen, seen_in_phase;  ///< by the warps that arrived, until the last phase ended and until now
    std::deque<BulkCopy> under_way;
};

struct Cluster;

struct Block {
    static constexpr int barriers_of_block = 16;

    Block(const Launch &l, int w)
        : launch(l), warps(w), shared(l.kernel.shared_begins_at() + l.shared_bytes), history(static_cast<int>(shared.size()), w) {}

    const Launch &launch;
    const int warps;
    std::vector<uint8_t> shared;
    SharedHistory history;
    Barrier barriers[barriers_of_block];
    std::map<uint32_t, Mbarrier> mbarriers;  ///< by their addresses in shared memory
    Cluster *cluster = nullptr;
    uint32_t rank = 0;     ///< in it
    bool is_alone = true;  ///< there
    bool has_ended = false;

    /// Where the next block of the grid begins.
    void restart() {
        std::fill(shared.begin(), shared.end(), 0xff);
        history.restart();
        std::fill(std::begin(barriers), std::end(barriers), Barrier());
        mbarriers.clear();
        has_ended = false;
    }

    /// Fails on accesses outside or not aligned, of a power of two.
    void check_shared(const Instruction &i, uint32_t address, int bytes) const {
        const bool inside = address >= launch.kernel.shared_begins_at() && address + uint64_t(bytes) <= shared.size();
        if (!inside || address & (bytes - 1)) fail_outside(i, address, bytes);
    }

  private:
    [[noreturn]] void fail_outside(const Instruction &, uint32_t address, int bytes) const;
};

/// A cp.async of the lanes in `mask`.
struct PendingCopy {
    const Instruction *instruction;
    uint32_t mask;
    bool done;  ///< early; nobody may know that before it has been waited for
    uint32_t to[lanes];
    uint64_t from[lanes];
    uint32_t bytes[lanes];  ///< that are read; the rest is filled with zeros
};

/// Lanes that are at the same place of the program.
struct Fragment {
    int at;
    uint32_t mask;
};

class Warp {
  public:
    Block *block = nullptr;
    int index = 0;
    /// How far in each warp's time this warp has seen: what was done until then is over for it. In its own, what its lanes did.
    std::vector<int32_t> seen;
    int32_t clock = 0;  ///< its own time
    std::vector<uint32_t> registers;
    std::vector<uint8_t> local;
    std::vector<Fragment> fragments;                      ///< by their places; none: the warp has ended
    uint32_t lanes_of_block;                              ///< those that began
    std::deque<std::vector<PendingCopy>> copy_groups{1};  ///< the last one is open
    ProductRegisters product_registers;
    std::vector<uint8_t> turns;  ///< of each loop in this block, up to 2
    int cluster_arrivals = 0, cluster_waits = 0;  ///< at the barrier of the cluster, so far
    bool waiting = false;  ///< at a barrier of the block, or at an instruction of the warpgroup

    const Kernel &kernel() const { return block->launch.kernel; }
    bool ended() const { return fragments.empty(); }
    int thread(int lane) const { return lanes * index + lane; }

    /// At a barrier whose others have seen so much: what it does from now on is later than what it did for them. It has waited
    /// for nobody yet, not even its own lanes for each other.
    void arrive(std::vector<int32_t> &seen_by_others) {
        merge(seen_by_others, seen);
        seen_by_others[index] = ++clock;
    }

    /// The lanes of a register, and of a register or constant.
    template <class T>
    T *to(int place) {
        return reinterpret_cast<T *>(registers.data() + place);
    }
    template <class T>
    const T *from(int place) const {
        const uint32_t *file = place >= 0 ? registers.data() + place : kernel().constants.data() + ~place;
        return reinterpret_cast<const T *>(file);
    }

    std::deque<BulkStore> bulk_stores;  ///< under way
    int bulk_groups = 0;                ///< that were committed, ever
    /// Those of groups up to this one are over.
    void finish_bulk_stores(int last_group);
    void copy(const PendingCopy &pending);
    void finish_copies(size_t groups_left);
};

constexpr int rank_bits = 24;  ///< addresses in a block's shared memory are smaller
constexpr uint32_t in_block(uint32_t address) { return address & ((1u << rank_bits) - 1); }
/// Where the block's shared memory begins among that of its cluster.
inline uint32_t base_of(uint32_t rank) { return (rank + 1) << rank_bits; }

/// An address in the block's own shared memory. In a cluster of several it must tell the block; none where it tells another.
inline uint32_t own_address(const Warp &w, uint32_t address) {
    constexpr uint32_t none = ~uint32_t{15};
    const uint32_t begins_at = address - in_block(address);
    const bool known = begins_at == base_of(w.block->rank) || (begins_at == 0 && w.block->is_alone);
    return known ? in_block(address) : none;
}

/// An instruction's addresses in shared memory, apart from the register that has them: a load may overwrite
/// it.
struct SharedAddresses {
    uint32_t of[lanes];
    SharedAddresses(const Warp &, const Instruction &);
};

}  // namespace ptx_machine

#endif
