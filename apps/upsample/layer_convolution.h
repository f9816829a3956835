// What a layer with weights is to the library: a valid convolution of stride 1 is a transposed convolution
// with the kernel turned round, a strided convolution is one of stride 1 over the input's phases, a layer of
// inner products one of a single pixel, a pixel shuffle one whose stride and kernel are its factor and whose
// weights pick a channel, nearest interpolation a depthwise one of ones, and a deconvolution is itself.
#ifndef UPSAMPLE_LAYER_CONVOLUTION_H
#define UPSAMPLE_LAYER_CONVOLUTION_H

#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "ncnn_model.h"

namespace upsample {

struct TensorShape {
    int64_t channels = 0, height = 0, width = 0;
    int64_t elements() const { return channels * height * width; }
};

struct LayerConvolution {
    conv_transpose::Problem problem;
    conv_transpose::PlanOptions options;
    int64_t phases = 1;  ///< the input is rearranged into this many phases an axis before
};

/// Whether the layer is one that layer_convolution() is for.
bool is_convolution(LayerKind kind);

/// For a layer that is given an input of this shape. Throws PictureError naming the layer that does not fit.
LayerConvolution layer_convolution(const Layer &layer, const TensorShape &input);

/// The weights that go with it: (in, out / groups, kh, kw).
std::vector<float> convolution_weight(const Layer &layer, const LayerConvolution &convolution);

}  // namespace upsample

#endif
