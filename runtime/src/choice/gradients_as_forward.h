// Gradients that are forward operations of other problems.
#ifndef CONV_TRANSPOSE_RUNTIME_GRADIENTS_AS_FORWARD_H
#define CONV_TRANSPOSE_RUNTIME_GRADIENTS_AS_FORWARD_H

#include <optional>

#include "choice/computation.h"

namespace conv_transpose {

/// At stride 1 the input gradient is a transposed convolution itself, of the output gradient with mirrored weights, so
/// the fast forward kernels serve it. None if the stride is not 1, or a padding would be below 0.
///
/// The gradient at i is the sum over k of g[i - padding + k * dilation] * w[k], and the forward operation's
/// output at o that of x[o + padding' - k' * dilation] * w'[k'], so k' = kernel - 1 - k and padding' =
/// (kernel - 1) * dilation - padding.
std::optional<Problem> forward_of_input_gradient(const Problem &p);

/// The gradient at i is the sum over k of g[i * stride + k - padding] * w[k]: of taps t and phases r, k = t * stride + r,
/// over the cell i + t. Its sum over phases is one over channels, and what is left a convolution of stride 1, so that
/// forward kernels serve it. Whole strides of padding hold no cells, as far as taps reach. None where a phase's taps are
/// no neighbours.
std::optional<Problem> forward_over_phases(const Problem &p);

/// The weight gradient of a linear layer is a sum over images, of products of an input and an output gradient: the forward
/// operation of a picture whose channels are the images and whose positions are the layer's outputs, with the input as the
/// weight. All tensors lie as they did.
std::optional<Computation> forward_of_weight_gradient(const Computation &given);

}  // namespace conv_transpose

#endif
