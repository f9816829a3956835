// At stride 1 the input gradient is itself a transposed convolution: of the output gradient, with the two
// channels exchanged and every kernel turned round. So the fast forward kernels, those of tensor cores among
// them, serve it as they are.
#ifndef CONV_TRANSPOSE_RUNTIME_FORWARD_OF_INPUT_GRADIENT_H
#define CONV_TRANSPOSE_RUNTIME_FORWARD_OF_INPUT_GRADIENT_H

#include <optional>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// The forward problem whose output is the input gradient of `p`; none if the stride is not 1, or if the
/// problem would need a padding or output padding below 0.
///
/// The gradient at i is the sum over k of g[i - padding + k * dilation] * w[k], and the forward operation's
/// output at o that of x[o + padding' - k' * dilation] * w'[k'], so k' = kernel - 1 - k and padding' =
/// (kernel - 1) * dilation - padding.
inline std::optional<Problem> forward_of_input_gradient(const Problem &p) {
    Problem forward = p;
    forward.in_channels = p.out_channels;
    forward.out_channels = p.in_channels;
    for (Axis &axis : forward.axes) {
        if (axis.stride != 1 || axis.output_padding != 0) return {};
        axis.input = axis.output();
        axis.padding = (axis.kernel - 1) * axis.dilation - axis.padding;
        if (axis.padding < 0) return {};
    }
    return forward;
}

}  // namespace conv_transpose

#endif
