// Sums of a tile whose taps are rows: where a nest stores the sum of several rows of a tile, each of them a column further back
// than the one before, they are added before the store, in registers.
//
//     out(...) = f(tile(m, n) + (tile(m + rows, n - 1) + (tile(m + 2 rows, n - 2) + ...)))
//
// The sum at column n is where the tap's that is the *centre* is, at n - centre (TensorCoreOptions::centre): others move to both
// sides. Of columns before the first or behind the last there is no value; the nest must not store what they are part of.
#ifndef CONV_TRANSPOSE_COMPILER_SHIFTED_SUMS_H
#define CONV_TRANSPOSE_COMPILER_SHIFTED_SUMS_H

#include "Halide.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

/// A nest that stores such sums has a store of the first of their rows then, which is returned and must outlive it, and its tile
/// has those rows alone, and so many taps. Other nests stay as they are.
Halide::Internal::Stmt take_shifted_sums(Nest &nest, WarpTiles &tiles);

}  // namespace conv_transpose

#endif
