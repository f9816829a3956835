// A lowering pass for Halide 21 that pipelines the loop which stages a reduction's operands: copies overlap
// with arithmetic.
//
// A GPU schedule that stages its operands in shared memory has, in its kernel, a serial loop
//
//     for chunk:  stage operands of this chunk;  barrier;  compute;  barrier
//
// in which copies and arithmetic take turns. When that loop's name is "pipeline", this pass gives every
// operand several buffers in shared memory and rewrites the loop so that the chunks to come are on their way
// while one is computed:
//
//     start copying chunk 0; store chunk 0; load chunk 1 into registers
//     for chunk i:
//         wait for the copies of chunk i;  barrier
//         start copying chunk i+1                               cp.async, global to shared memory (async_copies.h)
//         compute on chunk i, and between its steps
//             store chunk i+1 from registers to shared memory   what cannot be copied (register_staging.h)
//             load chunk i+2 into registers
//
// Where nothing goes through registers, copies are further ahead: one buffer is computed on, with tensor cores
// the products of another may still run, and all others are being filled.
//
// Loops named "bulk_" stage by the copy engine: bulk_copies.h.
//
// With a producer, some threads do all the staging and the others compute: producer_warpgroup.h.
//
// The last chunks are peeled off, so that the loop has no conditions. Add it after the tensor-core pass;
// it also works for schedules without tensor cores.
#ifndef CONV_TRANSPOSE_COMPILER_SOFTWARE_PIPELINE_H
#define CONV_TRANSPOSE_COMPILER_SOFTWARE_PIPELINE_H

#include <stdexcept>

#include "Halide.h"

namespace conv_transpose {

class SoftwarePipelineRefusal : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

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
};

class SoftwarePipelinePass : public Halide::Internal::IRMutator {
  public:
    explicit SoftwarePipelinePass(const SoftwarePipelineOptions &options = {});

  private:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *allocate) override;
    Halide::Internal::Stmt visit(const Halide::Internal::For *loop) override;

    SoftwarePipelineOptions options_;
    const Halide::Internal::For *blocks_ = nullptr;  // along x, around what is visited
};

}  // namespace conv_transpose

#endif
