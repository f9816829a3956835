// Who touched each word of a block's shared memory last, and what that forbids: two threads, one of them
// writing, without a barrier in between; reading what a copy has not brought yet; writing what a product of
// tensor cores still reads; and tensor cores reading what was written without a proxy fence. Nothing here
// depends on when the interpreter does what is asynchronous, nor on the order of warps.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_SHARED_HISTORY_H
#define CONV_TRANSPOSE_PTX_MACHINE_SHARED_HISTORY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ptx_program.h"

namespace ptx_machine {

constexpr int warps_of_group = 4, most_warps = 32;

/// Time is counted for each warp by itself: how often it has arrived at a barrier, of the block or of its own
/// lanes. A warp has seen what another one did before a time when a barrier lies in between.
class SharedHistory {
  public:
    SharedHistory(size_t bytes, int warps);

    /// Forgets all. Later times follow on from those of before, so that reads need no clearing.
    void restart();

    /// All warps wait, for each other alone: what they did is over for all.
    void begin_round() { round_++; }

    /// By a thread of this warp.
    void read(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);
    void write(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);
    /// By the lanes in the mask, each at its address.
    void read(const Instruction &, const Warp &, uint32_t mask, const uint32_t (&address)[lanes], int bytes);
    void write(const Instruction &, const Warp &, uint32_t mask, const uint32_t (&address)[lanes], int bytes);

    /// Lanes' copies write from when they are issued until their threads have waited for them.
    void begin_copy(const Instruction &, const Warp &, uint32_t mask, const uint32_t (&address)[lanes], int bytes);
    void end_copy(const Warp &, uint32_t mask, const uint32_t (&address)[lanes], int bytes);

    /// By another block of the cluster, which its barrier orders, and nothing else.
    void read_in_cluster(const Instruction &, const Warp &reader, uint32_t address, int bytes);
    /// Blocks had arrived so often at the cluster's barrier when they last read, and once more.
    int last_read_in_cluster() const { return last_read_in_cluster_; }

    /// By the copy engine, for a thread: before an mbarrier says so nobody may know it, and tensor cores need no fence.
    void bulk_write(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);

    /// By the copy engine, for a thread that has fenced what it wrote; until it has waited for the read, none may write there.
    void bulk_read(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);
    void end_bulk_read(uint32_t address, uint32_t bytes);

    /// What this warp has written may be read by tensor cores, where a barrier follows.
    void proxy_fence(const Warp &);

    /// A product of the four warps from `group` on reads rows of 16 bytes, from now on until it has been
    /// waited for. Returns its number; end_products() ends all up to such.
    int begin_product(const Instruction &, const Warp *group, const std::vector<uint32_t> &rows);
    void end_products(const Warp *group, int last);

  private:
    static constexpr int nobody = -1;
    static constexpr int32_t under_way = std::numeric_limits<int32_t>::max();
    static constexpr uint32_t no_end = std::numeric_limits<uint32_t>::max();

    /// The last write of a word.
    struct Write {
        int32_t clock = 0;
        uint32_t number = 0;  ///< among those of the warp
        int16_t thread = nobody;
        uint32_t round = 0;  ///< in which a thread touched the word last, be it by a read; no_end: a copy is under way
    };
    struct Fence {
        int32_t clock;
        uint32_t writes;  ///< of the warp until then
    };
    /// What a warpgroup knows of another warp: how far its clock was seen, and which of its writes are
    /// fenced.
    struct Known {
        int32_t clock;
        uint32_t fenced_writes;
    };
    struct Group {
        std::vector<std::array<int32_t, warps_of_group>> ended;  ///< by product, the clocks of its warps
        int begun = 0;
    };

    void order_in_cluster(const Instruction &, const Warp &, uint32_t word);
    void require_no_bulk_read(const Instruction &, int thread, uint32_t address, int bytes) const;

    static bool seen(const Write &, const Warp &);
    uint32_t *reads_of(int warp) { return reads_.data() + warp * writes_.size(); }
    const uint32_t *reads_of(int warp) const { return reads_.data() + warp * writes_.size(); }
    /// What a thread that writes these bytes must not meet.
    void require_no_race(const Instruction &, const Warp &, int thread, uint32_t address, int bytes) const;
    void note_read(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);
    [[noreturn]] static void fail_by_read(const Instruction &, int thread, uint32_t word, const Write &last);
    /// Returns whether a thread may have read there: since the last round a thread has touched one of the words.
    bool require_no_writer(const Instruction &, const Warp &, int thread, uint32_t address, int bytes) const;
    void require_no_reader(const Instruction &, const Warp &, int thread, uint32_t address, int bytes) const;
    bool has_reader(const Warp &, uint32_t first, uint32_t end) const;
    using Products = std::array<int, most_warps / warps_of_group>;
    /// Of each warpgroup the last product that is over for a warp: so are those before it.
    Products products_over_for(const Warp &) const;
    void require_no_product(const Instruction &, int thread, uint32_t address, int bytes, const Products &over) const;
    void note_write(const Instruction &, const Warp &, int thread, uint32_t address, int bytes, int32_t clock);
    void note_writes(const Instruction &, const Warp &, uint32_t mask, const uint32_t (&address)[lanes], int bytes, int32_t clock);
    Known known(const Warp *group, int writer) const;

    /// Before which of its arrivals at the cluster's barrier, counted from 1, a warp last did so to a word; 0: never.
    struct InCluster {
        uint16_t written = 0, read = 0;
    };

    int warps_, groups_, last_read_in_cluster_ = 0;
    uint32_t round_ = 1;
    bool has_products_ = false;
    std::vector<InCluster> in_cluster_;
    std::vector<Write> writes_;
    std::vector<uint32_t> reads_;    ///< by each warp of each word: 64 * clock + lane, or several lanes
    std::vector<int> products_;      ///< of each word by each warpgroup, the last that read it
    std::vector<uint32_t> written_;  ///< by each warp, how often
    std::vector<std::vector<Fence>> fences_;  ///< of each warp
    std::vector<Group> group_;
    std::vector<std::pair<uint32_t, uint32_t>> bulk_reads_;  ///< under way: addresses, bytes
};

}  // namespace ptx_machine

#endif
