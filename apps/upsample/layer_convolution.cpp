// Rearranging the weights of layers: see layer_convolution.h.
#include "layer_convolution.h"

#include <algorithm>

namespace upsample {

using conv_transpose::Axis;
using conv_transpose::Problem;

namespace {

int64_t weight_channels(const Layer &layer) {
    return static_cast<int64_t>(layer.weight.size()) /
           (layer.out_channels * layer.kernel.height * layer.kernel.width);
}

/// (out, in, kh, kw) to (in, out, kh, kw), the kernel turned round where `turn`.
std::vector<float> transposed_weight(const std::vector<float> &weight, int64_t in, int64_t out, Size2 kernel,
                                     bool turn) {
    const int64_t taps = kernel.height * kernel.width;
    std::vector<float> result(weight.size());
    for (int64_t o = 0; o < out; ++o) {
        for (int64_t i = 0; i < in; ++i) {
            const float *from = &weight[(o * in + i) * taps];
            float *to = &result[(i * out + o) * taps];
            if (turn) {
                std::reverse_copy(from, from + taps, to);
            } else {
                std::copy_n(from, taps, to);
            }
        }
    }
    return result;
}

/// A convolution of stride s over the input is one of stride 1 over the input's s * s phases, each phase
/// being a channel; taps beyond the kernel are zero.
std::vector<float> phase_weight(const Layer &layer, int64_t in, int64_t s, Size2 phase_kernel) {
    std::vector<float> result(layer.out_channels * in * s * s * phase_kernel.height * phase_kernel.width);
    const Size2 k = layer.kernel;
    for (int64_t oi = 0; oi < layer.out_channels * in; ++oi) {
        for (int64_t y = 0; y < k.height; ++y) {
            for (int64_t x = 0; x < k.width; ++x) {
                const int64_t phase = (y % s) * s + x % s;
                const int64_t tap = (y / s) * phase_kernel.width + x / s;
                result[(oi * s * s + phase) * phase_kernel.height * phase_kernel.width + tap] =
                    layer.weight[(oi * k.height + y) * k.width + x];
            }
        }
    }
    return result;
}

LayerConvolution strided_convolution(const Layer &layer, const TensorShape &input) {
    const int64_t s = layer.stride.height;
    if (layer.stride.width != s || layer.dilation != Size2{1, 1} || layer.padding != Size2{0, 0})
        refuse_layer(layer, "a strided convolution must have equal strides, no dilation and no padding");
    if ((input.height - layer.kernel.height) % s != 0 || (input.width - layer.kernel.width) % s != 0)
        refuse_layer(layer, "its stride does not divide its input");
    const Size2 kernel = {(layer.kernel.height + s - 1) / s, (layer.kernel.width + s - 1) / s};
    LayerConvolution result;
    result.phases = s;
    result.problem.in_channels = input.channels * s * s;
    result.problem.height() = {(input.height + s - 1) / s, kernel.height, 1, kernel.height - 1};
    result.problem.width() = {(input.width + s - 1) / s, kernel.width, 1, kernel.width - 1};
    return result;
}

/// With the layer's own kernel over the whole input; padding and strides are still to be filled in.
LayerConvolution same_kernel(const Layer &layer, const TensorShape &input) {
    LayerConvolution result;
    result.problem.in_channels = input.channels;
    result.problem.height() = {input.height, layer.kernel.height, 1, 0, 0, layer.dilation.height};
    result.problem.width() = {input.width, layer.kernel.width, 1, 0, 0, layer.dilation.width};
    return result;
}

LayerConvolution stride1_convolution(const Layer &layer, const TensorShape &input) {
    LayerConvolution result = same_kernel(layer, input);
    Problem &p = result.problem;
    p.height().padding = layer.dilation.height * (layer.kernel.height - 1) - layer.padding.height;
    p.width().padding = layer.dilation.width * (layer.kernel.width - 1) - layer.padding.width;
    return result;
}

LayerConvolution deconvolution(const Layer &layer, const TensorShape &input) {
    LayerConvolution result = same_kernel(layer, input);
    Axis &y = result.problem.height(), &x = result.problem.width();
    y.stride = layer.stride.height, x.stride = layer.stride.width;
    y.padding = layer.padding.height, x.padding = layer.padding.width;
    y.output_padding = layer.output_padding.height, x.output_padding = layer.output_padding.width;
    return result;
}

/// Each output channel is a group of its own: of factor * factor input channels, or of one.
LayerConvolution enlarging(const Layer &layer, const TensorShape &input, int64_t group_channels) {
    if (input.channels % group_channels != 0)
        refuse_layer(layer, "its input's channels are no multiple of " + std::to_string(group_channels));
    LayerConvolution result;
    result.problem.in_channels = input.channels;
    result.problem.groups = result.problem.out_channels = input.channels / group_channels;
    result.problem.height() = {input.height, layer.factor, layer.factor};
    result.problem.width() = {input.width, layer.factor, layer.factor};
    return result;
}

}  // namespace

bool is_convolution(LayerKind kind) {
    return kind == LayerKind::convolution || kind == LayerKind::deconvolution || kind == LayerKind::inner_product ||
           kind == LayerKind::pixel_shuffle || kind == LayerKind::nearest;
}

LayerConvolution layer_convolution(const Layer &layer, const TensorShape &input) {
    LayerConvolution result;
    if (layer.kind == LayerKind::pixel_shuffle || layer.kind == LayerKind::nearest) {
        result = enlarging(layer, input, layer.kind == LayerKind::nearest ? 1 : layer.factor * layer.factor);
    } else {
        const int64_t expected = weight_channels(layer);
        const int64_t given = layer.kind == LayerKind::inner_product ? input.elements() : input.channels;
        if (given != expected)
            refuse_layer(layer, "has weights for " + std::to_string(expected) + " channels but its input has " +
                                    std::to_string(given));
        if (layer.kind == LayerKind::inner_product) {
            result = stride1_convolution(layer, {given, 1, 1});
        } else if (layer.kind == LayerKind::deconvolution) {
            result = deconvolution(layer, input);
        } else if (layer.stride == Size2{1, 1}) {
            result = stride1_convolution(layer, input);
        } else {
            result = strided_convolution(layer, input);
        }
        result.problem.out_channels = layer.out_channels;
    }
    result.options.epilogue = {!layer.bias.empty(), layer.activation, layer.negative_slope};
    try {
        result.problem.validate();
    } catch (const conv_transpose::InvalidProblem &error) {
        refuse_layer(layer, error.what());
    }
    return result;
}

std::vector<float> convolution_weight(const Layer &layer, const LayerConvolution &convolution) {
    const conv_transpose::Problem &problem = convolution.problem;
    if (layer.kind == LayerKind::nearest) return std::vector<float>(problem.weight_elements(), 1.0f);
    if (layer.kind == LayerKind::pixel_shuffle) {
        // Input channel i of a group is the sample at tap i of every square.
        const int64_t taps = layer.factor * layer.factor;
        std::vector<float> result(problem.weight_elements());
        for (int64_t channel = 0; channel < problem.in_channels; ++channel)
            result[channel * taps + channel % taps] = 1;
        return result;
    }
    if (convolution.phases > 1) {
        const int64_t in = problem.in_channels / (convolution.phases * convolution.phases);
        const Size2 kernel{problem.height().kernel, problem.width().kernel};
        return transposed_weight(phase_weight(layer, in, convolution.phases, kernel), problem.in_channels,
                                 layer.out_channels, kernel, true);
    }
    return transposed_weight(layer.weight, problem.in_channels, layer.out_channels, layer.kernel,
                             layer.kind != LayerKind::deconvolution);
}

}  // namespace upsample
