// Memory and steps of a run on the CPU: see host_network.h.
#include "host_network.h"

#include <algorithm>
#include <cstring>

#include "light_layers.h"

namespace upsample {

using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::Plan;
using conv_transpose::Problem;

namespace {

/// With channels first some channels of a blob are a dense blob.
std::vector<BlobPlace> places_of(const NcnnModel &model, const std::vector<TensorShape> &shapes) {
    return places_joined(model, shapes, [](int) { return true; });
}

BlobSlots slots_of(const NcnnModel &model, const std::vector<TensorShape> &shapes, const std::vector<BlobPlace> &places) {
    std::vector<std::size_t> bytes;
    for (const TensorShape &shape : shapes) bytes.push_back(shape.elements() * sizeof(float));
    std::vector<bool> in_place;
    for (const Layer &layer : model.layers) {
        const auto is_whole = [&](int blob) { return places[blob].root == blob; };
        in_place.push_back(works_in_place(layer.kind) && is_whole(layer.output) && is_whole(layer.inputs[0]));
    }
    std::vector<std::size_t> phases;  // into which a layer takes its input apart
    for (const Layer &layer : model.layers) {
        if (!is_convolution(layer.kind)) {
            phases.push_back(0);
            continue;
        }
        const LayerConvolution convolution = layer_convolution(layer, shapes[layer.inputs[0]]);
        phases.push_back(convolution.phases > 1 ? convolution.problem.input_elements() * sizeof(float) : 0);
    }
    return assign_slots(model, bytes, in_place, roots_of(places), phases);
}

LayerConvolution on_host(const Layer &layer, const TensorShape &input) {
    LayerConvolution convolution = layer_convolution(layer, input);
    convolution.options.device = Device::cpu;
    return convolution;
}

}  // namespace

std::size_t HostNetwork::blob_bytes(const Network &network, int64_t height, int64_t width) {
    const std::vector<TensorShape> shapes = network.shapes(height, width);
    return slots_of(network.model(), shapes, places_of(network.model(), shapes)).total_bytes();
}

std::size_t HostNetwork::bytes(const Network &network, int64_t height, int64_t width, const RunOptions &) {
    const NcnnModel &model = network.model();
    const std::vector<TensorShape> shapes = network.shapes(height, width);
    std::size_t weights = 0, workspace = 0;
    for (const Layer &layer : model.layers) {
        if (!is_convolution(layer.kind)) continue;
        const LayerConvolution convolution = on_host(layer, shapes[layer.inputs[0]]);
        const Plan plan(convolution.problem, convolution.options);
        const std::size_t packed = plan.packed_weight_bytes(),
                          plain = convolution.problem.weight_elements() * sizeof(float);
        weights += (packed > 0 ? packed : plain) + layer.weight.size() * sizeof(float);  // here, and in the model
        workspace = std::max(workspace, plan.workspace_bytes(packed > 0) + 2 * plain);
    }
    return blob_bytes(network, height, width) + weights + workspace;
}

HostNetwork::HostNetwork(const Network &network, int64_t height, int64_t width, const RunOptions &options)
    : NetworkRun(network, height, width, options),
      threads_(options.threads),
      shapes_(network.shapes(height, width)),
      places_(places_of(network.model(), shapes_)),
      slots_(slots_of(network.model(), shapes_, places_)) {
    for (const std::size_t bytes : slots_.bytes) memory_.emplace_back(Device::cpu, bytes);
    std::size_t workspace_bytes = 0;
    for (const Layer &layer : network.model().layers) {
        std::optional<LayerPlan> &plan = plans_.emplace_back();
        if (!is_convolution(layer.kind)) continue;
        const LayerConvolution convolution = on_host(layer, shapes_[layer.inputs[0]]);
        plan.emplace(convolution, convolution_weight(layer, convolution), layer.bias);
        workspace_bytes = std::max(workspace_bytes, plan->workspace_bytes());
    }
    workspace_ = DeviceMemory(Device::cpu, workspace_bytes);
}

void HostNetwork::begin(int, const float *input, const OutputPart &part) {
    const NcnnModel &model = network().model();
    std::memcpy(blob(model.input), input, shapes_[model.input].elements() * sizeof(float));
    for (std::size_t i = 0; i < model.layers.size(); ++i) run_layer(i);
    const TensorShape &shape = shapes_[model.output];
    for (int64_t c = 0; c < shape.channels; ++c) {
        for (int64_t y = 0; y < part.rows; ++y) {
            const float *from = blob(model.output) + (c * shape.height + part.top + y) * shape.width + part.left;
            std::copy_n(from, part.columns, part.target + c * part.plane + y * part.pitch);
        }
    }
}

float *HostNetwork::blob(int number) const {
    const TensorShape &shape = shapes_[number];
    return memory_[slots_.of_blob[number]].floats() + places_[number].channel * shape.height * shape.width;
}

void HostNetwork::run_layer(std::size_t number) {
    const Layer &layer = network().model().layers[number];
    if (layer.kind == LayerKind::concat && places_[layer.inputs[0]].root == places_[layer.output].root) return;  // they lie there
    const std::optional<LayerPlan> &plan = plans_[number];
    if (!plan) {
        std::vector<Tensor> inputs;
        for (const int input : layer.inputs) inputs.push_back({blob(input), shapes_[input]});
        return light_layer(layer, inputs, shapes_[layer.output], blob(layer.output), threads_);
    }
    const float *input = blob(layer.inputs[0]);
    if (plan->phases() > 1) {
        const Problem &problem = plan->problem();
        float *const phases = memory_[slots_.of_layer[number]].floats();
        split_phases(input, shapes_[layer.inputs[0]], plan->phases(), {problem.height().input, problem.width().input},
                     phases);
        input = phases;
    }
    plan->run(input, blob(layer.output), workspace_, {});
}

}  // namespace upsample
