// A lowering pass that computes on the host what is the same for all threads of a kernel. Halide leaves in a GPU's loops what
// follows from a kernel's arguments, divisions included, and every thread would compute it again. Where a divisor is such a
// number its reciprocal is, too, so that a division is a product: a GPU's takes some twenty instructions, one waiting for the
// other, and a block goes through up to fifteen before it asks for its first operand.
#ifndef CONV_TRANSPOSE_COMPILER_KERNEL_CONSTANTS_H
#define CONV_TRANSPOSE_COMPILER_KERNEL_CONSTANTS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass().
class KernelConstants : public Halide::Internal::IRMutator {
  public:
    using IRMutator::mutate;

  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
};

}  // namespace conv_transpose

#endif
