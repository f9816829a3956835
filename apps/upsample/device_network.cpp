#include "device_network.h"

#include <algorithm>

#include "cubic.h"
#include "device_blobs.h"
#include "light_layers.h"
#include "picture.h"

namespace upsample {

using conv_transpose::Activation;
using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::ElementType;
using conv_transpose::Plan;
using conv_transpose::PlanOptions;
using conv_transpose::Problem;

namespace {

bool has_weights(const Layer &layer) {
    return layer.kind == LayerKind::convolution || layer.kind == LayerKind::deconvolution ||
           layer.kind == LayerKind::inner_product;
}

bool is_rectifier(const Layer &layer) { return layer.kind == LayerKind::relu || layer.kind == LayerKind::prelu; }

/// One a channel that is stored.
std::vector<float> slopes_of(const Layer &layer, int64_t channels) {
    if (layer.kind == LayerKind::relu) return std::vector<float>(channels, layer.negative_slope);
    if (layer.weight.size() == 1) return std::vector<float>(channels, layer.weight[0]);
    std::vector<float> slopes = layer.weight;
    slopes.resize(channels);
    return slopes;
}

/// Weights of more channels, the new ones zero.
std::vector<float> filled_up(const std::vector<float> &weight, const Problem &from, const Problem &to) {
    if (from.in_channels == to.in_channels && from.out_channels == to.out_channels) return weight;
    const int64_t taps = from.height().kernel * from.width().kernel;
    std::vector<float> result(to.weight_elements());
    for (int64_t i = 0; i < from.in_channels; ++i)
        std::copy_n(&weight[i * from.out_channels * taps], from.out_channels * taps, &result[i * to.out_channels * taps]);
    return result;
}

/// Whether a layer reads its input in another order than it lies.
bool is_moved(const Layer &layer, int64_t phases, const DeviceBlob &input) {
    return phases > 1 || (layer.kind == LayerKind::inner_product && input.shape.elements() != input.shape.channels);
}

/// The kernel that a large picture would get, where it takes this one too: so that tiles of any size come from the same sums.
std::string kernel_for_any_size(const LayerConvolution &convolution) {
    Problem large = convolution.problem;
    constexpr int64_t side = 512;
    if (large.height().input == 1 && large.width().input == 1) return "";
    large.height().input = large.width().input = side;
    const std::string kernel(Plan(large, convolution.options).kernel());
    const std::vector<std::string_view> accepting = conv_transpose::kernels_for(convolution.problem, convolution.options);
    return std::find(accepting.begin(), accepting.end(), kernel) != accepting.end() ? kernel : "";
}

DeviceBlob blob_at(TensorShape shape, bool half, void *data) { return {shape, shape.channels, half, data}; }

/// Places, then weights, four for each output.
DeviceMemory interpolation_table(double ratio, int64_t input, int64_t output) {
    std::vector<int32_t> places;
    std::vector<float> weights;
    for (int64_t at = 0; at < output; ++at) {
        const Cubic cubic(at, ratio, input);
        places.insert(places.end(), cubic.from, cubic.from + 4);
        weights.insert(weights.end(), cubic.weight, cubic.weight + 4);
    }
    const std::size_t bytes = places.size() * sizeof(int32_t);
    DeviceMemory table(Device::cuda, 2 * bytes);
    table.copy_from_host(places.data(), bytes);
    table.copy_from_host(weights.data(), bytes, bytes);
    return table;
}

InterpolationTable halves_of(const DeviceMemory &table) {
    const char *const begin = static_cast<const char *>(table.data());
    return {reinterpret_cast<const int32_t *>(begin), reinterpret_cast<const float *>(begin + table.bytes() / 2)};
}

}  // namespace

std::size_t DeviceNetwork::blob_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options) {
    const std::vector<DeviceBlob> blobs = blobs_of(network, height, width, options);
    return slots_of(network.model(), blobs, places_of(network, height, width, blobs, options.half)).total_bytes();
}

DeviceNetwork::Lane::Lane(std::size_t input_bytes, std::size_t output_bytes)
    : input(Device::cuda, input_bytes),
      output(Device::cuda, output_bytes),
      uploaded(Device::cuda),
      computed(Device::cuda),
      written(Device::cuda) {}

DeviceNetwork::DeviceNetwork(const Network &network, int64_t height, int64_t width, const RunOptions &options)
    : NetworkRun(network, height, width, options),
      blobs_(blobs_of(network, height, width, options)),
      lanes_{Lane(3 * height * width * sizeof(float), blobs_[network.model().output].shape.elements() * sizeof(float)),
             Lane(3 * height * width * sizeof(float), blobs_[network.model().output].shape.elements() * sizeof(float))},
      uploading_(Device::cuda),
      computing_(Device::cuda),
      writing_(Device::cuda) {
    const NcnnModel &model = network.model();
    places_ = places_of(network, height, width, blobs_, options.half);
    try {
        prepare(options);
    } catch (const conv_transpose::Unsupported &) {  // a convolution takes no wider pixels: joined blobs are copied
        places_ = places_apart(model.blobs);
        prepare(options);
    }
    std::size_t workspace = 0, rearranged = 0, sums = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Layer &layer = model.layers[i];
        const DeviceBlob &input = blobs_[layer.inputs[0]];
        const Step &step = steps_[i];
        if (step.plan) workspace = std::max(workspace, step.plan->workspace_bytes());
        if (step.plan && is_moved(layer, step.plan->phases(), input))
            rearranged = std::max(rearranged, step.plan->problem().input_elements() * input.element_bytes());
        if (step.sum)
            workspace = std::max(workspace, step.sum->workspace_bytes()),
            sums = std::max(sums, input.stored * sizeof(float));
    }
    const BlobSlots slots = slots_of(model, blobs_, places_);
    for (const std::size_t bytes : slots.bytes) memory_.emplace_back(Device::cuda, bytes);
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
        char *const slot = static_cast<char *>(memory_[slots.of_blob[i]].data());
        blobs_[i].data = slot + places_[i].channel * static_cast<int64_t>(blobs_[i].element_bytes());
    }
    workspace_ = DeviceMemory(Device::cuda, workspace);
    rearranged_ = DeviceMemory(Device::cuda, rearranged);
    sums_ = DeviceMemory(Device::cuda, sums);
}

/// All steps, for blobs that lie where `places_` says.
void DeviceNetwork::prepare(const RunOptions &options) {
    for (std::size_t i = 0; i < blobs_.size(); ++i)
        blobs_[i].pixel = places_[i].root == static_cast<int>(i) ? 0 : blobs_[places_[i].root].stored;
    steps_.clear();
    for (const Layer &layer : network().model().layers) steps_.push_back(prepared(layer, options));
}

DeviceNetwork::Step DeviceNetwork::prepared(const Layer &layer, const RunOptions &options) const {
    const DeviceBlob &input = blobs_[layer.inputs[0]];
    Step step;
    if (has_weights(layer)) {
        if (const Layer *rectifier = rectifier_behind(layer)) step.plan = plan_of(layer, rectifier, options);
        step.rectified = step.plan.has_value();
        if (!step.plan) step.plan = plan_of(layer, nullptr, options);
    } else if (is_rectifier(layer)) {
        step.rectified = is_rectified(layer.inputs[0]);
        const std::vector<float> slopes = slopes_of(layer, input.stored);
        if (!step.rectified) step.slopes = copy_to_device(Device::cuda, slopes.data(), slopes.size() * sizeof(float));
    } else if (layer.kind == LayerKind::bicubic) {
        const TensorShape &output = blobs_[layer.output].shape;
        step.columns = interpolation_table(layer.ratio, input.shape.width, output.width);
        step.rows = interpolation_table(layer.ratio, input.shape.height, output.height);
    } else if (layer.kind == LayerKind::pooling) {
        Problem problem;
        problem.in_channels = 1, problem.out_channels = input.stored;
        problem.height().input = input.shape.height, problem.width().input = input.shape.width;
        PlanOptions of_sum;
        of_sum.operation = conv_transpose::Operation::bias_gradient;
        of_sum.device = Device::cuda;
        of_sum.input = of_sum.output = input.format();
        step.sum.emplace(problem, of_sum);
    }
    return step;
}

/// With the PReLU or ReLU behind it, if there is one and a kernel for both; else with nothing behind it, or none.
std::optional<LayerPlan> DeviceNetwork::plan_of(const Layer &layer, const Layer *rectifier, const RunOptions &options) const {
    const DeviceBlob &input = blobs_[layer.inputs[0]];
    LayerConvolution convolution = layer_convolution(layer, input.shape);
    const Problem plain = convolution.problem;
    const std::vector<float> weight = convolution_weight(layer, convolution);
    const bool moved = is_moved(layer, convolution.phases, input);
    if (!moved) convolution.problem.in_channels = input.stored;
    convolution.problem.out_channels = blobs_[layer.output].stored;
    convolution.options.device = Device::cuda;
    convolution.options.precision = options.precision;
    convolution.options.input = convolution.options.output = input.format();
    if (!moved) convolution.options.input_pixel_stride = input.pixel;
    convolution.options.output_pixel_stride = blobs_[layer.output].pixel;
    std::vector<float> bias = layer.bias;
    if (!bias.empty() || rectifier) bias.resize(convolution.problem.out_channels);
    if (rectifier) {
        convolution.options.epilogue = {true, Activation::prelu};
        const std::vector<float> slopes = slopes_of(*rectifier, convolution.problem.out_channels);
        bias.insert(bias.end(), slopes.begin(), slopes.end());
    }
    try {
        convolution.options.kernel = kernel_for_any_size(convolution);
        return LayerPlan(convolution, filled_up(weight, plain, convolution.problem), bias);
    } catch (const conv_transpose::Unsupported &) {
        if (!rectifier) throw;
        return {};
    }
}

/// Which alone reads what the layer computes, and in the same place, so that both may be one step.
const Layer *DeviceNetwork::rectifier_behind(const Layer &layer) const {
    const std::vector<Layer> &layers = network().model().layers;
    const auto reads = [&](const Layer &other) {
        return std::find(other.inputs.begin(), other.inputs.end(), layer.output) != other.inputs.end();
    };
    const auto is_whole = [&](int blob) { return places_[blob].root == blob; };
    const auto first = std::find_if(layers.begin(), layers.end(), reads);
    const bool fits = first != layers.end() && std::count_if(first, layers.end(), reads) == 1 && is_rectifier(*first) &&
                      layer.activation == Activation::none && layer.output != network().model().output &&
                      is_whole(layer.output) && is_whole(first->output) &&
                      blobs_[layer.output].stored == blobs_[first->output].stored;
    return fits ? &*first : nullptr;
}

bool DeviceNetwork::is_rectified(int blob) const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
        if (network().model().layers[i].output == blob) return steps_[i].rectified;
    return false;
}

void DeviceNetwork::begin(int number, const float *input, const OutputPart &part) {
    Lane &lane = lanes_[number];
    const NcnnModel &model = network().model();
    uploading_.copy_from_host(lane.input, input, lane.input.bytes());
    lane.uploaded.record(uploading_);
    lane.uploaded.hold(computing_);
    const DeviceBlob &first = blobs_[model.input], &last = blobs_[model.output];
    const DeviceBlob given = blob_at(first.shape, false, lane.input.data());
    check(copy_on_device(view_in_order_of(first, given, all_of(given)), 1, view_of(first), computing_.get()));
    for (std::size_t i = 0; i < model.layers.size(); ++i) run_layer(model.layers[i], steps_[i]);
    const DeviceBlob result = blob_at({last.shape.channels, part.rows, part.columns}, false, lane.output.data());
    const BlobPart wanted{0, part.top, part.left, last.shape.channels, part.rows, part.columns};
    check(copy_on_device(view_in_order_of(result, last, wanted), 1, view_of(result), computing_.get()));
    lane.computed.record(computing_);
    lane.computed.hold(writing_);
    for (int64_t c = 0; c < last.shape.channels; ++c)
        writing_.copy_rows_to_host(lane.output, part.target + c * part.plane, part.pitch * sizeof(float),
                                   c * part.rows * part.columns * sizeof(float), part.columns * sizeof(float),
                                   part.columns * sizeof(float), part.rows);
    lane.written.record(writing_);
}

void DeviceNetwork::run_layer(const Layer &layer, const Step &step) {
    const DeviceBlob &input = blobs_[layer.inputs[0]], &output = blobs_[layer.output];
    const conv_transpose::Stream stream = computing_.get();
    switch (layer.kind) {
        case LayerKind::convolution:
        case LayerKind::deconvolution:
        case LayerKind::inner_product:
            return run_plan(layer, *step.plan);
        case LayerKind::pixel_shuffle:
        case LayerKind::nearest: {
            const SquareCopy copy = square_copy(input, output, layer.factor, layer.kind == LayerKind::pixel_shuffle);
            return check(copy_on_device(copy.from, 1, copy.to, stream));
        }
        case LayerKind::relu:
        case LayerKind::prelu:
            if (step.rectified) return;
            return check(rectify_on_device(view_of(input), a_channel_each(input, step.slopes.data(), ElementType::float32),
                                           view_of(output), stream));
        case LayerKind::crop: {
            const BlobPart part{0, layer.crop_top, layer.crop_left, input.stored, output.shape.height, output.shape.width};
            return check(copy_on_device(view_of(input, part), 1, view_of(output), stream));
        }
        case LayerKind::bicubic: {
            DeviceView from = view_of(input), to = view_of(output);
            for (DeviceView *view : {&from, &to}) {
                auto &d = view->dimensions;
                if (input.half) d = {d[1], d[2], d[0], d[3], d[4]};
            }
            to.dimensions[2].extent = from.dimensions[2].extent = output.shape.channels;
            return check(interpolate_on_device(from, halves_of(step.columns), halves_of(step.rows), to, stream));
        }
        case LayerKind::concat:
            return join(layer);
        case LayerKind::eltwise:
        case LayerKind::scale:
            return combine(layer);
        case LayerKind::pooling:
            return pool(layer, *step.sum);
    }
    refuse_layer(layer, "is of an unknown kind");
}

/// A strided convolution reads its input's phases, each a channel; inner products read samples in their order.
void DeviceNetwork::run_plan(const Layer &layer, const LayerPlan &plan) {
    const DeviceBlob &input = blobs_[layer.inputs[0]];
    const conv_transpose::Stream stream = computing_.get();
    const void *given = input.data;
    const TensorShape &shape = input.shape;
    if (const int64_t s = plan.phases(); s > 1) {
        const Problem &problem = plan.problem();
        const DeviceBlob phases =
            blob_at({problem.in_channels, problem.height().input, problem.width().input}, input.half,
                    rearranged_.data());
        for (int64_t phase = 0; phase < s * s; ++phase) {
            const int64_t top = phase / s, left = phase % s;
            const int64_t rows = (shape.height - top + s - 1) / s, columns = (shape.width - left + s - 1) / s;
            const BlobPart from{0, top, left, shape.channels, rows, columns, 1, s};
            const BlobPart to{phase, 0, 0, shape.channels, phases.shape.height, phases.shape.width, s * s, 1};
            check(copy_on_device(view_of(input, from), 1, view_of(phases, to), stream));
        }
        given = phases.data;
    } else if (layer.kind == LayerKind::inner_product && shape.elements() != shape.channels) {
        DeviceBlob samples = blob_at(shape, false, rearranged_.data());  // in the order of channels first
        DeviceView to = view_of(samples),
                   from =
                       view_in_order_of(samples, input, {0, 0, 0, shape.channels, shape.height, shape.width});
        to.type = from.type;
        check(copy_on_device(from, 1, to, stream));
        given = samples.data;
    }
    plan.run(given, blobs_[layer.output].data, workspace_, stream);
}

void DeviceNetwork::join(const Layer &layer) {
    const DeviceBlob &output = blobs_[layer.output];
    if (places_[layer.inputs[0]].root == places_[layer.output].root) return;  // they lie there
    BlobPart to = all_of(output);
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const DeviceBlob &input = blobs_[layer.inputs[i]];
        BlobPart from = all_of(input);
        from.channels = input.shape.channels;
        const bool last = i + 1 == layer.inputs.size();
        to.channels = last ? output.stored - to.channel : from.channels;  // the last fills up with zeros
        check(copy_on_device(view_of(input, from), 1, view_of(output, to), computing_.get()));
        to.channel += from.channels;
    }
}

void DeviceNetwork::pool(const Layer &layer, const Plan &sum) {
    const DeviceBlob &input = blobs_[layer.inputs[0]], &output = blobs_[layer.output];
    conv_transpose::Arguments arguments;
    arguments.output_gradient = input.data;
    arguments.bias_gradient = sums_.data();
    check(sum.run(arguments, {workspace_.data(), workspace_.bytes()}, computing_.get()));
    const DeviceBlob sums = blob_at({input.stored, 1, 1}, false, sums_.data());
    const auto samples = static_cast<float>(input.shape.height * input.shape.width);
    check(copy_on_device(view_in_order_of(output, sums, all_of(sums)), 1 / samples, view_of(output), computing_.get()));
}

void DeviceNetwork::combine(const Layer &layer) {
    const DeviceBlob &a = blobs_[layer.inputs[0]], &b = blobs_[layer.inputs[1]], &output = blobs_[layer.output];
    BlobPart part = all_of(a);
    part.channels = output.stored;
    const DeviceView first = view_of(a, part), to = view_of(output);
    const conv_transpose::Stream stream = computing_.get();
    if (layer.kind == LayerKind::scale || b.shape.elements() < a.shape.elements()) {
        const DeviceView factors = a_channel_each(output, b.data, b.format().type);
        return check(combine_on_device(Combination::product, first, 1, factors, 1, to, stream));
    }
    const DeviceView second = view_of(b, part);
    const auto sum = [&](float of_a, float of_b) {
        check(combine_on_device(Combination::sum, first, of_a, second, of_b, to, stream));
    };
    if (!layer.coefficients.empty()) return sum(layer.coefficients[0], layer.coefficients[1]);
    switch (layer.operation) {
        case EltwiseOperation::sum:
            return sum(1, 1);
        case EltwiseOperation::difference:
            return sum(1, -1);
        case EltwiseOperation::product:
            return check(combine_on_device(Combination::product, first, 1, second, 1, to, stream));
        case EltwiseOperation::maximum:
            return check(combine_on_device(Combination::maximum, first, 1, second, 1, to, stream));
        case EltwiseOperation::minimum:
            return check(combine_on_device(Combination::minimum, first, 1, second, 1, to, stream));
    }
}

}  // namespace upsample
