// A lowered program as it is when passes have been over it.
#ifndef CONV_TRANSPOSE_TESTS_COMPILER_PROGRAM_VISIT_H
#define CONV_TRANSPOSE_TESTS_COMPILER_PROGRAM_VISIT_H

#include "Halide.h"

namespace conv_transpose::testing {

/// For add_custom_lowering_pass(), behind the pass that is tested: shows a visitor the program, and changes nothing.
struct ProgramVisit : Halide::Internal::IRMutator {
    explicit ProgramVisit(Halide::Internal::IRVisitor &visitor) : visitor(visitor) {}
    Halide::Internal::IRVisitor &visitor;
    using IRMutator::mutate;
    Halide::Internal::Stmt mutate(const Halide::Internal::Stmt &program) override {
        program.accept(&visitor);
        return program;
    }
};

}  // namespace conv_transpose::testing

#endif
