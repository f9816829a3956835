// How much a kernel that computes an operation as implicit matrix products (algorithm/implicit_gemm.h)
// has to do: its blocks of threads, and the steps of their loop, each one tap of a chunk of channels.
#ifndef CONV_TRANSPOSE_RUNTIME_PRODUCT_BLOCKS_H
#define CONV_TRANSPOSE_RUNTIME_PRODUCT_BLOCKS_H

#include <algorithm>

#include "choice/kernel_properties.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

/// Phases of the output on an axis of the problem that are channels of the kernel's product.
inline int64_t channel_phases(const KernelTraits &k, const Problem &p, const Axis &a) {
    return k.phases_as_channels && (!k.phases_along_width || &a == &p.width()) ? a.stride : 1;
}

/// Those of all axes, and those that have blocks of their own.
inline int64_t channel_phases(const KernelTraits &k, const Problem &p) {
    return product_of_axes(p, [&](const Axis &a) { return channel_phases(k, p, a); });
}
inline int64_t block_phases(const KernelTraits &k, const Problem &p) {
    if (k.operation != Operation::forward) return 1;
    return product_of_axes(p, [&](const Axis &a) { return a.stride / channel_phases(k, p, a); });
}

/// Channels of a group that are summed over in chunks.
inline int64_t summed_channels(const KernelTraits &k, const Problem &p) {
    const int64_t channels = (k.operation == Operation::forward ? p.in_channels : p.out_channels) / p.groups;
    return k.taps_as_channels ? round_up(channels, k.out_channel_multiple) * taps(p) : channels;
}

/// Taps of a window, where the steps of a kernel for CUDA cores see neighbours that are staged once: those beyond the last have
/// weights of zero.
inline int64_t window_of_steps(const KernelTraits &k, const Problem &p, const Axis &a) {
    return k.splits_steps && &a == &p.width() ? k.window : 1;
}

/// Taps of all phases that have blocks of their own; a phase that is a channel has as many as the longest.
inline int64_t taps_of_phases(const KernelTraits &k, const Problem &p) {
    if (k.taps_as_channels) return 1;
    return product_of_axes(p, [&](const Axis &a) {
        return round_up(ceil_divide(a.kernel, channel_phases(k, p, a)), window_of_steps(k, p, a));
    });
}

/// Cells of an axis: outputs of the forward operation that have a phase in common, and those that windows along the width see
/// beyond.
inline int64_t cells(const KernelTraits &k, const Problem &p, const Axis &a) {
    const bool in_windows = &a == &p.width() && (k.splits_steps || k.box_positions > 0);
    const int64_t gap = in_windows ? k.window - 1 : 0;
    return k.operation == Operation::forward ? ceil_divide(spanned_output(k, p, a), a.stride) + gap : a.input;
}

/// Cells that the first run of a row stores before the first, as boxes begin at multiples of 16 bytes and lanes have fours
/// (generators/forward_implicit_gemm.h).
inline int64_t run_lead(const KernelTraits &k, const Problem &p) {
    if (k.row_taps == 1) return 0;
    const int64_t values = 16 / bytes_of(k.input.type), margin = (k.run_positions - k.stored_positions) / 2,
                  padding = p.width().padding, centre = padding % 4 < k.row_taps ? padding % 4 : 0;
    return round_up(margin, values) - margin + (padding - centre) % values;
}

/// Positions of a run that are stored, of a kernel that reads a picture as it lies.
inline int64_t positions_of_run(const KernelTraits &k) { return k.row_taps > 1 ? k.stored_positions : k.box_positions; }

/// Positions of an image that its blocks compute, with those that fill up runs.
inline int64_t positions_of_image(const KernelTraits &k, const Problem &p) {
    const int64_t all = product_of_axes(p, [&](const Axis &a) { return cells(k, p, a); });
    if (!reads_as_it_lies(k)) return all;
    if (reads_one_row(k)) return round_up(all, k.box_positions);
    const int64_t row = cells(k, p, p.width()), runs_of_row = ceil_divide(row + run_lead(k, p), positions_of_run(k));
    return all / std::max<int64_t>(row, 1) * runs_of_row * (k.row_taps > 1 ? k.run_positions : k.box_positions);
}

struct ProductBlocks {
    double blocks = 0;   ///< more than an int64_t counts, where phases are many
    int64_t chunks = 0;  ///< of the channels that are summed over
    int64_t channel_tiles = 0;
    int64_t steps = 0;   ///< of a phase, on average, rounded up

    /// The kernel computes the forward operation or an input gradient, and counts through images.
    ProductBlocks(const KernelTraits &k, const Problem &p) {
        const bool forward = k.operation == Operation::forward;
        const int64_t phases = block_phases(k, p);
        const int64_t cells = p.batch * positions_of_image(k, p);
        const int64_t channels = (forward ? p.out_channels : p.in_channels) / p.groups * channel_phases(k, p);
        chunks = ceil_divide(summed_channels(k, p), k.weight_in_channel_multiple);
        channel_tiles = ceil_divide(channels, k.block_channels);
        blocks = double(ceil_divide(cells, k.block_positions.height * k.block_positions.width)) * double(channel_tiles) *
                 double(phases) * double(p.groups);
        steps = ceil_divide(taps_of_phases(k, p), phases * window_of_steps(k, p, p.width())) * chunks;
    }
};

}  // namespace conv_transpose

#endif
