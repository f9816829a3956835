// Memory and steps of a run: see network_run.h.
#include "network_run.h"

#include <algorithm>
#include <optional>

#include "light_layers.h"

namespace upsample {

using conv_transpose::Arguments;
using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::Plan;
using conv_transpose::Precision;
using conv_transpose::Problem;

namespace {

bool has_weights(LayerKind kind) {
    return kind == LayerKind::convolution || kind == LayerKind::deconvolution ||
           kind == LayerKind::inner_product;
}

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

std::size_t activation_bytes(const Network &network, int64_t height, int64_t width) {
    std::size_t total = 0;
    for (const std::size_t bytes : assign_slots(network.model(), network.shapes(height, width)).bytes)
        total += bytes;
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
        const Step &step = steps_.emplace_back(prepared(layer, precision));
        if (!step.plan) continue;
        workspace_bytes = std::max(workspace_bytes, step.plan->workspace_bytes(step.packed));
        if (step.phases > 1)
            phase_bytes = std::max(phase_bytes, step.plan->problem().input_elements() * sizeof(float));
    }
    workspace_ = DeviceMemory(device, workspace_bytes);
    phases_ = DeviceMemory(device, phase_bytes);
}

NetworkRun::Step NetworkRun::prepared(const Layer &layer, Precision precision) const {
    Step step;
    step.layer = &layer;
    if (!has_weights(layer.kind)) return step;
    LayerConvolution convolution = layer_convolution(layer, shapes_[layer.inputs[0]]);
    convolution.options.device = device_;
    convolution.options.precision = precision;
    step.plan.emplace(convolution.problem, convolution.options);
    step.phases = convolution.phases;
    step.weight =
        copy_to_device(device_, convolution.weight.data(), convolution.weight.size() * sizeof(float));
    step.packed = step.plan->packed_weight_bytes() > 0;
    if (step.packed) {
        DeviceMemory packed(device_, step.plan->packed_weight_bytes());
        check(step.plan->pack_weight(step.weight.floats(), packed.data()));
        conv_transpose::synchronize(device_);  // the plain weights go now
        step.weight = std::move(packed);
    }
    step.bias = copy_to_device(device_, layer.bias.data(), layer.bias.size() * sizeof(float));
    return step;
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
        split_phases(host_inputs_[0].data(), shapes_[input_blob], step.phases, {problem.height().input, problem.width().input},
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
