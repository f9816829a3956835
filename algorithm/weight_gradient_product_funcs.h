// What a schedule of a weight gradient by matrix products sees: the named Funcs and the tile of a block.
#ifndef CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_PRODUCT_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_PRODUCT_FUNCS_H

#include <algorithm>
#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/element_operations.h"

namespace conv_transpose {

/// The weights that one block computes, as a matrix product: row m is (kernel position, output channel), the slower one
/// first, column n is an input channel; or the other way round. The reduction goes through `steps` positions (of four
/// pictures) at a time.
struct WeightGradientProductTile {
    int taps, out_channels, in_channels, steps;
    bool in_channels_are_rows = false;
    /// Neighbouring kernel positions of a line, which read what is staged of the output gradient for the line, a position
    /// further on each. Row m then is (line, input channel), column n (position of the line, output channel).
    int window = 1;
    /// Two kernel positions read halves of the words that are staged of the output gradient.
    bool in_pairs = false;
    int warpgroup_rows = 64;  ///< on tensor cores: rows that a warpgroup has

    /// Warpgroups share out the output channels of a kernel position. These count through all tiles then: a remainder of what is
    /// shared out would be no affine index.
    bool shares_out_channels() const { return !in_channels_are_rows && out_channels > warpgroup_rows; }
    int lines() const { return window > 1 ? taps / window : 1; }
    int rows() const { return in_channels_are_rows ? lines() * in_channels : taps * out_channels; }
    int columns() const { return in_channels_are_rows ? taps / lines() * out_channels : in_channels; }
    /// What is staged of the output gradient: channels of a position, and positions, in whole eights.
    int output_rows() const { return in_pairs ? out_channels : taps / window * out_channels; }
    int output_steps() const { return window > 1 ? (steps + window - 1 + 7) / 8 * 8 : steps; }
};

/// What a block stages of an operand: rows of 16 bytes, the same position of four pictures or four neighbouring positions.
struct WeightGradientProductOperand {
    Halide::Func staged;
    Halide::Var row;
    int rows, steps, channels;  ///< rows of the tile, which may be several times its channels
    std::vector<Halide::Var> others;  ///< the indices that a chunk of a block has one value of
};

struct WeightGradientProductFuncs {
    Halide::Var in_channel{"in_channel"}, out_channel{"out_channel"}, tap{"tap"}, group{"group"}, band{"band"};
    Halide::Var n{"n"}, m{"m"}, in_tile{"in_tile"}, out_tile{"out_tile"}, tap_tile{"tap_tile"};
    Halide::Var value{"value"}, step{"step"}, part{"part"}, chunk{"chunk"};
    WeightGradientProductTile tile;
    int parts = 0;  ///< of an operand: 0 for float32, 1 for tf32, 2 for tf32x3
    /// Pictures are read as they lie, so that the four values of a row are neighbouring positions.
    bool neighbours = false;
    /// Rows are channels of one position: the index that is summed over lies outside.
    bool channels = false;
    int values = 4;  ///< of a row of 16 bytes, of the input

    /// Picture of four, step, in tf32x3 the three products of parts, chunk of the band.
    Halide::RDom r;
    Halide::Func input;            ///< (value, n, step, part, chunk, in_tile, group, band)
    Halide::Func output_gradient;  ///< (value, m, step, part, chunk, out_tile, tap_tile, group, band)
    Halide::Func sum;              ///< (n, m, in_tile, out_tile, tap_tile, group, band)
    Halide::Func partial;          ///< (in_channel, out_channel, tap, tap_tile, group, band); tap is one of the tile's

    std::vector<WeightGradientProductOperand> operands() const {
        return {{input, input_row(), tile.in_channels, tile.steps, tile.in_channels, {chunk, in_tile, group, band}},
                {output_gradient, output_row(), tile.output_rows(), tile.output_steps(), tile.out_channels,
                 {chunk, out_tile, tap_tile, group, band}}};
    }
    std::vector<Halide::Var> of_block() const { return {in_tile, out_tile, tap_tile, group, band}; }
    /// Rows of 16 bytes from one step to the next: an odd number more, so that lanes that write neighbours write to all banks.
    int pitch(int rows) const { return neighbours ? rows + 1 : rows; }
    int staged_bytes() const {
        return tile.steps * (pitch(tile.rows()) + pitch(tile.columns())) * std::max(parts, 1) * 16;
    }

    /// The sum over `chunks` of what is staged, whose products `multiply` makes.
    void define_sum(const Halide::Expr &chunks,
                    const std::function<Halide::Expr(const Halide::Expr &seen, const Halide::Expr &value)> &multiply =
                        [](const Halide::Expr &seen, const Halide::Expr &value) { return seen * value; }) {
        using Halide::Expr;
        const int products = parts == 2 ? 3 : 1;
        r = Halide::RDom({{0, values}, {0, tile.steps}, {0, products}, {0, chunks}}, "r");
        // The small products come first, while the sum is small.
        const Expr input_part = products == 1 ? Expr(0) : select(r[2] == 1, 1, 0);
        const Expr output_part = products == 1 ? Expr(0) : select(r[2] == 0, 1, 0);
        sum = Halide::Func("sum");
        sum(n, m, in_tile, out_tile, tap_tile, group, band) = 0.f;
        const Expr row = tile.in_pairs ? m % tile.out_channels : Expr(m);
        const Expr seen = load(output_gradient(r[0], row, r[1], output_part, r[3], out_tile, tap_tile, group, band));
        const Expr value = load(input(r[0], n, r[1], input_part, r[3], in_tile, group, band));
        sum(n, m, in_tile, out_tile, tap_tile, group, band) += multiply(seen, value);
    }
    /// Where the results of the sum go.
    template <class Output>
    void store_sum(Output &to) {
        to(in_channel, out_channel, tap, tap_tile, group, band) =
            tile.shares_out_channels()
                ? sum(in_channel % tile.in_channels, out_channel, in_channel / tile.in_channels, 0, tap_tile, group, band)
                : sum(in_channel % tile.in_channels, tap * tile.out_channels + out_channel % tile.out_channels,
                      in_channel / tile.in_channels, out_channel / tile.out_channels, tap_tile, group, band);
        partial = to;
    }

    Halide::Var input_row() const { return tile.in_channels_are_rows ? m : n; }
    Halide::Var output_row() const { return tile.in_channels_are_rows ? n : m; }
    /// It bounds what is staged of an operand, or what is loaded of that.
    void bound(const WeightGradientProductOperand &operand, Halide::Func f, int rows, int steps) const {
        f.bound(value, 0, values).bound(part, 0, std::max(parts, 1)).bound_extent(operand.row, rows)
            .bound_extent(step, steps);
        for (const Halide::Var &d : operand.others) f.bound_extent(d, 1);
    }
};

}  // namespace conv_transpose

#endif
