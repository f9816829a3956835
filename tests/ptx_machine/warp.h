// The state of a block and of its warps while they run: what decoded instructions work on.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_WARP_H
#define CONV_TRANSPOSE_PTX_MACHINE_WARP_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ptx_machine.h"
#include "ptx_program.h"

namespace ptx_machine {

/// Throws PtxError with the instruction's text.
[[noreturn]] void fail(const Instruction &instruction, const std::string &what);

/// Who wrote a word of shared memory last, and when. Time is counted for each warp by itself: how often it
/// has arrived at a barrier, of the block or of its own lanes.
struct WordHistory {
    static constexpr int nobody = -1;

    int32_t write_clock = 0;
    int16_t writer = nobody;  ///< a thread
    bool unfenced = false;    ///< written, and not yet for wgmma to see
};

/// When a warp read a word last, and which lane.
struct LastRead {
    static constexpr int never = -1, several_lanes = lanes;

    int32_t clock = never;
    int32_t lane = 0;
};

/// One of the barriers 0 to 15 of a block.
struct Barrier {
    uint32_t threads = 0;  ///< that it is for; 0 for all of the block
    std::vector<Warp *> arrived, waiting;
    std::vector<int32_t> seen;  ///< what the warps that arrived had seen
};

/// A copy by the copy engine.
struct BulkCopy {
    uint32_t to;
    uint64_t from;
    uint32_t bytes;
};

struct Mbarrier {
    uint32_t count = 0;    ///< of arrivals that a phase has
    uint32_t pending = 0;  ///< of them
    uint32_t phases = 0;   ///< that have ended
    int64_t bytes = 0;     ///< that are expected and have not come
    std::vector<int32_t> seen, seen_in_phase;  ///< by the warps that arrived, until the last phase ended and until now
    std::deque<BulkCopy> under_way;
};

struct Block {
    static constexpr int barriers_of_block = 16;

    Block(const Launch &l, int warps)
        : launch(l),
          warps(warps),
          shared(l.shared_bytes, 0xff),
          history(l.shared_bytes / 4 + 1),
          reads(history.size() * warps) {}

    const Launch &launch;
    const int warps;
    std::vector<uint8_t> shared;
    std::vector<WordHistory> history;
    std::vector<LastRead> reads;  ///< of each word by each warp
    Barrier barriers[barriers_of_block];
    std::map<uint32_t, Mbarrier> mbarriers;  ///< by their addresses in shared memory

    /// These fail on what a GPU would not forgive: accesses outside or not aligned, and races.
    void check_shared(const Instruction &, uint32_t address, int bytes) const;
    void note_read(const Instruction &, const Warp &, int thread, uint32_t address, int bytes);
    void note_write(const Instruction &, Warp &, int thread, uint32_t address, int bytes);
    /// By the copy engine, for this thread.
    void note_bulk_write(const Instruction &, Warp &, int thread, uint32_t address, int bytes);
    /// By the four warps from `group` on.
    void note_tensor_core_read(const Instruction &, const Warp *group, uint32_t address);
};

/// A cp.async of the lanes in `mask`.
struct PendingCopy {
    const Instruction *instruction;
    uint32_t mask;
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
    std::vector<int32_t> seen;  ///< of every warp's time: what it did until then is over for this warp
    std::vector<uint32_t> registers;
    std::vector<uint8_t> local;
    std::vector<Fragment> fragments;                      ///< by their places; none: the warp has ended
    std::deque<std::vector<PendingCopy>> copy_groups{1};  ///< the last one is open
    std::vector<uint32_t> unfenced;                       ///< words of shared memory
    bool waiting = false;  ///< at a barrier of the block, or at an instruction of the warpgroup

    int32_t clock() const { return seen[index]; }
    const Kernel &kernel() const { return block->launch.kernel; }
    bool ended() const { return fragments.empty(); }
    int thread(int lane) const { return lanes * index + lane; }

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

    void copy(const PendingCopy &pending);
    void finish_copies(size_t groups_left);
};

/// An instruction's addresses in shared memory, apart from the register that has them: a load may overwrite
/// it.
struct SharedAddresses {
    uint32_t of[lanes];
    SharedAddresses(const Warp &, const Instruction &);
};

}  // namespace ptx_machine

#endif
