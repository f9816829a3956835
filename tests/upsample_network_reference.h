// The layers of networks in double precision, written out as plain loops over ncnn's own definitions.
#ifndef UPSAMPLE_TESTS_NETWORK_REFERENCE_H
#define UPSAMPLE_TESTS_NETWORK_REFERENCE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ncnn_model.h"

namespace upsample::testing {

using conv_transpose::Activation;

struct Tensor {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<double> values;
    Tensor() = default;
    Tensor(int64_t c, int64_t h, int64_t w) : channels(c), height(h), width(w), values(c * h * w) {}
    double &at(int64_t c, int64_t y, int64_t x) { return values[(c * height + y) * width + x]; }
    double at(int64_t c, int64_t y, int64_t x) const { return values[(c * height + y) * width + x]; }
};

inline double activated(const Layer &layer, double value) {
    switch (layer.activation) {
        case Activation::relu:
            return std::max(0.0, value);
        case Activation::leaky_relu:
            return value > 0 ? value : value * layer.negative_slope;
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-value));
        default:
            return value;
    }
}

inline void finish(const Layer &layer, Tensor &output) {
    for (int64_t c = 0; c < output.channels; ++c) {
        for (int64_t i = 0; i < output.height * output.width; ++i) {
            double &value = output.values[c * output.height * output.width + i];
            value = activated(layer, value + (layer.bias.empty() ? 0 : layer.bias[c]));
        }
    }
}

inline Tensor convolution(const Layer &layer, const Tensor &in) {
    const auto k = layer.kernel, s = layer.stride, d = layer.dilation, p = layer.padding;
    Tensor out(layer.out_channels, (in.height + 2 * p.height - d.height * (k.height - 1) - 1) / s.height + 1,
               (in.width + 2 * p.width - d.width * (k.width - 1) - 1) / s.width + 1);
    for (int64_t o = 0; o < out.channels; ++o)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x)
                for (int64_t i = 0; i < in.channels; ++i)
                    for (int64_t ky = 0; ky < k.height; ++ky)
                        for (int64_t kx = 0; kx < k.width; ++kx) {
                            const int64_t v = y * s.height + ky * d.height - p.height;
                            const int64_t u = x * s.width + kx * d.width - p.width;
                            if (v < 0 || v >= in.height || u < 0 || u >= in.width) continue;
                            const int64_t weight = ((o * in.channels + i) * k.height + ky) * k.width + kx;
                            out.at(o, y, x) += in.at(i, v, u) * layer.weight[weight];
                        }
    finish(layer, out);
    return out;
}

inline Tensor deconvolution(const Layer &layer, const Tensor &in) {
    const auto k = layer.kernel, s = layer.stride, p = layer.padding;
    Tensor out(layer.out_channels, (in.height - 1) * s.height + k.height - 2 * p.height,
               (in.width - 1) * s.width + k.width - 2 * p.width);
    for (int64_t o = 0; o < out.channels; ++o)
        for (int64_t i = 0; i < in.channels; ++i)
            for (int64_t y = 0; y < in.height; ++y)
                for (int64_t x = 0; x < in.width; ++x)
                    for (int64_t ky = 0; ky < k.height; ++ky)
                        for (int64_t kx = 0; kx < k.width; ++kx) {
                            const int64_t v = y * s.height + ky - p.height, u = x * s.width + kx - p.width;
                            if (v < 0 || v >= out.height || u < 0 || u >= out.width) continue;
                            const int64_t weight = ((o * in.channels + i) * k.height + ky) * k.width + kx;
                            out.at(o, v, u) += in.at(i, y, x) * layer.weight[weight];
                        }
    finish(layer, out);
    return out;
}

inline Tensor inner_product(const Layer &layer, const Tensor &in) {
    Tensor out(layer.out_channels, 1, 1);
    for (int64_t o = 0; o < out.channels; ++o)
        for (std::size_t i = 0; i < in.values.size(); ++i) {
            out.values[o] += in.values[i] * layer.weight[o * in.values.size() + i];
        }
    finish(layer, out);
    return out;
}

inline double combined(const Layer &layer, double a, double b) {
    if (!layer.coefficients.empty()) return a * layer.coefficients[0] + b * layer.coefficients[1];
    switch (layer.operation) {
        case EltwiseOperation::product:
            return a * b;
        case EltwiseOperation::sum:
            return a + b;
        case EltwiseOperation::difference:
            return a - b;
        case EltwiseOperation::maximum:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

inline Tensor light(const Layer &layer, const Tensor &a, const Tensor &b) {
    const int64_t plane = a.height * a.width;
    Tensor out = a;
    if (layer.kind == LayerKind::pooling) out = Tensor(a.channels, 1, 1);
    if (layer.kind == LayerKind::crop) {
        const bool to_size = layer.inputs.size() > 1;
        out = Tensor(a.channels, to_size ? b.height : a.height - layer.crop_top - layer.crop_bottom,
                     to_size ? b.width : a.width - layer.crop_left - layer.crop_right);
    }
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x) {
                double &value = out.at(c, y, x);
                switch (layer.kind) {
                    case LayerKind::relu:
                        value = value > 0 ? value : value * layer.negative_slope;
                        break;
                    case LayerKind::prelu:
                        value = value > 0 ? value : value * layer.weight[c % layer.weight.size()];
                        break;
                    case LayerKind::crop:
                        value = a.at(c, y + layer.crop_top, x + layer.crop_left);
                        break;
                    case LayerKind::scale:
                        value *= b.values[c];
                        break;
                    case LayerKind::pooling:
                        for (int64_t i = 0; i < plane; ++i) value += a.values[c * plane + i] / plane;
                        break;
                    case LayerKind::eltwise:
                        value = combined(layer, value, b.height == 1 ? b.values[c] : b.at(c, y, x));
                        break;
                    default:
                        ADD_FAILURE() << "not a light layer";
                }
            }
    return out;
}

inline Tensor shuffle(const Layer &layer, const Tensor &in) {
    const int64_t r = layer.factor;
    Tensor out(in.channels / (r * r), in.height * r, in.width * r);
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x)
                out.at(c, y, x) = in.at(c * r * r + y % r * r + x % r, y / r, x / r);
    return out;
}

inline Tensor nearest(const Layer &layer, const Tensor &in) {
    Tensor out(in.channels, in.height * layer.factor, in.width * layer.factor);
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x) out.at(c, y, x) = in.at(c, y / layer.factor, x / layer.factor);
    return out;
}

/// A row of ncnn's bicubic interpolation.
inline std::vector<double> cubic_line(const std::vector<double> &line, double ratio) {
    const auto weight = [](double x) {
        const double a = -0.75;
        x = std::abs(x);
        if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
        return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0.0;
    };
    std::vector<double> result(static_cast<std::size_t>(line.size() * ratio));
    for (std::size_t o = 0; o < result.size(); ++o) {
        const double at = (o + 0.5) / ratio - 0.5;
        for (int i = static_cast<int>(std::floor(at)) - 1; i <= static_cast<int>(std::floor(at)) + 2; ++i)
            result[o] += weight(at - i) * line[std::clamp<int>(i, 0, static_cast<int>(line.size()) - 1)];
    }
    return result;
}

inline Tensor bicubic(const Layer &layer, const Tensor &in) {
    Tensor wide(in.channels, in.height, static_cast<int64_t>(in.width * layer.ratio));
    Tensor out(in.channels, static_cast<int64_t>(in.height * layer.ratio), wide.width);
    for (int64_t c = 0; c < in.channels; ++c) {
        for (int64_t y = 0; y < in.height; ++y) {
            const auto row = in.values.begin() + (c * in.height + y) * in.width;
            const std::vector<double> line = cubic_line({row, row + in.width}, layer.ratio);
            std::copy(line.begin(), line.end(), wide.values.begin() + (c * in.height + y) * wide.width);
        }
        for (int64_t x = 0; x < wide.width; ++x) {
            std::vector<double> column;
            for (int64_t y = 0; y < in.height; ++y) column.push_back(wide.at(c, y, x));
            const std::vector<double> line = cubic_line(column, layer.ratio);
            for (int64_t y = 0; y < out.height; ++y) out.at(c, y, x) = line[y];
        }
    }
    return out;
}

inline Tensor joined(const std::vector<const Tensor *> &inputs) {
    Tensor out = *inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        out.channels += inputs[i]->channels;
        out.values.insert(out.values.end(), inputs[i]->values.begin(), inputs[i]->values.end());
    }
    return out;
}

inline Tensor reference(const NcnnModel &model, const Tensor &input) {
    std::vector<Tensor> blobs(model.blobs);
    blobs[model.input] = input;
    for (const Layer &layer : model.layers) {
        const Tensor &first = blobs[layer.inputs[0]];
        switch (layer.kind) {
            case LayerKind::convolution:
                blobs[layer.output] = convolution(layer, first);
                break;
            case LayerKind::deconvolution:
                blobs[layer.output] = deconvolution(layer, first);
                break;
            case LayerKind::inner_product:
                blobs[layer.output] = inner_product(layer, first);
                break;
            case LayerKind::pixel_shuffle:
                blobs[layer.output] = shuffle(layer, first);
                break;
            case LayerKind::nearest:
                blobs[layer.output] = nearest(layer, first);
                break;
            case LayerKind::bicubic:
                blobs[layer.output] = bicubic(layer, first);
                break;
            case LayerKind::concat: {
                std::vector<const Tensor *> inputs;
                for (const int input : layer.inputs) inputs.push_back(&blobs[input]);
                blobs[layer.output] = joined(inputs);
                break;
            }
            default:
                blobs[layer.output] = light(layer, first, blobs[layer.inputs.back()]);
        }
    }
    return blobs[model.output];
}

}  // namespace upsample::testing

#endif
