// The picture of an implicit matrix product: the element that a step sees at a position, and what the runtime promises of
// where it lies.
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_PICTURE_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_PICTURE_H

#include <vector>

#include "Halide.h"
#include "algorithm/implicit_gemm_geometry.h"

namespace conv_transpose::implicit_gemm {

/// How a picture is read.
struct PictureRead {
    /// No chunk has channels beyond the last.
    bool whole_chunks;
    /// What is not inside is not loaded, as copies to shared memory are asynchronous (compiler/passes/async_copies.h);
    /// otherwise it is, from the nearest place that there is.
    bool asynchronous;
};

/// An element of a step at a position; zero outside of the picture, and in channels beyond the last.
template <class Tensor>
Expr picture_or_zero(const GemmFuncs &f, const Tensor &picture, const Geometry &g, const PictureRead &read) {
    using namespace Halide;
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(g.at.size()), values = f.values();
    const bool in_rows = f.input_layout == PictureLayout::channel_rows;
    const auto limited = [&](const Expr &at, const Expr &min, const Expr &max) {
        return read.asynchronous ? unsafe_promise_clamped(at, min, max) : clamp(at, min, max);
    };
    Expr inside = Internal::const_true();
    std::vector<Expr> index;
    for (int d = 0; d < rank; d++) {
        const int pitch = in_rows && d == 0 ? values : 1;
        const Expr min = picture.dim(d).min() / pitch, extent = picture.dim(d).extent() / pitch;
        inside = inside && is_inside(g.at[d], min, extent);
        const Expr at = limited(g.at[d], min, min + extent - 1);
        index.push_back(pitch == 1 ? at : at * pitch + v.value);
    }
    const Expr images = picture.dim(rank + 2).extent(), channels = picture.dim(rank).extent();
    if (read.asynchronous) inside = inside && g.image < images;
    const bool in_runs = f.position_run > 0;
    const Expr first = g.chunk * g.steps.chunk, in_chunk = in_runs ? Expr(v.k_group) : v.k_group * values + v.value;
    if (g.picture_channel.defined()) {
        const Expr channel = read.asynchronous ? g.picture_channel : min(g.picture_channel, channels - 1);
        index.push_back(unsafe_promise_clamped(channel, 0, channels - 1));
        inside = inside && g.is_summed;
    } else if (in_rows) {
        index.push_back(unsafe_promise_clamped(g.chunk * (g.steps.chunk / values) + v.k_group, 0, channels - 1));
    } else {
        const Expr channel = read.whole_chunks || read.asynchronous ? first + in_chunk : min(first + in_chunk, channels - 1);
        index.push_back(unsafe_promise_clamped(channel, 0, channels - 1));
    }
    index.push_back(g.group);
    index.push_back(limited(g.image, 0, images - 1));
    const Expr element = picture(index), zero = Internal::make_zero(element.type());
    if (read.whole_chunks || in_rows || g.picture_channel.defined()) return select(inside, element, zero);
    // Then each of the channels at a place is tested once, whatever else is tested of the place. Whole rows of 16 bytes
    // are inside or outside together.
    const Expr left = select(inside, channels - first, 0);
    const bool whole_rows = f.input_layout == PictureLayout::channels_last;
    return select((whole_rows ? v.k_group * values : in_chunk) < left, element, zero);
}

/// Neighbours of a dimension begin at multiples of 16 bytes, of so many values.
template <class Tensor>
void declare_aligned(Tensor &tensor, int contiguous, int values) {
    for (int d = 0; d < tensor.dimensions(); d++) {
        if (d == contiguous) tensor.dim(d).set_stride(1);
        else tensor.dim(d).set_stride(tensor.dim(d).stride() / values * values);
    }
    tensor.set_host_alignment(16);
}

/// What the runtime promises of a picture's place, so that rows of 16 bytes are loaded, or stored, at once.
template <class Tensor>
void declare_rows(Tensor &picture, PictureLayout layout, int rank, int values) {
    if (layout == PictureLayout::channels_first) return;
    const bool in_rows = layout == PictureLayout::channel_rows;
    const auto multiple = [&](const Expr &e) { return e / values * values; };
    if (in_rows) picture.dim(0).set_bounds(multiple(picture.dim(0).min()), multiple(picture.dim(0).extent()));
    declare_aligned(picture, in_rows ? 0 : rank, values);
}

}  // namespace conv_transpose::implicit_gemm

#endif
