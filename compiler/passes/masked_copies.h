// A lowering pass for targets with AVX-512: elements that are copied, or computed of others, one after the other, by masked
// vectors.
//
// What is left of a vector, such as the last channels of a pixel, Halide stores one by one: it uses no masks on x86.
#ifndef CONV_TRANSPOSE_COMPILER_MASKED_COPIES_H
#define CONV_TRANSPOSE_COMPILER_MASKED_COPIES_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): treats serial loops from 0 on whose body, behind conditions that are the same for all of them,
/// computes an element of one buffer from elements of others, neighbours of neighbours.
class MaskedCopies : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
};

}  // namespace conv_transpose

#endif
