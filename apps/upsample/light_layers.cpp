// Layers without weights, element by element: see light_layers.h.
#include "light_layers.h"

#include <algorithm>

#include "cubic.h"
#include "parallel.h"

namespace upsample {

namespace {

constexpr int64_t worth_a_thread = 1 << 18;  // elements

float combined(EltwiseOperation operation, float a, float b) {
    switch (operation) {
        case EltwiseOperation::product:
            return a * b;
        case EltwiseOperation::sum:
            return a + b;
        case EltwiseOperation::difference:
            return a - b;
        case EltwiseOperation::maximum:
            return std::max(a, b);
        case EltwiseOperation::minimum:
            break;
    }
    return std::min(a, b);
}

void rectify(const Layer &layer, const float *input, int64_t plane, int64_t channel, float *output) {
    const std::size_t which = layer.weight.size() > 1 ? channel : 0;
    const float slope = layer.weight.empty() ? layer.negative_slope : layer.weight[which];
    for (int64_t i = 0; i < plane; ++i) {  // a product for both signs, so that the compiler may use vectors
        const float positive = input[i] > 0 ? input[i] : 0, negative = input[i] > 0 ? 0 : input[i];
        output[i] = positive + negative * slope;
    }
}

void multiply(const float *input, float factor, int64_t plane, float *output) {
    for (int64_t i = 0; i < plane; ++i) output[i] = input[i] * factor;
}

void combine(const Layer &layer, const float *a, const float *b, int64_t plane, float *output) {
    if (!layer.coefficients.empty()) {
        const float of_a = layer.coefficients[0], of_b = layer.coefficients[1];
        for (int64_t i = 0; i < plane; ++i) output[i] = a[i] * of_a + b[i] * of_b;
    } else if (layer.operation == EltwiseOperation::sum) {
        for (int64_t i = 0; i < plane; ++i) output[i] = a[i] + b[i];
    } else {
        for (int64_t i = 0; i < plane; ++i) output[i] = combined(layer.operation, a[i], b[i]);
    }
}

void interpolate(const Layer &layer, const Tensor &input, int64_t channel, const TensorShape &size, float *output) {
    const int64_t width = input.shape.width;
    const float *plane = input.data + channel * input.shape.height * width;
    std::vector<Cubic> columns;
    for (int64_t x = 0; x < size.width; ++x) columns.emplace_back(x, layer.ratio, width);
    std::vector<float> row(width);
    for (int64_t y = 0; y < size.height; ++y) {
        const Cubic rows(y, layer.ratio, input.shape.height);
        std::fill(row.begin(), row.end(), 0.0f);
        for (int k = 0; k < 4; ++k) {
            const float *from = plane + rows.from[k] * width;
            for (int64_t x = 0; x < width; ++x) row[x] += rows.weight[k] * from[x];
        }
        for (const Cubic &c : columns)
            *output++ = row[c.from[0]] * c.weight[0] + row[c.from[1]] * c.weight[1] + row[c.from[2]] * c.weight[2] +
                        row[c.from[3]] * c.weight[3];
    }
}

void crop(const Layer &layer, const Tensor &input, int64_t channel, const TensorShape &size, float *output) {
    for (int64_t y = 0; y < size.height; ++y) {
        const float *row = input.data + (channel * input.shape.height + y + layer.crop_top) * input.shape.width;
        output = std::copy_n(row + layer.crop_left, size.width, output);
    }
}

/// A channel of what the inputs are when laid one after another.
void join(const std::vector<Tensor> &inputs, int64_t channel, int64_t plane, float *output) {
    for (const Tensor &input : inputs) {
        if (channel < input.shape.channels) {
            std::copy_n(input.data + channel * plane, plane, output);
            return;
        }
        channel -= input.shape.channels;
    }
}

/// One channel of the output.
void light_channel(const Layer &layer, const std::vector<Tensor> &inputs, int64_t channel, const TensorShape &size,
                   float *output) {
    const Tensor &first = inputs[0];
    const int64_t plane = first.shape.height * first.shape.width;
    const float *input = first.data + channel * plane;
    switch (layer.kind) {
        case LayerKind::relu:
        case LayerKind::prelu:
            return rectify(layer, input, plane, channel, output);
        case LayerKind::crop:
            return crop(layer, first, channel, size, output);
        case LayerKind::concat:
            return join(inputs, channel, plane, output);
        case LayerKind::eltwise:
            if (inputs[1].shape.elements() < first.shape.elements())
                return multiply(input, inputs[1].data[channel], plane, output);
            return combine(layer, input, inputs[1].data + channel * plane, plane, output);
        case LayerKind::bicubic:
            return interpolate(layer, first, channel, size, output);
        case LayerKind::pooling: {
            double sum = 0;
            for (int64_t i = 0; i < plane; ++i) sum += input[i];
            *output = static_cast<float>(sum / static_cast<double>(plane));
            return;
        }
        case LayerKind::scale:
            return multiply(input, inputs[1].data[channel], plane, output);
        default:
            refuse_layer(layer, "is not a light layer");
    }
}

}  // namespace

void split_phases(const float *input, const TensorShape &shape, int64_t s, Size2 size, float *output) {
    for (int64_t channel = 0; channel < shape.channels * s * s; ++channel) {
        const int64_t c = channel / (s * s), dy = channel / s % s, dx = channel % s;
        const int64_t rows = (shape.height - dy + s - 1) / s, columns = (shape.width - dx + s - 1) / s;
        for (int64_t y = 0; y < size.height; ++y, output += size.width) {
            const float *row = input + (c * shape.height + y * s + dy) * shape.width + dx;
            const int64_t inside = y < rows ? columns : 0;
            if (s == 2) {
                for (int64_t x = 0; x < inside; ++x) output[x] = row[2 * x];
            } else {
                for (int64_t x = 0; x < inside; ++x) output[x] = row[s * x];
            }
            std::fill(output + inside, output + size.width, 0.0f);
        }
    }
}

bool works_in_place(LayerKind kind) {
    return kind == LayerKind::relu || kind == LayerKind::prelu || kind == LayerKind::eltwise ||
           kind == LayerKind::scale;
}

void light_layer(const Layer &layer, const std::vector<Tensor> &inputs, const TensorShape &size, float *output,
                 int threads) {
    const int64_t most = std::max<int64_t>(1, inputs[0].shape.elements() / worth_a_thread);
    parallel_parts(size.channels, static_cast<int>(std::min<int64_t>(threads, most)), [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel)
            light_channel(layer, inputs, channel, size, output + channel * size.height * size.width);
    });
}

}  // namespace upsample
