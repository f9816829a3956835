// A lowering pass that ends the loop named "pipeline" where nothing is computed any more.
//
// How many steps a reduction has may depend on the block: a phase of a transposed convolution has its own number of
// taps. Halide's reduction domains have one extent for all, and a predicate that guards what is computed:
//
//     for step < most:  stage operands of this step;  if step < those of this block:  compute
//
// This pass makes that predicate the loop's end, so that nothing is staged in vain, and the guard goes. Add it before
// the pass of software_pipeline.h.
#ifndef CONV_TRANSPOSE_COMPILER_GUARDED_PIPELINE_H
#define CONV_TRANSPOSE_COMPILER_GUARDED_PIPELINE_H

#include "Halide.h"

namespace conv_transpose {

class GuardedPipelinePass : public Halide::Internal::IRMutator {
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *loop) override;

    Halide::Internal::Scope<void> threads_;  // names of the loops around
};

}  // namespace conv_transpose

#endif
