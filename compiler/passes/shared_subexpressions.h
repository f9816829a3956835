// A lowering pass that writes once in a statement what passes before it have written many times: those of pipelines put lets in
// (lowered_ir.h), and a place of a picture of three axes has a hundred divisions then. LLVM finds them equal, too, in up to four
// times as long as all of a kernel takes with this pass.
#ifndef CONV_TRANSPOSE_COMPILER_SHARED_SUBEXPRESSIONS_H
#define CONV_TRANSPOSE_COMPILER_SHARED_SUBEXPRESSIONS_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass().
class SharedSubexpressions : public Halide::Internal::IRMutator {
  public:
    using IRMutator::mutate;
    Halide::Internal::Stmt mutate(const Halide::Internal::Stmt &s) override {
        return Halide::Internal::common_subexpression_elimination(s);
    }
};

}  // namespace conv_transpose

#endif
