// The weights of an implicit matrix product, in each of the ways in which they lie: as they are given, of one kernel position or
// of all, and packed for CUDA cores or tensor cores.
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_WEIGHTS_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_WEIGHTS_H

#include <cstddef>
#include <vector>

#include "Halide.h"
#include "algorithm/implicit_gemm_geometry.h"
#include "algorithm/tensor_layout.h"

namespace conv_transpose::implicit_gemm {

/// Where kernel positions are summed over like channels: a weight in channels_last as it is given. What is converted on its way, and
/// so not copied (PictureRead::asynchronous), is loaded from the nearest place that there is.
template <class Tensor>
Expr given_weight_of_taps(const GemmFuncs &f, const Tensor &weight, const Geometry &g, bool asynchronous) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    PerAxis index = g.kernel;
    index.insert(index.end(), {g.picture_channel, f.v.channel, f.v.group});
    for (int d = 0; d < rank + 2; d++) {
        const Expr last = weight.dim(d).extent() - 1;
        index[d] = asynchronous ? unsafe_promise_clamped(index[d], 0, last) : clamp(index[d], 0, last);
    }
    const Expr element = weight(index);
    return select(g.is_summed && f.v.channel < weight.dim(rank + 1).extent(), element, Internal::make_zero(element.type()));
}

/// A weight as pack_channels_innermost has put it; zero for summed channels beyond the last, and for taps of a window.
template <class Tensor>
Expr channels_innermost_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    // There is such a kernel position, and packed channels fill whole tiles.
    const auto promised = [&](const Expr &at, int d) {
        return unsafe_promise_clamped(at, 0, weight.dim(d).extent() - 1);
    };
    const Expr summed = g.chunk * g.steps.chunk + f.v.k_group / f.window;
    std::vector<Expr> index{promised(f.v.channel, 0)};
    for (int d = 0; d < rank; d++) index.push_back(promised(g.kernel[d], d + 1));
    index.push_back(promised(summed, rank + 1));
    index.push_back(g.group);
    Expr there = summed < weight.dim(rank + 1).extent();
    if (f.window > 1) there = there && g.kernel[0] < weight.dim(1).extent();
    return select(there, weight(index), 0.f);
}

/// A weight as it is given, of one kernel position, whose summed channels are neighbours; zero beyond the last of either. What
/// is converted on its way, and so not copied, is loaded from the nearest place that there is.
template <class Tensor>
Expr given_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    const auto extent = [&](int d) { return Expr(weight.dim(d).extent()); };
    const auto limited = [&](const Expr &at, int d) {
        const Expr last = extent(d) - 1;
        return unsafe_promise_clamped(f.format.storage == Storage::f32 ? at : min(at, last), 0, last);
    };
    const Expr summed = g.chunk * g.steps.chunk + f.v.k_group;
    std::vector<Expr> index(rank, 0);
    index.insert(index.end(), {limited(summed, rank), limited(f.v.channel, rank + 1), f.v.group});
    const Expr element = weight(index);
    return select(summed < extent(rank) && f.v.channel < extent(rank + 1), element, Internal::make_zero(element.type()));
}

/// The same of the forward operation, where kernel positions are neighbours: of a live kernel position, or where phases are
/// channels of the product, of that which a tap is for the phase. On their way to tensor cores elements go through registers, and
/// so are loaded from the nearest place that there is.
template <class Tensor>
Expr given_weight_of_phases(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    const auto extent = [&](int d) { return Expr(weight.dim(d).extent()); };
    const Expr summed = g.chunk * g.steps.chunk + f.v.k_group * f.values() + f.v.value;
    PerAxis index = g.kernel;
    Expr channel = f.v.channel, there = summed < extent(rank + 1);
    if (!g.channel_phases.empty()) {
        const PerAxis phase = digits(channel, g.channel_phases, divide_small);
        for (int d = 0; d < rank; d++) {
            index[d] = g.kernel[d] * g.channel_phases[d] + phase[d];
            there = there && index[d] < extent(d);
        }
        channel = phase.back();
    }
    there = there && channel < extent(rank);
    index.insert(index.end(), {channel, summed, f.v.group});
    for (int d = 0; d < rank + 2; d++) {
        const Expr last = extent(d) - 1;
        index[d] = unsafe_promise_clamped(f.format.on_tensor_cores() ? min(index[d], last) : index[d], 0, last);
    }
    const Expr element = weight(index);
    return select(there, element, Internal::make_zero(element.type()));
}

/// Which tile of 64 packed channels a computed channel is of, and which of the tile.
struct TileOfWeights {
    Expr tile, channel;
};
inline TileOfWeights tile_of_weights(const GemmFuncs &f) {
    const Expr channel = f.v.channel;
    if (f.row_taps == 1) return {channel / 64, channel % 64};
    // Blocks of fewer share a tile.
    const int blocks = 64 / f.row_channels;
    const Expr block = channel / f.row_channels / f.row_taps;
    return {block / blocks, block % blocks * f.row_channels + channel % f.row_channels};
}

/// Packed weights (layouts::tensor_core_weights) are one array.
template <class Tensor>
Expr tensor_core_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g, const PerAxis &kernel_size,
                        const Expr &channels, bool block_goes_beyond) {
    using namespace Halide;
    const GemmVars &v = f.v;
    const int values = f.values(), groups_of_chunk = g.steps.chunk / values;
    const Expr k_group = f.window > 1 ? v.k_group / f.window : v.k_group;
    const TileOfWeights tile = tile_of_weights(f);
    // Tiles of 64 channels that a block has beyond the last are computed of the last, and not stored.
    const Expr last_tile = (channels + 63) / 64 - 1;
    const Expr first = (block_goes_beyond ? min(tile.tile, last_tile) : tile.tile) * 64;
    // Of half a tile Halide finds that channels are one run only where no division has both.
    const bool is_apart = f.row_taps > 1;
    const Expr channel = is_apart ? first : first + tile.channel;
    PerDimension<Expr> at(0, {{Dimension::summed, (g.chunk * groups_of_chunk + k_group) * values},
                              {Dimension::channel, channel}, {Dimension::piece, v.piece}, {Dimension::group, g.group}});
    PerDimension<Expr> extents(1, {{Dimension::summed, g.steps.chunks() * g.steps.chunk},
                                   {Dimension::channel, channels}, {Dimension::piece, f.format.pieces()}});
    constexpr Dimension axes[] = {Dimension::x, Dimension::y, Dimension::z};
    for (std::size_t d = 0; d < kernel_size.size(); d++) at[axes[d]] = g.kernel[d], extents[axes[d]] = kernel_size[d];
    const Expr row = layouts::tensor_core_weights(values).offset<Expr>(at, extents);
    std::vector<Expr> index(weight.dimensions(), 0);
    const Expr place = is_apart ? row + tile.channel * values : row;
    index[0] = unsafe_promise_clamped(place + v.value, 0, weight.dim(0).extent() - 1);
    return weight(index);
}

/// Channels of packed weights begin at multiples of 16 bytes: vectors of them are copied asynchronously.
template <class Tensor>
void declare_packed_weight(Tensor &weight, int values) {
    weight.set_host_alignment(16);
    for (int d = 0; d < weight.dimensions(); d++) {
        weight.dim(d).set_min(0);
        if (d > 0) weight.dim(d).set_stride(weight.dim(d).stride() / values * values);
    }
}

}  // namespace conv_transpose::implicit_gemm

#endif
