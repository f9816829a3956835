// Memory and steps of a run: see network_run.h.
#include "network_run.h"

#include <algorithm>
#include <optional>

namespace upsample {

using conv_transpose::Arguments;
using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::Plan;
using conv_transpose::Precision;
using conv_transpose::Problem;

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
        const bool ends = last[layer.inputs[0]] == static_cast<int>(i);
        const bool in_place = ends && works_in_place(layer.kind);
        if (in_place) {
            slots.of_blob[layer.output] = slots.of_blob[layer.inputs[0]];
        } else {
            take(layer.output);
        }
        std::vector<int> ended;
        for (std::size_t k = in_place ? 1 : 0; k < layer.inputs.size(); ++k) {
            const int blob = layer.inputs[k];
            if (last[blob] != static_cast<int>(i) || (in_place && blob == layer.inputs[0])) continue;
            if (std::find(ended.begin(), ended.end(), blob) == ended.end()) ended.push_back(blob);
        }
        for (const int blob : ended) free.push_back(slots.of_blob[blob]);
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

std::size_t run_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options) {
    const NcnnModel &model = network.model();
    const std::vector<TensorShape> shapes = network.shapes(height, width);
    std::size_t weights = 0, workspace = 0, phases = 0, staged = 0;
    for (const Layer &layer : model.layers) {
        std::size_t elements = shapes[layer.output].elements();
        for (const int input : layer.inputs) elements += shapes[input].elements();
        if (!is_convolution(layer.kind)) {
            if (options.device == Device::cuda) staged = std::max(staged, elements * sizeof(float));
            continue;
        }
        LayerConvolution convolution = layer_convolution(layer, shapes[layer.inputs[0]]);
        convolution.options.device = options.device;
        convolution.options.precision = options.precision;
        const Plan plan(convolution.problem, convolution.options);
        const std::size_t packed = plan.packed_weight_bytes(),
                          plain = convolution.problem.weight_elements() * sizeof(float);
        weights += (packed > 0 ? packed : plain) + layer.weight.size() * sizeof(float);  // here, and in the model
        workspace = std::max(workspace, plan.workspace_bytes(packed > 0) + 2 * plain);
        if (convolution.phases > 1) phases = std::max(phases, 3 * convolution.problem.input_elements() * sizeof(float));
    }
    return activation_bytes(network, height, width) + weights + workspace + phases + staged;
}

NetworkRun::NetworkRun(const Network &network, int64_t height, int64_t width, const RunOptions &options)
    : network_(network), options_(options), shapes_(network.shapes(height, width)) {
    const NcnnModel &model = network.model();
    const int64_t wanted = network.scale() * (height - 2 * network.border());
    output_border_ = (shapes_[model.output].height - wanted) / 2;
    const Slots slots = assign_slots(model, shapes_);
    slot_of_blob_ = slots.of_blob;
    for (const std::size_t bytes : slots.bytes) slots_.emplace_back(options.device, bytes);

    std::size_t workspace_bytes = 0, phase_bytes = 0;
    for (const Layer &layer : model.layers) {
        const Step &step = steps_.emplace_back(prepared(layer));
        if (!step.plan) continue;
        workspace_bytes = std::max(workspace_bytes, step.plan->workspace_bytes(step.packed));
        if (step.phases > 1)
            phase_bytes = std::max(phase_bytes, step.plan->problem().input_elements() * sizeof(float));
    }
    workspace_ = DeviceMemory(options.device, workspace_bytes);
    phases_ = DeviceMemory(options.device, phase_bytes);
}

NetworkRun::Step NetworkRun::prepared(const Layer &layer) const {
    Step step;
    step.layer = &layer;
    if (!is_convolution(layer.kind)) return step;
    const Device device = options_.device;
    LayerConvolution convolution = layer_convolution(layer, shapes_[layer.inputs[0]]);
    convolution.options.device = device;
    convolution.options.precision = options_.precision;
    step.plan.emplace(convolution.problem, convolution.options);
    step.phases = convolution.phases;
    const std::vector<float> weight = convolution_weight(layer, convolution);
    step.weight = copy_to_device(device, weight.data(), weight.size() * sizeof(float));
    step.packed = step.plan->packed_weight_bytes() > 0;
    if (step.packed) {
        DeviceMemory packed(device, step.plan->packed_weight_bytes());
        check(step.plan->pack_weight(step.weight.floats(), packed.data()));
        conv_transpose::synchronize(device);  // the plain weights go now
        step.weight = std::move(packed);
    }
    step.bias = copy_to_device(device, layer.bias.data(), layer.bias.size() * sizeof(float));
    return step;
}

NetworkRun::~NetworkRun() = default;

void NetworkRun::run(const float *input) {
    const int blob = network_.model().input;
    slots_[slot_of_blob_[blob]].copy_from_host(input, shapes_[blob].elements() * sizeof(float));
    for (Step &step : steps_) run_step(step);
}

void NetworkRun::copy_output(int channel, int64_t top, int64_t left, int64_t rows, int64_t columns, float *target,
                             int64_t pitch) const {
    const int blob = network_.model().output;
    const TensorShape &shape = shapes_[blob];
    const int64_t first = (channel * shape.height + top) * shape.width + left;
    slots_[slot_of_blob_[blob]].copy_rows_to_host(target, pitch * sizeof(float), first * sizeof(float),
                                                  shape.width * sizeof(float), columns * sizeof(float), rows);
}

void NetworkRun::run_step(Step &step) {
    if (!step.plan) return run_light_layer(step);
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

void NetworkRun::run_light_layer(const Step &step) {
    const Layer &layer = *step.layer;
    const bool here = options_.device == Device::cpu;
    std::vector<Tensor> inputs;
    if (!here) host_inputs_.resize(std::max(host_inputs_.size(), layer.inputs.size()));
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const int blob = layer.inputs[i];
        const DeviceMemory &slot = slots_[slot_of_blob_[blob]];
        if (!here) {
            host_inputs_[i].resize(shapes_[blob].elements());
            slot.copy_to_host(host_inputs_[i].data(), host_inputs_[i].size() * sizeof(float));
        }
        inputs.push_back({here ? slot.floats() : host_inputs_[i].data(), shapes_[blob]});
    }
    const TensorShape &size = shapes_[layer.output];
    DeviceMemory &output = slots_[slot_of_blob_[layer.output]];
    if (here) return light_layer(layer, inputs, size, output.floats(), options_.threads);
    host_output_.resize(size.elements());
    light_layer(layer, inputs, size, host_output_.data(), options_.threads);
    output.copy_from_host(host_output_.data(), host_output_.size() * sizeof(float));
}

std::unique_ptr<NetworkRun> NetworkRuns::take(const Network &network, int64_t height, int64_t width,
                                              const RunOptions &options) {
    std::unique_ptr<NetworkRun> run;
    {
        const std::lock_guard lock(mutex_);
        run = std::move(kept_);
    }
    if (run && &run->network() == &network && run->height() == height && run->width() == width) return run;
    run.reset();  // first, so that both are not there at the same time
    return std::make_unique<NetworkRun>(network, height, width, options);
}

void NetworkRuns::give_back(std::unique_ptr<NetworkRun> run) {
    const std::lock_guard lock(mutex_);
    kept_.swap(run);
}

}  // namespace upsample
