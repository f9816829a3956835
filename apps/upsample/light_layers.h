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

struct Tensor {
    const float *data = nullptr;
    TensorShape shape;
};

/// Whether the layer's output may lie where its first input lies.
bool works_in_place(LayerKind kind);

/// Runs the layer, with some threads.
void light_layer(const Layer &layer, const std::vector<Tensor> &inputs, const TensorShape &output_shape,
                 float *output, int threads);

}  // namespace upsample

#endif
