// A lowering pass that turns vectors in registers before they are stored.
//
// Halide stores a vector whose elements lie apart one element at a time. Where as many such stores follow each other as elements
// are apart, they fill a dense piece of memory together: this pass shuffles their vectors and stores whole ones. A block of n
// vectors of n elements takes log2(n) shuffles a vector; LLVM, which sees n * n stores otherwise, makes about five times as many
// instructions of them, and took a minute for a kernel with vectors of 16.
#ifndef CONV_TRANSPOSE_COMPILER_VECTOR_TRANSPOSITIONS_H
#define CONV_TRANSPOSE_COMPILER_VECTOR_TRANSPOSITIONS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): stores of float32 that follow each other in a block, with elements m apart, m of them, each
/// beginning an element after the one before.
class VectorTranspositions : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;
};

}  // namespace conv_transpose

#endif
