// Divisions that do not change in a loop, taken out of it. LLVM leaves those where they are that stand in a condition, as the
// divisor might be zero; one thread of a block starts its bulk copies, and a division takes longer than to start one.
#ifndef CONV_TRANSPOSE_COMPILER_LOOP_DIVISIONS_H
#define CONV_TRANSPOSE_COMPILER_LOOP_DIVISIONS_H

#include "Halide.h"

namespace conv_transpose {

/// A statement with its divisions of scalars computed before it, as far as they depend on nothing that it defines.
Halide::Internal::Stmt with_divisions_before(const Halide::Internal::Stmt &statement);

}  // namespace conv_transpose

#endif
