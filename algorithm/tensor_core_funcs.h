// What a tensor-core schedule of the forward operation sees: the named Funcs and the tile sizes.
#ifndef CONV_TRANSPOSE_ALGORITHM_TENSOR_CORE_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_TENSOR_CORE_FUNCS_H

#include "Halide.h"
#include "algorithm/gather.h"

namespace conv_transpose {

/// Dimensions of the staged operands. `value` counts the four input channels of a 16-byte row, `k4` such
/// groups, and `part` the two TF32 parts of an operand in tf32x3 (one part in tf32). `row` counts the rows of a
/// tile: 64 for every horizontal phase, which are channels, or channels of several picture rows; `row_block`
/// counts tiles.
struct TensorCoreVars {
    Halide::Var value{"value"}, k4{"k4"}, part{"part"}, row{"row"}, row_block{"row_block"}, phase_y{"phase_y"};
};

/// The reduction: four channels, groups of them, taps, and products of parts: three in tf32x3.
struct TensorCoreReduction {
    Halide::RDom domain;
    Halide::RVar value, k4, tap_x, tap_y, product;
};

struct TensorCoreFuncs {
    GatherVars v;
    TensorCoreVars t;
    TensorCoreReduction r;
    GatherAxis x_axis, y_axis;
    int phases_x = 1, phases_y = 1;
    int taps_x = 1, taps_y = 1;  ///< of the staged weights: the most that a phase has
    int parts = 1;
    int picture_rows = 1;  ///< picture rows in the rows of a tile
    int row_phases_x = 1, row_phases_y = 1;  ///< of the sub-pixel form, where a cell's positions are rows of a tile
    int row_phases() const { return row_phases_x * row_phases_y; }
    bool sub_pixel() const { return row_phases() > 1; }
    int tile_channels() const { return 64 / (picture_rows * row_phases()); }
    /// What a search is for: cells of the picture (rows of them in sets of `picture_rows`) and channels; 0 is
    /// not known.
    int cells_x = 0, cells_y = 0, channels = 0;

    Halide::Func staged_input;  ///< (value, x, y, k4, part, group, batch): rounded input, four channels innermost
    Halide::Func weights;  ///< (value, row, tap_x, tap_y, phase_y, k4, part, row_block, group): as packed
    Halide::Func sum;      ///< (cell x, row, row_block, y, group, batch); y counts sets of `picture_rows` rows
    Halide::Func output;   ///< (x, y, channel, group, batch)

    /// Sums over groups of four channels, taps and products.
    void sum_over(const Halide::Expr &groups_of_four) {
        r.domain = Halide::RDom({{0, 4}, {0, groups_of_four}, {0, taps_x}, {0, taps_y}, {0, parts == 1 ? 1 : 3}}, "r");
        r.value = r.domain[0], r.k4 = r.domain[1], r.tap_x = r.domain[2], r.tap_y = r.domain[3], r.product = r.domain[4];
    }
    /// Which part of an operand a product has: the first product has the weight's small part, the second the picture's. Those
    /// come first, while the sum is small.
    Halide::Expr part_of(const Halide::Expr &product, int with_small_part) const {
        return parts == 1 ? Halide::Expr(0) : select(product == with_small_part, 1, 0);
    }
};

}  // namespace conv_transpose

#endif
