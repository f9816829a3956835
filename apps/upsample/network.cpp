// Shapes of a network's blobs, and what they tell of its geometry: see network.h.
#include "network.h"

#include <algorithm>
#include <cmath>

#include "convention.h"
#include "picture.h"

namespace upsample {

namespace {

TensorShape scaled_shape(const Layer &layer, const TensorShape &input) {
    const auto scaled = [&](int64_t side) {
        const double exact = static_cast<double>(side) * layer.ratio;
        if (exact != std::floor(exact)) refuse_layer(layer, "its output would not have whole sides");
        return static_cast<int64_t>(exact);
    };
    return {input.channels, scaled(input.height), scaled(input.width)};
}

TensorShape joined_shape(const Layer &layer, const std::vector<TensorShape> &shapes) {
    TensorShape joined = shapes[layer.inputs[0]];
    for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
        const TensorShape &other = shapes[layer.inputs[i]];
        if (other.height != joined.height || other.width != joined.width) refuse_layer(layer, "its inputs differ in size");
        joined.channels += other.channels;
    }
    return joined;
}

TensorShape cropped_shape(const Layer &layer, const TensorShape &given, const std::vector<TensorShape> &shapes) {
    const TensorShape cropped = layer.inputs.size() > 1
                                    ? shapes[layer.inputs[1]]
                                    : TensorShape{given.channels, given.height - layer.crop_top - layer.crop_bottom,
                                                  given.width - layer.crop_left - layer.crop_right};
    if (cropped.height < 1 || cropped.width < 1) refuse_layer(layer, "leaves nothing");
    if (given.channels != cropped.channels || layer.crop_top + cropped.height > given.height ||
        layer.crop_left + cropped.width > given.width)
        refuse_layer(layer, "crops more than there is");
    return cropped;
}

void check_eltwise(const Layer &layer, const TensorShape &first, const TensorShape &second) {
    const bool scales_channels = layer.operation == EltwiseOperation::product && second.elements() == first.channels;
    const bool same = first.channels == second.channels && first.height == second.height && first.width == second.width;
    if (!scales_channels && !same) refuse_layer(layer, "its inputs differ in size");
}

TensorShape output_shape(const Layer &layer, const std::vector<TensorShape> &shapes) {
    const TensorShape &first = shapes[layer.inputs[0]];
    switch (layer.kind) {
        case LayerKind::convolution:
        case LayerKind::deconvolution:
        case LayerKind::inner_product:
        case LayerKind::pixel_shuffle:
        case LayerKind::nearest: {
            const conv_transpose::Problem problem = layer_convolution(layer, first).problem;
            return {problem.out_channels, problem.height().output(), problem.width().output()};
        }
        case LayerKind::bicubic: return scaled_shape(layer, first);
        case LayerKind::concat: return joined_shape(layer, shapes);
        case LayerKind::crop: return cropped_shape(layer, first, shapes);
        case LayerKind::pooling: return {first.channels, 1, 1};
        case LayerKind::relu: return first;
        case LayerKind::prelu:
            if (layer.weight.size() != 1 && static_cast<int64_t>(layer.weight.size()) != first.channels)
                refuse_layer(layer, "has neither one slope nor one a channel");
            return first;
        case LayerKind::eltwise: check_eltwise(layer, first, shapes[layer.inputs[1]]); return first;
        case LayerKind::scale:
            if (shapes[layer.inputs[1]].elements() != first.channels) refuse_layer(layer, "has not one factor a channel");
            return first;
    }
    refuse_layer(layer, "is of an unknown kind");
}

}  // namespace

Network::Network(const std::string &param_file) try : model_(read_ncnn_model(param_file)) {
    follow_convention(param_file, model_);
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
        side % alignment_ != 0)
        throw PictureError("the network does not enlarge pictures by a whole number");
    const int reach = static_cast<int>(std::ceil(padded_reach() / scale_));
    constexpr int deep = 24;
    border_ += reach <= deep ? reach : deep_border;
}

/// How far from its ends, in pixels, the output depends on padding.
double Network::padded_reach() const {
    std::vector<double> reach(model_.blobs);
    for (const Layer &layer : model_.layers) {
        double far = 0;
        for (const int input : layer.inputs) far = std::max(far, reach[input]);
        switch (layer.kind) {
            case LayerKind::convolution:
                far = std::ceil((far + static_cast<double>(layer.padding.height)) / static_cast<double>(layer.stride.height));
                break;
            case LayerKind::deconvolution:
                far = std::max(0.0, (far - 1) * static_cast<double>(layer.stride.height) +
                                        static_cast<double>(layer.kernel.height - layer.padding.height));
                break;
            case LayerKind::pixel_shuffle:
            case LayerKind::nearest:
                far *= static_cast<double>(layer.factor);
                break;
            case LayerKind::bicubic:
                far = std::ceil((far + 2) * layer.ratio);
                break;
            default:
                break;
        }
        reach[layer.output] = far;
    }
    return reach[model_.output];
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

}  // namespace upsample
