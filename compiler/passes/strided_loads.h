// A lowering pass that reads vectors whose elements lie a few apart as whole vectors, and shuffles those.
//
// Halide leaves vectors of every second element of an input to LLVM, which loads one element at a time: 16 loads and as many
// insertions, where two loads and a shuffle do.
#ifndef CONV_TRANSPOSE_COMPILER_STRIDED_LOADS_H
#define CONV_TRANSPOSE_COMPILER_STRIDED_LOADS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): loads of inputs whose elements lie two to four apart. It reads nothing behind the last of them.
class StridedLoads : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Load *op) override;
};

}  // namespace conv_transpose

#endif
