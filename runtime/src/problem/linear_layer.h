// A picture of one pixel: its transposed convolution is a linear layer, whose outputs are the positions of
// the channels. As a gather each of them would meet all taps, of which one is inside.
#ifndef CONV_TRANSPOSE_RUNTIME_LINEAR_LAYER_H
#define CONV_TRANSPOSE_RUNTIME_LINEAR_LAYER_H

#include "conv_transpose/conv_transpose.h"
#include "choice/launch_limits.h"

namespace conv_transpose {

/// The problem with every kernel position of a channel as a channel of its own, if the memory of its tensors
/// is the same: without padding and dilation, output position k is that of kernel position k. Else the
/// problem as it is. A bias is one for all positions of a channel.
inline Problem with_positions_as_channels(const Problem &p, const PlanOptions &options) {
    constexpr Size2 one{1, 1}, none{0, 0};
    const bool linear = p.input == one && p.kernel != one && p.dilation == one && p.padding == none &&
                        p.output_padding == none;
    const bool same_tensors = options.operation != Operation::bias_gradient && !options.epilogue.bias;
    const double channels = double(p.out_channels) * p.kernel.height * p.kernel.width;
    if (!linear || !same_tensors || channels > max_elements_32bit()) return p;
    Problem layer = p;
    layer.out_channels *= p.kernel.height * p.kernel.width;
    layer.kernel = layer.stride = one;
    return layer;
}

}  // namespace conv_transpose

#endif
