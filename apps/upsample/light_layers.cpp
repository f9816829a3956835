// Layers without weights, element by element: see light_layers.h.
#include "light_layers.h"

#include <algorithm>

namespace upsample {

void split_phases(const float *input, const TensorShape &shape, int64_t s, Size2 size, float *output) {
    for (int64_t channel = 0; channel < shape.channels * s * s; ++channel) {
        const int64_t c = channel / (s * s), dy = channel / s % s, dx = channel % s;
        for (int64_t y = 0; y < size.height; ++y) {
            for (int64_t x = 0; x < size.width; ++x) {
                const bool inside = y * s + dy < shape.height && x * s + dx < shape.width;
                *output++ = inside ? input[(c * shape.height + y * s + dy) * shape.width + x * s + dx] : 0;
            }
        }
    }
}

void light_layer(const Layer &layer, const float *first, const TensorShape &shape, const float *second,
                 const TensorShape &output_shape, float *output) {
    const int64_t plane = shape.height * shape.width;
    switch (layer.kind) {
        case LayerKind::relu:
        case LayerKind::prelu:
            for (int64_t i = 0; i < shape.elements(); ++i) {
                const std::size_t channel = layer.weight.size() > 1 ? i / plane : 0;
                const float slope = layer.weight.empty() ? layer.negative_slope : layer.weight[channel];
                output[i] = first[i] > 0 ? first[i] : first[i] * slope;
            }
            return;
        case LayerKind::crop:
            for (int64_t c = 0; c < output_shape.channels; ++c) {
                for (int64_t y = 0; y < output_shape.height; ++y) {
                    const float *row =
                        first + (c * shape.height + y + layer.crop_top) * shape.width + layer.crop_left;
                    output = std::copy_n(row, output_shape.width, output);
                }
            }
            return;
        case LayerKind::eltwise:
            for (int64_t i = 0; i < shape.elements(); ++i) {
                switch (layer.operation) {
                    case EltwiseOperation::product:
                        output[i] = first[i] * second[i];
                        break;
                    case EltwiseOperation::sum:
                        output[i] = first[i] + second[i];
                        break;
                    case EltwiseOperation::maximum:
                        output[i] = std::max(first[i], second[i]);
                        break;
                }
            }
            return;
        case LayerKind::pooling:
            for (int64_t c = 0; c < shape.channels; ++c) {
                double sum = 0;
                for (int64_t i = 0; i < plane; ++i) sum += first[c * plane + i];
                output[c] = static_cast<float>(sum / static_cast<double>(plane));
            }
            return;
        case LayerKind::scale:
            for (int64_t i = 0; i < shape.elements(); ++i) output[i] = first[i] * second[i / plane];
            return;
        default:
            refuse_layer(layer, "is not a light layer");
    }
}

}  // namespace upsample
