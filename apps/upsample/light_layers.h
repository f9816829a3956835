// Layers that are not worth a kernel, and the rearrangement of an input into phases: on the host, in memory
// order.
#ifndef UPSAMPLE_LIGHT_LAYERS_H
#define UPSAMPLE_LIGHT_LAYERS_H

#include "layer_convolution.h"

namespace upsample {

/// Sample (c, y, x) goes to channel (c, y mod s, x mod s); what lies beyond the input is zero. `size` is that
/// of a phase.
void split_phases(const float *input, const TensorShape &shape, int64_t s, Size2 size,
                  float *output);

/// Runs the layer. `shape` is that of the first input; `second` is read by layers of two inputs.
void light_layer(const Layer &layer, const float *first, const TensorShape &shape, const float *second,
                 const TensorShape &output_shape, float *output);

}  // namespace upsample

#endif
