// What a schedule of a weight gradient by matrix products sees: the named Funcs and the tile of a block.
#ifndef CONV_TRANSPOSE_SCHEDULES_WEIGHT_GRADIENT_PRODUCT_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_WEIGHT_GRADIENT_PRODUCT_FUNCS_H

#include <algorithm>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// The weights that one block computes, as a matrix product: row m is (kernel position, output channel), the slower one
/// first, column n is an input channel; or the other way round. The reduction goes through `steps` positions (of four
/// pictures) at a time.
struct WeightGradientProductTile {
    int taps, out_channels, in_channels, steps;
    bool in_channels_are_rows = false;

    int rows() const { return in_channels_are_rows ? in_channels : taps * out_channels; }
    int columns() const { return in_channels_are_rows ? taps * out_channels : in_channels; }
};

/// What a block stages of an operand: rows of 16 bytes, the same position of four pictures.
struct WeightGradientProductOperand {
    Halide::Func staged;
    Halide::Var row;
    int rows;
    std::vector<Halide::Var> others;  ///< the indices that a chunk of a block has one value of
};

struct WeightGradientProductFuncs {
    Halide::Var in_channel{"in_channel"}, out_channel{"out_channel"}, tap{"tap"}, group{"group"}, band{"band"};
    Halide::Var n{"n"}, m{"m"}, in_tile{"in_tile"}, out_tile{"out_tile"}, tap_tile{"tap_tile"};
    Halide::Var value{"value"}, step{"step"}, part{"part"}, chunk{"chunk"};
    WeightGradientProductTile tile;
    int parts = 0;  ///< of an operand: 0 for float32, 1 for tf32, 2 for tf32x3

    /// Picture of four, step, in tf32x3 the three products of parts, chunk of the band.
    Halide::RDom r;
    Halide::Func input;            ///< (value, n, step, part, chunk, in_tile, group, band)
    Halide::Func output_gradient;  ///< (value, m, step, part, chunk, out_tile, tap_tile, group, band)
    Halide::Func sum;              ///< (n, m, in_tile, out_tile, tap_tile, group, band)
    Halide::Func partial;          ///< (in_channel, out_channel, tap, tap_tile, group, band); tap is one of the tile's

    std::vector<WeightGradientProductOperand> operands() const {
        return {{input, input_row(), tile.in_channels, {chunk, in_tile, group, band}},
                {output_gradient, output_row(), tile.taps * tile.out_channels, {chunk, out_tile, tap_tile, group, band}}};
    }
    Halide::Var input_row() const { return tile.in_channels_are_rows ? m : n; }
    Halide::Var output_row() const { return tile.in_channels_are_rows ? n : m; }
    /// Of what is staged of an operand, or loaded of that.
    void bound(const WeightGradientProductOperand &operand, Halide::Func f, int rows, int steps) const {
        f.bound(value, 0, 4).bound(part, 0, std::max(parts, 1)).bound_extent(operand.row, rows)
            .bound_extent(step, steps);
        for (const Halide::Var &d : operand.others) f.bound_extent(d, 1);
    }
};

}  // namespace conv_transpose

#endif
