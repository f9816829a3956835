// A picture of one pixel: its transposed convolution is a linear layer, whose outputs are the positions of
// the channels. As a gather each of them would meet all taps, of which one is inside.
#ifndef CONV_TRANSPOSE_RUNTIME_LINEAR_LAYER_H
#define CONV_TRANSPOSE_RUNTIME_LINEAR_LAYER_H

#include <algorithm>

#include "choice/launch_limits.h"
#include "problem/counting.h"

namespace conv_transpose {

/// The problem with every kernel position of a channel as a channel of its own, if the memory of its tensors
/// is the same: without padding and dilation, output position k is that of kernel position k. Else the
/// problem as it is. A bias is one for all positions of a channel.
inline Problem with_positions_as_channels(const Problem &p, const PlanOptions &options) {
    const auto is_linear = [](const Axis &a) {
        return a.input == 1 && a.dilation == 1 && a.padding == 0 && a.output_padding == 0;
    };
    const bool linear = taps(p) > 1 && std::all_of(p.axes.begin(), p.axes.end(), is_linear);
    const bool same_tensors = options.operation != Operation::bias_gradient && !options.epilogue.bias;
    const double channels = double(p.out_channels) * taps(p);
    if (!linear || !same_tensors || channels > max_elements_32bit()) return p;
    Problem layer = p;
    layer.out_channels *= taps(p);
    layer.axes = {};
    return layer;
}

}  // namespace conv_transpose

#endif
