// What generators for tensor cores call a precision; and operands of the forward operation's (TensorCoreFuncs): the picture whose
// channels are summed over, in whole chunks, and the sets of channels that are computed.
#ifndef CONV_TRANSPOSE_ALGORITHM_TENSOR_CORE_OPERANDS_H
#define CONV_TRANSPOSE_ALGORITHM_TENSOR_CORE_OPERANDS_H

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/gather.h"

namespace conv_transpose {

/// A kernel that splits its operands into so many parts has this precision.
inline const char *tensor_core_precision(int parts) { return parts == 1 ? "Precision::tf32" : "Precision::tf32x3"; }

/// Channels / 4, filled up to whole chunks of the staging loop; the packed weights are zero there. `channels` is their
/// number where it is a constant, 0 elsewhere.
template <class Tensor>
Halide::Expr groups_of_four(const Tensor &picture, int channels, int chunk) {
    if (channels != 0) return (channels + chunk - 1) / chunk * (chunk / 4);
    return (picture.dim(2).extent() + chunk - 1) / chunk * (chunk / 4);
}

/// The picture (x, y, channel, group, batch) with zeros outside, and in channels that fill up the last chunk.
/// The number of channels is known to be a multiple of `channel_multiple`, unless that is 0.
template <class Tensor>
Halide::Func padded_picture(const Tensor &picture, const GatherVars &v, int channel_multiple, int chunk) {
    using namespace Halide;
    const auto inside = [](const Expr &at, const Internal::Dimension &d) { return is_inside(at, d.min(), d.extent()); };
    const auto nearest = [](const Expr &at, const Internal::Dimension &d) { return clamp(at, d.min(), d.max()); };
    const auto x = picture.dim(0), y = picture.dim(1), channels = picture.dim(2);
    const bool whole_chunks = channel_multiple != 0 && channel_multiple % chunk == 0;
    const Expr channel = whole_chunks ? Expr(v.channel) : min(v.channel, channels.extent() - 1);
    const Expr channel_inside = whole_chunks ? Internal::const_true() : v.channel < channels.extent();
    Func padded{"padded"};
    padded(v.x, v.y, v.channel, v.group, v.batch) =
        select(inside(v.x, x) && inside(v.y, y) && channel_inside,
               picture(nearest(v.x, x), nearest(v.y, y), channel, v.group, v.batch), 0.f);
    return padded;
}

/// Packed weights have `row_blocks` blocks; sets of channels that share a block of threads may go beyond the last.
inline Halide::Expr existing_row_block(const Halide::Expr &row_block, const Halide::Expr &row_blocks,
                                       int channel_sets) {
    return channel_sets == 1 ? row_block : min(row_block, row_blocks - 1);
}

}  // namespace conv_transpose

#endif
