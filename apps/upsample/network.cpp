#include "network.h"

#include <algorithm>

#include "picture.h"

namespace upsample {

using conv_transpose::Activation;
using conv_transpose::Arguments;
using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::Plan;
using conv_transpose::PlanOptions;
using conv_transpose::Precision;
using conv_transpose::Problem;
using conv_transpose::Size2;

namespace {

bool has_weights(LayerKind kind) {
    return kind == LayerKind::convolution || kind == LayerKind::deconvolution ||
           kind == LayerKind::inner_product;
}

[[noreturn]] void refuse(const Layer &layer, const std::string &why) {
    throw PictureError("layer \"" + layer.name + "\": " + why);
}

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
    if (layer.stride.width != s || layer.dilation != Size2{1, 1} || layer.padding != Size2{0, 0}) {
        refuse(layer, "a strided convolution must have equal strides, no dilation and no padding");
    }
    if ((input.height - layer.kernel.height) % s != 0 || (input.width - layer.kernel.width) % s != 0) {
        refuse(layer, "its stride does not divide its input");
    }
    const Size2 kernel = {(layer.kernel.height + s - 1) / s, (layer.kernel.width + s - 1) / s};
    LayerConvolution result;
    result.phases = s;
    result.problem.in_channels = input.channels * s * s;
    result.problem.input = {(input.height + s - 1) / s, (input.width + s - 1) / s};
    result.problem.kernel = kernel;
    result.problem.padding = {kernel.height - 1, kernel.width - 1};
    result.weight = transposed_weight(phase_weight(layer, input.channels, s, kernel),
                                      result.problem.in_channels, layer.out_channels, kernel, true);
    return result;
}

LayerConvolution stride1_convolution(const Layer &layer, const TensorShape &input) {
    LayerConvolution result;
    result.problem.in_channels = input.channels;
    result.problem.input = {input.height, input.width};
    result.problem.kernel = layer.kernel;
    result.problem.dilation = layer.dilation;
    result.problem.padding = {layer.dilation.height * (layer.kernel.height - 1) - layer.padding.height,
                              layer.dilation.width * (layer.kernel.width - 1) - layer.padding.width};
    result.weight = transposed_weight(layer.weight, input.channels, layer.out_channels, layer.kernel, true);
    return result;
}

LayerConvolution deconvolution(const Layer &layer, const TensorShape &input) {
    LayerConvolution result;
    result.problem.in_channels = input.channels;
    result.problem.input = {input.height, input.width};
    result.problem.kernel = layer.kernel;
    result.problem.stride = layer.stride;
    result.problem.dilation = layer.dilation;
    result.problem.padding = layer.padding;
    result.problem.output_padding = layer.output_padding;
    result.weight = transposed_weight(layer.weight, input.channels, layer.out_channels, layer.kernel, false);
    return result;
}

TensorShape output_shape(const Layer &layer, const std::vector<TensorShape> &shapes) {
    const TensorShape &first = shapes[layer.inputs[0]];
    switch (layer.kind) {
        case LayerKind::convolution:
        case LayerKind::deconvolution:
        case LayerKind::inner_product: {
            const Size2 size = layer_convolution(layer, first).problem.output();
            return {layer.out_channels, size.height, size.width};
        }
        case LayerKind::relu:
            return first;
        case LayerKind::prelu:
            if (layer.weight.size() != 1 && static_cast<int64_t>(layer.weight.size()) != first.channels) {
                refuse(layer, "has neither one slope nor one a channel");
            }
            return first;
        case LayerKind::crop: {
            const TensorShape &second = shapes[layer.inputs[1]];
            if (first.channels != second.channels || layer.crop_top + second.height > first.height ||
                layer.crop_left + second.width > first.width) {
                refuse(layer, "crops more than there is");
            }
            return second;
        }
        case LayerKind::eltwise: {
            const TensorShape &second = shapes[layer.inputs[1]];
            if (first.channels != second.channels || first.height != second.height ||
                first.width != second.width) {
                refuse(layer, "its inputs differ in size");
            }
            return first;
        }
        case LayerKind::pooling:
            return {first.channels, 1, 1};
        case LayerKind::scale:
            if (shapes[layer.inputs[1]].elements() != first.channels)
                refuse(layer, "has not one factor a channel");
            return first;
    }
    refuse(layer, "is of an unknown kind");
}

}  // namespace

LayerConvolution layer_convolution(const Layer &layer, const TensorShape &input) {
    const int64_t expected = weight_channels(layer);
    const int64_t given = layer.kind == LayerKind::inner_product ? input.elements() : input.channels;
    if (given != expected) {
        refuse(layer, "has weights for " + std::to_string(expected) + " channels but its input has " +
                          std::to_string(given));
    }
    LayerConvolution result;
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
    result.options.epilogue = {!layer.bias.empty(), layer.activation, layer.negative_slope};
    try {
        result.problem.validate();
    } catch (const conv_transpose::InvalidProblem &error) {
        refuse(layer, error.what());
    }
    return result;
}

Network::Network(const std::string &param_file) try : model_(read_ncnn_model(param_file)) {
    find_geometry();
} catch (const PictureError &error) {
    const std::string message = error.what();
    throw PictureError(message.find(param_file) == 0 ? message : param_file + ": " + message);
}

/// Tries inputs of growing size until one fits, and infers from two of them how the output grows.
void Network::find_geometry() {
    std::vector<std::pair<int64_t, int64_t>> fitting;  // input side, output side
    std::string reason;
    constexpr int64_t largest = 256;
    for (int64_t side = 16; side <= largest && fitting.size() < 2; ++side) {
        try {
            const TensorShape output = shapes(side, side)[model_.output];
            if (output.channels != 3) throw PictureError("the network's output is not RGB");
            fitting.emplace_back(side, output.height);
        } catch (const PictureError &error) {
            reason = error.what();
        }
    }
    if (fitting.size() < 2) throw PictureError(reason);
    const auto [side, result] = fitting[0];
    alignment_ = static_cast<int>(fitting[1].first - side);
    const int64_t growth = fitting[1].second - result;
    scale_ = static_cast<int>(growth / alignment_);
    border_ = scale_ > 0 ? static_cast<int>((scale_ * side - result) / (2 * scale_)) : 0;
    if (growth % alignment_ != 0 || scale_ < 1 || border_ < 0 || scale_ * (side - 2 * border_) != result ||
        side % alignment_ != 0) {
        throw PictureError("the network does not enlarge pictures by a whole number");
    }
}

bool Network::sees_whole_picture() const {
    return std::any_of(model_.layers.begin(), model_.layers.end(),
                       [](const Layer &layer) { return layer.kind == LayerKind::pooling; });
}

std::vector<TensorShape> Network::shapes(int64_t height, int64_t width) const {
    std::vector<TensorShape> shapes(model_.blobs);
    shapes[model_.input] = {3, height, width};
    for (const Layer &layer : model_.layers) shapes[layer.output] = output_shape(layer, shapes);
    return shapes;
}

namespace {

/// The step after which each blob is no longer needed.
std::vector<int> last_uses(const NcnnModel &model) {
    std::vector<int> last(model.blobs, -1);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        for (const int blob : model.layers[i].inputs) last[blob] = static_cast<int>(i);
    }
    last[model.output] = static_cast<int>(model.layers.size());
    return last;
}

struct Slots {
    std::vector<int> of_blob;
    std::vector<std::size_t> bytes;
};

/// Blobs that are not alive at the same time share memory.
Slots assign_slots(const NcnnModel &model, const std::vector<TensorShape> &shapes) {
    Slots slots;
    slots.of_blob.resize(model.blobs);
    std::vector<int> free;
    const auto take = [&](int blob) {
        if (free.empty()) {
            free.push_back(static_cast<int>(slots.bytes.size()));
            slots.bytes.push_back(0);
        }
        const int slot = free.back();
        free.pop_back();
        slots.of_blob[blob] = slot;
        slots.bytes[slot] = std::max<std::size_t>(slots.bytes[slot], shapes[blob].elements() * sizeof(float));
    };
    const std::vector<int> last = last_uses(model);
    take(model.input);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const Layer &layer = model.layers[i];
        take(layer.output);
        for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
            const int blob = layer.inputs[k];
            const bool repeated = k > 0 && blob == layer.inputs[0];
            if (last[blob] == static_cast<int>(i) && !repeated) free.push_back(slots.of_blob[blob]);
        }
    }
    return slots;
}

}  // namespace

std::size_t Network::activation_bytes(int64_t height, int64_t width) const {
    std::size_t total = 0;
    for (const std::size_t bytes : assign_slots(model_, shapes(height, width)).bytes) total += bytes;
    return total;
}

struct NetworkRun::Step {
    const Layer *layer = nullptr;
    int64_t phases = 1;
    std::optional<Plan> plan;
    DeviceMemory weight, bias;
    bool packed = false;
};

NetworkRun::NetworkRun(const Network &network, int64_t height, int64_t width, Device device,
                       Precision precision)
    : network_(network), device_(device), shapes_(network.shapes(height, width)) {
    const NcnnModel &model = network.model();
    const Slots slots = assign_slots(model, shapes_);
    slot_of_blob_ = slots.of_blob;
    for (const std::size_t bytes : slots.bytes) slots_.emplace_back(device, bytes);

    std::size_t workspace_bytes = 0, phase_bytes = 0;
    for (const Layer &layer : model.layers) {
        Step step;
        step.layer = &layer;
        if (has_weights(layer.kind)) {
            LayerConvolution convolution = layer_convolution(layer, shapes_[layer.inputs[0]]);
            convolution.options.device = device;
            convolution.options.precision = precision;
            step.plan.emplace(convolution.problem, convolution.options);
            step.phases = convolution.phases;
            if (step.phases > 1) {
                phase_bytes =
                    std::max<std::size_t>(phase_bytes, convolution.problem.input_elements() * sizeof(float));
            }
            DeviceMemory plain =
                copy_to_device(device, convolution.weight.data(), convolution.weight.size() * sizeof(float));
            step.packed = step.plan->packed_weight_bytes() > 0;
            if (step.packed) {
                step.weight = DeviceMemory(device, step.plan->packed_weight_bytes());
                check(step.plan->pack_weight(plain.floats(), step.weight.data()));
                conv_transpose::synchronize(device);  // the plain weights go now
            } else {
                step.weight = std::move(plain);
            }
            step.bias = copy_to_device(device, layer.bias.data(), layer.bias.size() * sizeof(float));
            workspace_bytes = std::max(workspace_bytes, step.plan->workspace_bytes(step.packed));
        }
        steps_.push_back(std::move(step));
    }
    workspace_ = DeviceMemory(device, workspace_bytes);
    phases_ = DeviceMemory(device, phase_bytes);
}

NetworkRun::~NetworkRun() = default;

void NetworkRun::run(const float *input) {
    const int blob = network_.model().input;
    slots_[slot_of_blob_[blob]].copy_from_host(input, shapes_[blob].elements() * sizeof(float));
    for (Step &step : steps_) run_step(step);
}

void NetworkRun::copy_output(int channel, int64_t rows, int64_t columns, float *target, int64_t pitch) const {
    const int blob = network_.model().output;
    const TensorShape &shape = shapes_[blob];
    slots_[slot_of_blob_[blob]].copy_rows_to_host(target, pitch * sizeof(float),
                                                  channel * shape.height * shape.width * sizeof(float),
                                                  shape.width * sizeof(float), columns * sizeof(float), rows);
}

namespace {

/// Sample (c, y, x) goes to channel (c, y mod s, x mod s); what lies beyond the input is zero.
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

/// The layers that are not worth a kernel.
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
            refuse(layer, "is not a light layer");
    }
}

}  // namespace

void NetworkRun::run_step(Step &step) {
    if (!step.plan) return run_on_host(step);
    const int input_blob = step.layer->inputs[0];
    const DeviceMemory &input = slots_[slot_of_blob_[input_blob]];
    Arguments arguments;
    arguments.input = input.floats();
    if (step.phases > 1) {
        const Problem &problem = step.plan->problem();
        host_inputs_.resize(1);
        host_inputs_[0].resize(shapes_[input_blob].elements());
        host_output_.resize(problem.input_elements());
        input.copy_to_host(host_inputs_[0].data(), host_inputs_[0].size() * sizeof(float));
        split_phases(host_inputs_[0].data(), shapes_[input_blob], step.phases, problem.input,
                     host_output_.data());
        phases_.copy_from_host(host_output_.data(), host_output_.size() * sizeof(float));
        arguments.input = phases_.floats();
    }
    if (step.packed) {
        arguments.packed_weight = step.weight.data();
    } else {
        arguments.weight = step.weight.floats();
    }
    arguments.bias = step.bias.floats();
    arguments.output = slots_[slot_of_blob_[step.layer->output]].floats();
    check(step.plan->run(arguments, {workspace_.data(), workspace_.bytes()}));
}

void NetworkRun::run_on_host(const Step &step) {
    const Layer &layer = *step.layer;
    host_inputs_.resize(2);
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        host_inputs_[i].resize(shapes_[layer.inputs[i]].elements());
        slots_[slot_of_blob_[layer.inputs[i]]].copy_to_host(host_inputs_[i].data(),
                                                            host_inputs_[i].size() * sizeof(float));
    }
    const TensorShape &output_shape = shapes_[layer.output];
    host_output_.resize(output_shape.elements());
    light_layer(layer, host_inputs_[0].data(), shapes_[layer.inputs[0]], host_inputs_[1].data(), output_shape,
                host_output_.data());
    slots_[slot_of_blob_[layer.output]].copy_from_host(host_output_.data(),
                                                       host_output_.size() * sizeof(float));
}

}  // namespace upsample
