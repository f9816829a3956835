// A transposed convolution, or its input gradient, as a matrix product without the matrices, every attribute a run-time
// value: the parts that the two have in common.
//
// Columns are positions of a phase, rows are channels, and the sum runs in steps: one tap of a chunk of
// channels. Pixels and weights of a step are matrices that a schedule stages, and only their elements know
// taps, strides and pictures.
#ifndef CONV_TRANSPOSE_GENERATORS_CUDA_CORE_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_CUDA_CORE_PRODUCT_H

#include <functional>

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/cuda_core_product_funcs.h"

namespace conv_transpose::cuda_core_product {

using Halide::Expr;

/// Of what is not negative. Signed division rounds towards minus infinity, in more instructions.
inline Expr quotient(const Expr &a, const Expr &b) {
    return Halide::cast<int>(Halide::cast<uint32_t>(a) / Halide::cast<uint32_t>(b));
}
inline Expr remainder(const Expr &a, const Expr &b) {
    return Halide::cast<int>(Halide::cast<uint32_t>(a) % Halide::cast<uint32_t>(b));
}
inline Expr rounded_up(const Expr &a, const Expr &b) { return (a + b - 1) / b; }

/// The positions of a phase, of all pictures: narrow and small pictures fill tiles, too.
struct Columns {
    Expr width, height, pictures;

    Expr count() const { return width * height * pictures; }
    Expr x(const Expr &column) const { return remainder(column, width); }
    Expr y(const Expr &column) const { return remainder(quotient(column, width), height); }
    Expr picture(const Expr &column) const { return quotient(column, width * height); }
};

/// Taps are innermost: what they see of a chunk of channels overlaps, and is still in a cache.
struct Steps {
    Expr taps_x, taps_y;  ///< of a phase; there may be none
    Expr channels;        ///< that are summed over
    int chunk;

    Expr count() const { return taps_x * taps_y * rounded_up(channels, chunk); }

    struct Step {
        Expr tap_x, tap_y, first_channel;
    };
    Step operator[](const Expr &step) const {
        // Without taps there are no steps either.
        const Division row = divide(step, max(taps_x, 1)), of_chunk = divide(row.quotient, max(taps_y, 1));
        return {row.rest, of_chunk.rest, of_chunk.quotient * chunk};
    }
};

/// Zero outside of the picture (x, y, channel, group, picture), and in channels and pictures beyond the last.
/// `summed` counts channels from `first_channel`.
template <class Tensor>
Expr pixel_or_zero(const Tensor &tensor, const Expr &x, const Expr &y, const Expr &first_channel, const Expr &summed,
                   const Expr &group, const Expr &picture) {
    // One comparison tells both ends: below the first, an unsigned distance is large.
    const auto is_inside = [&](const Expr &at, int d) {
        return Halide::cast<uint32_t>(at - tensor.dim(d).min()) < Halide::cast<uint32_t>(tensor.dim(d).extent());
    };
    // What is not inside is not loaded: the copies to shared memory are asynchronous (compiler/passes/async_copies.h).
    const auto promised = [&](const Expr &at, int d) {
        return Halide::unsafe_promise_clamped(at, tensor.dim(d).min(), tensor.dim(d).max());
    };
    // Then each of the channels at a place is tested once, whatever else is tested of the place.
    const Expr channels = select(is_inside(x, 0) && is_inside(y, 1) && picture < tensor.dim(4).extent(),
                                 tensor.dim(2).extent() - first_channel, 0);
    return select(summed < channels, tensor(promised(x, 0), promised(y, 1), promised(first_channel + summed, 2), group,
                                            promised(picture, 4)), 0.f);
}

/// Of weights with channels innermost; zero for summed channels beyond the last.
template <class Tensor>
Expr weight_or_zero(const Tensor &weight, const Expr &channel, const Expr &kx, const Expr &ky, const Expr &summed,
                    const Expr &group) {
    // There is such a kernel position, and packed channels fill whole tiles.
    const auto promised = [&](const Expr &at, int d) {
        return Halide::unsafe_promise_clamped(at, 0, weight.dim(d).extent() - 1);
    };
    return select(summed < weight.dim(3).extent(),
                  weight(promised(channel, 0), promised(kx, 1), promised(ky, 2), promised(summed, 3), group), 0.f);
}

/// The sum over pixels and weights, from `initial` on: of at most so many steps the first `steps`, of a phase.
inline void define_sum(CudaCoreProductFuncs &f, int chunk, const Expr &most, const Expr &steps) {
    f.steps = Halide::RDom({{0, chunk}, {0, most}}, "steps");
    const Halide::RVar summed = f.steps.x, step = f.steps.y;
    f.steps.where(step < steps);
    f.sum(f.column, f.channel, f.phase, f.group) = f.initial(f.channel, f.group);
    f.sum(f.column, f.channel, f.phase, f.group) +=
        f.pixels(f.column, summed, step, f.phase, f.group) * f.weights(f.channel, summed, step, f.phase, f.group);
}

/// How a schedule stores: tiles, and of a tile so many channels at a time.
struct Tile {
    int columns, channels, stored_channels;
};

/// Phases of an output along one axis: of a stride beyond its end, only those that there are.
template <class Dimension>
Expr phases(const Expr &stride, const Dimension &output) {
    return Halide::Internal::is_const_one(stride) ? stride : min(stride, output.extent());
}

/// The stores of output(x, y, channel, group, picture), a tile after the other. Neighbours of a phase lie
/// `stride_x` and `stride_y` apart.
template <class Tensor>
void define_stores(CudaCoreProductFuncs &f, Tensor &output, const Tile &tile, const Columns &columns,
                   const Expr &stride_x, const Expr &stride_y,
                   const std::function<Expr(const Expr &)> &of_sum) {
    const auto extent = [&](int d) { return Expr(output.dim(d).extent()); };
    const Expr phases_x = phases(stride_x, output.dim(0)), phase_count = phases_x * phases(stride_y, output.dim(1));
    const Expr channel_blocks = rounded_up(extent(2), tile.channels);
    const Expr column_blocks = rounded_up(columns.count(), tile.columns);
    f.stored = Halide::RDom({{0, tile.stored_channels}, {0, tile.columns}, {0, tile.channels / tile.stored_channels},
                             {0, phase_count * channel_blocks * column_blocks}, {0, extent(3)}},
                            "stored");
    Halide::RDom &r = f.stored;
    // Phases are innermost, so that parts of one sector of the output are written at nearly the same time.
    const Expr block = r[3], group = r[4];
    // Of a remainder Halide knows no closer bounds than those of all blocks.
    const Expr tiles = block / phase_count, phase = block - tiles * phase_count;
    const Expr column_block = tiles / channel_blocks, channel_block = tiles - column_block * channel_blocks;
    const Expr column = column_block * tile.columns + r[1];
    const Expr channel = channel_block * tile.channels + r[2] * tile.stored_channels + r[0];
    const Expr x = columns.x(column) * stride_x + remainder(phase, phases_x), picture = columns.picture(column);
    const Expr y = columns.y(column) * stride_y + quotient(phase, phases_x);
    r.where(x < extent(0) && y < extent(1) && picture < extent(4));
    r.where(channel < extent(2));
    const auto promised = [&](const Expr &at, int d) { return Halide::unsafe_promise_clamped(at, 0, extent(d) - 1); };
    const Halide::Var any_x, any_y, any_channel, any_group, any_picture;
    output(any_x, any_y, any_channel, any_group, any_picture) = Halide::undef<float>();
    output(promised(x, 0), promised(y, 1), promised(channel, 2), group, promised(picture, 4)) =
        of_sum(f.sum(column, channel, phase, group));
    f.output = output;
}

/// Every vector of packed channels begins at a multiple of 16 bytes: it can be copied asynchronously.
template <class Tensor>
void declare_packed_weight(Tensor &weight) {
    weight.set_host_alignment(16);
    for (int d = 0; d < 5; d++) weight.dim(d).set_min(0);
    for (int d = 1; d < 5; d++) weight.dim(d).set_stride(weight.dim(d).stride() / 4 * 4);
}

}  // namespace conv_transpose::cuda_core_product

#endif
