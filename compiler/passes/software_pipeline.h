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

#include "Halide.h"
#include "compiler/passes/pipeline_options.h"

namespace conv_transpose {

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
