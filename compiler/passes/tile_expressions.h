// Expressions of the nest that stores a tile.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_EXPRESSIONS_H
#define CONV_TRANSPOSE_COMPILER_TILE_EXPRESSIONS_H

#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

/// The elements of accumulators that an expression reads, each once.
std::vector<const Halide::Internal::Load *> loads_of_tiles(const Halide::Expr &e, const WarpTiles &tiles);

/// The expression with another in the place of its loads of an array.
Halide::Expr with_loads_replaced(const Halide::Expr &e, const std::string &array, const Halide::Expr &replacement);

/// What is converted to 16 bits at last, before that: the instruction that stores it converts it, too.
Halide::Expr as_float(const Halide::Expr &value);

/// cast<uint32_t>(e) < 2^31 is how a schedule says e >= 0 so that Halide trims no loop by it. The latter has bounds.
Halide::Expr as_signed_comparison(const Halide::Expr &condition);

/// Conditions that all hold where the given ones do, none of them a conjunction.
std::vector<Halide::Expr> parts_of(const std::vector<Halide::Expr> &conditions);

}  // namespace conv_transpose

#endif
