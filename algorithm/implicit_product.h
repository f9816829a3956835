// What the generators of implicit matrix products share (algorithm/implicit_product_funcs.h), the forward
// operation and the input gradient: how positions and steps are counted, the operands, the sum, and the order
// in which tiles are stored.
#ifndef CONV_TRANSPOSE_GENERATORS_IMPLICIT_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_IMPLICIT_PRODUCT_H

#include <string>

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_layouts.h"
#include "algorithm/implicit_product_funcs.h"

namespace conv_transpose {

/// Of a position that counts through all images of so many cells: x fastest.
struct CellOfImage {
    Halide::Expr x, y, image;
};
inline CellOfImage cell_of_image(const Halide::Expr &position, const Halide::Expr &cells_x,
                                 const Halide::Expr &cells_y) {
    const Division row = divide(position, cells_x), image = divide(row.quotient, cells_y);
    return {row.rest, image.rest, image.quotient};
}

/// Of a step: neighbouring ones are taps of the same channels, whose pixels overlap.
struct TapOfChunk {
    Halide::Expr x, y, chunk;
};
inline TapOfChunk tap_of_chunk(const Halide::Expr &step, const Halide::Expr &taps_x, const Halide::Expr &taps_y,
                               const Halide::Expr &chunks) {
    const Division row = divide(step, taps_x), chunk = divide(row.quotient, taps_y);
    return {row.rest, chunk.rest, clamp(chunk.quotient, 0, chunks - 1)};
}

/// Where a picture is: its first and its number of columns or rows. One comparison tells both ends: below the first, an
/// unsigned distance is large.
struct Span {
    Halide::Expr first, count;
    Halide::Expr has(const Halide::Expr &at) const {
        return Halide::cast<uint32_t>(at - first) < Halide::cast<uint32_t>(count);
    }
    Halide::Expr nearest(const Halide::Expr &at) const { return clamp(at, first, first + count - 1); }
};

/// An element of the picture (x, y, channel, group, batch), 0 outside, and in channels that fill up the last
/// chunk unless there are none.
template <class Tensor>
Halide::Expr pixel_or_zero(const Tensor &picture, const Halide::Expr &x, const Halide::Expr &y,
                           const Halide::Expr &channel, const Halide::Expr &group, const Halide::Expr &image,
                           bool whole_chunks) {
    using namespace Halide;
    const Span width{picture.dim(0).min(), picture.dim(0).extent()}, height{picture.dim(1).min(), picture.dim(1).extent()};
    const Expr channels = picture.dim(2).extent(), inside = width.has(x) && height.has(y);
    // The same for all channels of a step, so that each needs one comparison.
    const Expr first_zero = select(inside, channels, 0);
    const Expr pixel =
        picture(width.nearest(x), height.nearest(y), whole_chunks ? channel : min(channel, channels - 1),
                group, clamp(image, 0, picture.dim(4).extent() - 1));
    return select(whole_chunks ? inside : channel < first_zero, pixel, 0.f);
}

/// The same of a picture that pack_channels has packed: (channel % 4 + 4 * x, y, channel / 4, group, batch).
template <class Tensor>
Halide::Expr packed_pixel_or_zero(const Tensor &picture, const Halide::Expr &x, const Halide::Expr &y,
                                  const Halide::Expr &value, const Halide::Expr &k4, const Halide::Expr &group,
                                  const Halide::Expr &image) {
    const Span width{picture.dim(0).min() / 4, picture.dim(0).extent() / 4};
    const Span height{picture.dim(1).min(), picture.dim(1).extent()};
    return select(width.has(x) && height.has(y),
                  picture(width.nearest(x) * 4 + value, height.nearest(y), k4, group,
                          clamp(image, 0, picture.dim(4).extent() - 1)),
                  0.f);
}

/// Such a picture is copied asynchronously, 16 bytes at multiples of 16 bytes.
template <class Tensor>
void declare_packed_picture(Tensor &picture) {
    picture.dim(0).set_bounds(picture.dim(0).min() / 4 * 4, picture.dim(0).extent() / 4 * 4);
    for (int d = 1; d < 5; d++) picture.dim(d).set_stride(picture.dim(d).stride() / 4 * 4);
    picture.set_host_alignment(16);
}

/// Where pack_tensor_core has put the weights of a step, of a kernel of any stride: every kernel position is
/// a tap of its one phase. `channels` is how many are computed, `chunks` how many chunks are summed over,
/// `fours` channels / 4 of one.
struct PackedWeights {
    Halide::Expr kernel_w, kernel_h, channels, chunks;
    int fours, parts, channel_sets;

    Halide::Expr index(const ImplicitProductVars &v, const Halide::Expr &kx, const Halide::Expr &ky,
                       const Halide::Expr &chunk) const {
        using Halide::Expr;
        const Expr row_blocks = (channels + 63) / 64;
        const Expr row_block = existing_row_block(v.row / 64, row_blocks, channel_sets);
        const Expr k4 = chunk * fours + v.k4;
        const Expr slice = k4 * parts + v.part + chunks * (fours * parts) * (row_block + row_blocks * v.group);
        const Expr x = clamp(kx, 0, kernel_w - 1), y = clamp(ky, 0, kernel_h - 1);
        return v.value + 4 * (v.row % 64 + 64 * (x + kernel_w * (y + kernel_h * slice)));
    }
};

/// The sum over so many steps; where `steps_of_phase` is defined, over the first of them.
inline void define_sum(ImplicitProductFuncs &f, int chunk_channels, const Halide::Expr &steps,
                       const Halide::Expr &steps_of_phase = {}) {
    using namespace Halide;
    const ImplicitProductVars &v = f.v;
    f.r.domain = RDom({{0, 4}, {0, chunk_channels / 4}, {0, f.parts == 1 ? 1 : 3}, {0, steps}}, "r");
    const RDom &r = f.r.domain;
    f.r.value = r[0], f.r.k4 = r[1], f.r.product = r[2], f.r.step = r[3];
    if (steps_of_phase.defined()) f.r.domain.where(r[3] < steps_of_phase);
    // The small products come first, while the sum is small.
    const Expr pixel_part = f.parts == 1 ? Expr(0) : select(r[2] == 1, 1, 0);
    const Expr weight_part = f.parts == 1 ? Expr(0) : select(r[2] == 0, 1, 0);
    f.sum = Func("sum");
    f.sum(v.position, v.row, v.phase_x, v.phase_y, v.group) = 0.f;
    f.sum(v.position, v.row, v.phase_x, v.phase_y, v.group) +=
        f.pixels(r[0], v.position, r[1], pixel_part, r[3], v.phase_x, v.phase_y, v.group) *
        f.weights(r[0], v.row, r[1], weight_part, r[3], v.phase_x, v.phase_y, v.group);
}

/// The output as an update over all positions of all phases, `columns` of them a block. Cells hold `stride`
/// outputs; the last of a row or column may lie outside. `finish` makes an output of its sum.
template <class Output, class Finish>
void define_output(ImplicitProductFuncs &f, Output &output, int columns, const Halide::Expr &stride_x,
                   const Halide::Expr &stride_y, const Halide::Expr &cells_x, const Halide::Expr &cells_y,
                   Finish finish) {
    using namespace Halide;
    const Expr width = output.dim(0).extent(), height = output.dim(1).extent(), images = output.dim(4).extent();
    const Expr blocks = (cells_x * cells_y * images + columns - 1) / columns;
    f.stored.domain = RDom({{0, columns}, {0, stride_x}, {0, stride_y}, {0, blocks}}, "stored");
    RDom &s = f.stored.domain;
    f.stored.column = s[0], f.stored.phase_x = s[1], f.stored.phase_y = s[2], f.stored.block = s[3];
    const Expr position = s[3] * columns + s[0];
    const CellOfImage cell = cell_of_image(position, cells_x, cells_y);
    const Expr x = cell.x * stride_x + s[1], y = cell.y * stride_y + s[2];
    s.where(x < width);
    s.where(y < height);
    s.where(cell.image < images);
    Var any_x{"x"}, any_y{"y"}, any_image{"image"};
    output(any_x, any_y, f.v.channel, f.v.group, any_image) = undef<float>();
    output(clamp(x, 0, width - 1), clamp(y, 0, height - 1), f.v.channel, f.v.group, clamp(cell.image, 0, images - 1)) =
        finish(f.sum(position, f.v.channel, s[1], s[2], f.v.group));
    f.output = output;
}

}  // namespace conv_transpose

#endif
