// A lowering pass that removes assertions from GPU code.
//
// A kernel cannot report a failed assertion, so Halide's code generator drops them. But it has put each into
// one thread's branch, with barriers around it, and those would stay: three barriers for every row of a
// serial loop.
#ifndef CONV_TRANSPOSE_COMPILER_DEVICE_ASSERTIONS_H
#define CONV_TRANSPOSE_COMPILER_DEVICE_ASSERTIONS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass().
class RemoveDeviceAssertions : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::AssertStmt *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::IfThenElse *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Block *op) override;

  private:
    bool on_device_ = false;
};

}  // namespace conv_transpose

#endif
