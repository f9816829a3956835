// A lowering pass that keeps a block's accumulators in its threads' registers.
//
// A schedule that stages operands in shared memory chunk by chunk computes its accumulator at the block, in
// MemoryType::Register, with its loops spread over threads. Halide then gives every thread an array for the
// whole block's tile, indexed by the thread's number: that array lands in local memory. But a thread only
// ever touches its own elements, and where the tile is spread alike in every stage, an element's place within
// its thread is the index with all thread numbers set to zero. This pass puts that place instead, so the
// array is a thread's own share, with constant indices.
#ifndef CONV_TRANSPOSE_COMPILER_PRIVATE_ACCUMULATORS_H
#define CONV_TRANSPOSE_COMPILER_PRIVATE_ACCUMULATORS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(). Fails with an error if an index is not the sum of a constant and of
/// multiples of thread numbers.
class PrivateAccumulators : public Halide::Internal::IRMutator {
  public:
    using IRMutator::mutate;

  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

  private:
    bool in_threads_ = false;
};

}  // namespace conv_transpose

#endif
