// Tables: Funcs of few integers, computed before the loops that read them.
#ifndef CONV_TRANSPOSE_ALGORITHM_TABLE_H
#define CONV_TRANSPOSE_ALGORITHM_TABLE_H

#include <cstdint>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// Defines a table. Its values go through another type, so that Halide knows no bounds of them: it would compute those from the
/// definition, clamp to them what is read, in innermost loops, and carry them, thousands of characters long, through all bounds
/// that depend on it (compiling took up to 1.5 times as long). What uses a value promises where it lies.
inline void tabulate(Halide::Func &table, const std::vector<Halide::Var> &index, std::vector<Halide::Expr> values) {
    for (Halide::Expr &value : values) value = Halide::reinterpret<int32_t>(Halide::reinterpret<uint32_t>(value));
    table(index) = Halide::Tuple(values);
}

}  // namespace conv_transpose

#endif
