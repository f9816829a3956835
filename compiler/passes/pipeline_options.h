// What a schedule asks of the pass that pipelines its staging (software_pipeline.h), and how that refuses.
#ifndef CONV_TRANSPOSE_COMPILER_PIPELINE_OPTIONS_H
#define CONV_TRANSPOSE_COMPILER_PIPELINE_OPTIONS_H

#include <stdexcept>
#include <string>

namespace conv_transpose {

class SoftwarePipelineRefusal : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws a SoftwarePipelineRefusal that names the loop and the rule.
[[noreturn]] inline void refuse_pipeline(const std::string &loop, const std::string &reason) {
    throw SoftwarePipelineRefusal("software pipeline: loop " + loop + ": " + reason);
}

struct SoftwarePipelineOptions {
    /// Buffers in shared memory. With more than two, tensor-core work of a chunk may still run while the next
    /// begins; with more than three, several chunks are being copied.
    int stages = 2;
    /// With more than two stages, how many chunks' products may still run while the next begins: 0 leaves one more stage to
    /// copies, which pays where other blocks keep the tensor cores busy.
    int products_in_flight = 1;
    /// Gathered vectors wait in registers of their own for the chunk that they are for. As vectors they would
    /// have to lie side by side from one iteration to the next, and would be copied to that place at once:
    /// that is, their loads would be waited for. It takes registers to spare; where there are none, spills
    /// cost more.
    bool separate_registers = false;
    /// Single floats, and pairs of 16 bits, too, are copied asynchronously: no register waits for them, but each copy is an
    /// instruction.
    bool single_floats = false;
    /// Copies of 16 bytes go through the first-level cache, where neighbouring chunks want much the same again.
    bool through_first_cache = false;
    /// The constants of indices are added behind the buffer's place, so that they become offsets of load
    /// instructions. LLVM otherwise takes each constant with what else does not change in the loop, as an
    /// address of its own: in the input gradient of 2x2 stride 2 twelve addresses in place of one, 163 registers
    /// in place of 129. Loops that have few addresses anyway may become some percent slower: ptxas schedules
    /// them anew.
    bool load_offsets = false;
    /// Another warpgroup of the block stages for those that compute, and needs so many registers a thread
    /// (producer_warpgroup.h). For kernels on tensor cores.
    bool producer = false;
    int producer_registers = 104;
    /// With a producer: the blocks along x go through all their work one after the other, so many of them at once on a
    /// machine, and what is staged for the next comes while one is stored (further_tiles.h). 0: each block does its own.
    int resident_blocks = 0;
    /// Then: neighbouring blocks go through neighbours at the same time, in place of each through its own.
    bool tiles_in_rounds = false;
    /// Then, in rounds: so many chunks, the most that a tile may have, of the operand that loops named bulk_kept stage are kept
    /// in shared memory, and come once for all tiles of a block (kept_operand.h). 0: it comes with every tile.
    int kept_chunks = 0;
};

}  // namespace conv_transpose

#endif
