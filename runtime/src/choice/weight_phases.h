// How phases that are channels of a product lie in the weight, which a step before packs (generators/gemm_weight_packing.cpp).
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_PHASES_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_PHASES_H

#include <algorithm>

#include "choice/computation.h"
#include "choice/kernel_properties.h"
#include "choice/product_blocks.h"

namespace conv_transpose {

/// Whether a kernel is as large as the phases that are channels, so that each has one tap.
inline bool phases_are_taps(const KernelTraits &k, const Computation &c) {
    const auto has_all = [&](const Axis &a) { return a.kernel == channel_phases(k, c.problem, a); };
    return c.operation == Operation::forward && c.weight == WeightView::as_given && !c.by_phases && !c.cells &&
           c.joined_groups == 1 && std::all_of(c.problem.axes.begin(), c.problem.axes.end(), has_all);
}

/// Whether phases and channels of an input channel lie in the product's order: both are one row of channels.
inline bool phases_are_row(const KernelTraits &k, const Computation &c) {
    const bool has_one_channel = c.problem.out_channels == c.problem.groups;
    const bool in_order = channels_innermost(c.weight_format) == k.phases_outermost || has_one_channel;
    return phases_are_taps(k, c) && in_order;
}

/// Whether they lie in the other order, and tiles have the channels of one phase: what is packed is a weight with taps, each of
/// which is written where its phase is.
inline bool phases_are_apart(const KernelTraits &k, const Computation &c) {
    constexpr int64_t tile = 64;
    const Problem &p = c.problem;
    const bool in_tiles = reads_packed_runs(k) && p.out_channels % tile == 0 &&
                          p.out_channels * taps(p) % k.weight_channel_multiple == 0;
    return in_tiles && phases_are_taps(k, c) && k.phases_outermost && !phases_are_row(k, c) && p.groups == 1;
}

}  // namespace conv_transpose

#endif
