// What a tensor-core schedule of the weight gradient sees: the named Funcs and the tile that they are laid out for.
#ifndef CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_TENSOR_CORE_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_TENSOR_CORE_FUNCS_H

#include <algorithm>
#include <bit>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// The weights that one block computes, as rows m and columns n of a matrix product, and the positions of one chunk of
/// its sum. Row m is (kernel row, input channel), column n is (kernel column, output channel), the slower one first.
///
/// Tensor cores read four consecutive values of the reduction, 16 bytes. Here these are four positions of a picture row
/// that lie `steps` apart:  x = value * steps + step.  So the next position is the next step, which is another start
/// address, and a kernel column, which sees the output gradient kx positions further on, is too. Rows of 16 bytes of
/// one step lie one after the other, `pitch` of them; therefore the columns of all kx are one operand: row
/// step * pitch + n, for n = kx * pitch + channel, is row channel of step + kx.
///
/// With a stride the output gradient is cut into cells of that many positions, one for each position of the
/// input, and the positions of a cell are like further channels: kernel column kx sees position kx % stride
/// of the cell kx / stride further on. Down the picture, a chunk has all rows of its cells, and kernel row ky
/// reads row ky % stride of them.
struct WeightGradientTile {
    int in_channels, out_channels;       ///< of one tile; in_channels divides 64
    int chunk_columns, chunk_rows;       ///< positions of one chunk
    int kernel_w, kernel_h;
    int stride_w = 1, stride_h = 1;      ///< with a vertical stride, in_channels is 64
    static constexpr int warpgroup_rows = 64;

    /// Rows of one position. At stride 1 an odd number of 16-byte rows lies between neighbouring steps, which
    /// neighbouring lanes store: they then are in other banks.
    int position_rows() const { return out_channels + 1; }
    int pitch() const { return stride_w * position_rows(); }
    int steps() const { return chunk_columns / 4; }
    int columns() const { return ((kernel_w - 1) * position_rows() + out_channels + 7) / 8 * 8; }
    /// Cells that a kernel row or column reaches.
    int kernel_cells_w() const { return (kernel_w + stride_w - 1) / stride_w; }
    int kernel_cells_h() const { return (rows() / in_channels + stride_h - 1) / stride_h; }
    /// Kernel rows in the 64 rows of a warpgroup's part of the tile.
    int kernel_rows() const { return 64 / in_channels; }
    int warpgroups() const { return (kernel_h + kernel_rows() - 1) / kernel_rows(); }
    int rows() const { return 64 * warpgroups(); }
    /// Input rows that the rows of a chunk see through the kernel rows of the tile.
    int input_rows() const { return chunk_rows - 1 + kernel_cells_h(); }
    int output_rows() const { return chunk_rows * stride_h; }
    int input_row_pitch() const { return input_rows() * in_channels + 1; }
    /// Steps of the output gradient that kernel columns see beyond the chunk's, as a power of two (0 where
    /// there are none).
    int steps_beyond() const {
        const int most = kernel_cells_w() - 1;
        return most == 0 ? 0 : static_cast<int>(std::bit_ceil(static_cast<unsigned>(most)));
    }
    /// Steps of the output gradient with room for what fills up `columns`. The two steps of an instruction overlap, but
    /// compute-sanitizer takes them to lie one after the other.
    int stored_output_steps() const {
        return std::max(steps() + steps_beyond(), steps() - 2 + (2 * columns() + pitch() - 1) / pitch());
    }
};

/// The reduction: four positions, steps, rows of a chunk, in tf32x3 the three products of parts, and chunks
/// (along a row, then down the band, then from image to image).
struct WeightGradientReduction {
    Halide::RDom domain;
    Halide::RVar value, step, y, product, chunk;
};

/// What is staged of the output gradient: four positions, steps, positions of a cell, channels. Other rows of
/// the staged operand fill it up: nothing is written there, and they only meet sums that nobody stores.
struct StagedPositions {
    Halide::RDom domain;
    Halide::RVar value, step, position, channel;
};

struct WeightGradientTensorCoreFuncs {
    Halide::Var kx{"kx"}, ky{"ky"}, out_channel{"out_channel"}, in_channel{"in_channel"}, group{"group"};
    /// A part of the sum: a band of rows of some of the images.
    Halide::Var band{"band"}, images{"images"};
    Halide::Var value{"value"}, row{"row"}, channel{"channel"}, position{"position"}, step{"step"}, y{"y"},
        part{"part"};
    Halide::Var chunk{"chunk"};
    Halide::Var m{"m"}, n{"n"}, in_tile{"in_tile"}, out_tile{"out_tile"};
    WeightGradientTile tile;
    WeightGradientReduction r;
    /// The steps of a chunk, and those beyond it: an update of the output gradient each, the latter where
    /// there are any.
    StagedPositions inside, beyond;
    int parts = 1;  ///< of an operand: two in tf32x3
    std::vector<Halide::Var> of_block() const { return {out_tile, in_tile, group, band, images}; }

    Halide::Func input;            ///< (value, row, step, part, chunk, in_tile, group, band, images): rounded
    Halide::Func output_gradient;  ///< (value, channel, position, step, y, part, chunk, out_tile, group, band, images): rounded
    Halide::Func sum;              ///< (n, m, out_tile, in_tile, group, band, images)
    Halide::Func partial;          ///< (kx, ky, out_channel, in_channel, group, band, images)
};

}  // namespace conv_transpose

#endif
