#include "ncnn_layers.h"

#include <algorithm>
#include <cmath>

#include "picture.h"

namespace upsample {

namespace {

using conv_transpose::Activation;

void read_activation(const NcnnParameters &p, Layer &layer) {
    switch (p.integer(9, 0, 0)) {
        case 0:
            layer.activation = Activation::none;
            return;
        case 1:
            layer.activation = Activation::relu;
            return;
        case 2:
            layer.activation = Activation::leaky_relu;
            layer.negative_slope = static_cast<float>(p.real(10, 0));
            return;
        case 4:
            layer.activation = Activation::sigmoid;
            return;
        default:
            throw PictureError(p.where() + ": this fused activation (parameter 9) is not supported");
    }
}

void read_weights(const NcnnParameters &p, int bias_key, int size_key, NcnnWeights &weights, Layer &layer) {
    layer.out_channels = p.integer(0, 0, 1);
    const int64_t per_channel = layer.out_channels * layer.kernel.height * layer.kernel.width;
    const int64_t size = p.integer(size_key, 0, 1, int64_t{1} << 30);
    if (size % per_channel != 0)
        throw PictureError(p.where() + ": the number of weights (parameter " + std::to_string(size_key) +
                           ") is " + std::to_string(size) +
                           ", which is no multiple of outputs times kernel, " + std::to_string(per_channel));
    layer.weight = weights.tagged(size);
    if (p.integer(bias_key, 0, 0, 1)) layer.bias = weights.plain(layer.out_channels);
}

void read_convolution(const NcnnParameters &p, NcnnWeights &weights, Layer &layer) {
    layer.kernel.width = p.integer(1, 0, 1);
    layer.kernel.height = p.integer(11, layer.kernel.width, 1);
    layer.dilation.width = p.integer(2, 1, 1);
    layer.dilation.height = p.integer(12, layer.dilation.width, 1);
    layer.stride.width = p.integer(3, 1, 1);
    layer.stride.height = p.integer(13, layer.stride.width, 1);
    layer.padding.width = p.integer(4, 0, 0);
    layer.padding.height = p.integer(14, layer.padding.width, 0);
    p.expect(15, static_cast<double>(layer.padding.width), "padding that differs from left to right");
    p.expect(16, static_cast<double>(layer.padding.height), "padding that differs from top to bottom");
    read_activation(p, layer);
    if (layer.kind == LayerKind::convolution) {
        p.expect(8, 0, "int8 weights");
        if (layer.padding.width || layer.padding.height) p.expect(18, 0, "padding with a value other than 0");
        p.expect(19, 0, "weights computed by the network");
    } else {
        layer.output_padding.width = p.integer(18, 0, 0);
        layer.output_padding.height = p.integer(19, layer.output_padding.width, 0);
        p.expect(20, 0, "a fixed output width");
        p.expect(21, 0, "a fixed output height");
        p.expect(28, 0, "weights computed by the network");
    }
    read_weights(p, 5, 6, weights, layer);
}

void read_interpolation(const NcnnParameters &p, Layer &layer) {
    const double height = p.real(1, 1), width = p.real(2, 1);
    p.expect(3, 0, "a fixed output height");
    p.expect(4, 0, "a fixed output width");
    const bool nearest = p.integer(0, 0, 0) == 1, bicubic = p.integer(0, 0, 0) == 3;
    if (nearest && height == width && height == std::floor(height) && height >= 1 && height <= 16) {
        layer.kind = LayerKind::nearest;
        layer.factor = static_cast<int64_t>(height);
    } else if (bicubic && height == width && height > 0.1 && height <= 16 && p.real(6, 0) == 0) {
        layer.kind = LayerKind::bicubic;
        layer.ratio = height;
    } else {
        throw PictureError(p.where() + ": only nearest interpolation by whole factors and bicubic are supported");
    }
}

/// From a place, to the size of another blob; or so many rows and columns off each end.
void read_crop(const NcnnParameters &p, Layer &layer) {
    const std::vector<double> starts = p.array(9), ends = p.array(10), axes = p.array(11);
    if (starts.empty()) {
        layer.crop_left = p.integer(0, 0, 0);
        layer.crop_top = p.integer(1, 0, 0);
        return p.expect(2, 0, "cropping of channels");
    }
    const bool rows_and_columns = axes == std::vector<double>{-2, -1} || axes == std::vector<double>{1, 2};
    const auto is_size = [](double value) { return value >= 0 && value <= NcnnParameters::largest && value == std::floor(value); };
    if (!rows_and_columns || starts.size() != 2 || ends.size() != 2 || !is_size(starts[0]) || !is_size(starts[1]) ||
        !is_size(-ends[0]) || !is_size(-ends[1]))
        throw PictureError(p.where() + ": only cropping of so many rows and columns off each end is supported");
    layer.crop_top = static_cast<int64_t>(starts[0]), layer.crop_bottom = static_cast<int64_t>(-ends[0]);
    layer.crop_left = static_cast<int64_t>(starts[1]), layer.crop_right = static_cast<int64_t>(-ends[1]);
}

void expect_inputs(const Layer &layer, std::size_t count, const std::string &where) {
    if (layer.inputs.size() != count)
        throw PictureError(where + ": must have " + std::to_string(count) + " inputs but has " +
                           std::to_string(layer.inputs.size()));
}

void read_inner_product(const NcnnParameters &p, NcnnWeights &weights, Layer &layer) {
    p.expect(8, 0, "int8 weights");
    read_activation(p, layer);
    read_weights(p, 1, 2, weights, layer);
}

/// Two blobs, element by element: ncnn's Eltwise, whose sums may have coefficients.
void read_eltwise(const NcnnParameters &p, Layer &layer) {
    constexpr EltwiseOperation operations[] = {EltwiseOperation::product, EltwiseOperation::sum, EltwiseOperation::maximum};
    layer.operation = operations[p.integer(0, 0, 0, 2)];
    for (const double value : p.array(1)) layer.coefficients.push_back(static_cast<float>(value));
    if (!layer.coefficients.empty() && (layer.coefficients.size() != 2 || layer.operation != EltwiseOperation::sum))
        throw PictureError(p.where() + ": coefficients (parameter 1) are for the two inputs of a sum");
}

/// Two blobs, element by element, as ncnn's BinaryOp numbers operations.
void read_binary_operation(const NcnnParameters &p, Layer &layer) {
    constexpr EltwiseOperation operations[] = {EltwiseOperation::sum, EltwiseOperation::difference,
                                               EltwiseOperation::product, EltwiseOperation::product,
                                               EltwiseOperation::maximum, EltwiseOperation::minimum};
    const int64_t operation = p.integer(0, 0, 0, 5);
    if (operation == 3) throw PictureError(p.where() + ": a division is not supported");
    layer.operation = operations[operation];
    p.expect(1, 0, "an operation with a number");
}

void check_pooling(const NcnnParameters &p) {
    if (p.integer(0, 0, 0) != 1 || p.integer(4, 0, 0) != 1)
        throw PictureError(p.where() + ": only global average pooling is supported");
}

void check_scale(const NcnnParameters &p) {
    if (p.real(0, 0) != -233) throw PictureError(p.where() + ": only scaling by another blob is supported");
    p.expect(1, 0, "a bias");
}


}  // namespace

void read_layer(const std::string &type, const NcnnParameters &p, NcnnWeights &weights, Layer &layer) {
    std::size_t inputs = 1;
    if (type == "Convolution" || type == "Deconvolution") {
        layer.kind = type == "Convolution" ? LayerKind::convolution : LayerKind::deconvolution;
        read_convolution(p, weights, layer);
    } else if (type == "InnerProduct") {
        layer.kind = LayerKind::inner_product;
        read_inner_product(p, weights, layer);
    } else if (type == "ReLU") {
        layer.kind = LayerKind::relu;
        layer.negative_slope = static_cast<float>(p.real(0, 0));
    } else if (type == "PReLU") {
        layer.kind = LayerKind::prelu;
        layer.weight = weights.plain(p.integer(0, 0, 1));
    } else if (type == "PixelShuffle") {
        layer.kind = LayerKind::pixel_shuffle;
        layer.factor = p.integer(0, 1, 1, 16);
        p.expect(1, 0, "this order of channels");
    } else if (type == "Interp") {
        read_interpolation(p, layer);
    } else if (type == "Concat") {
        layer.kind = LayerKind::concat;
        inputs = std::max<std::size_t>(1, layer.inputs.size());
        p.expect(0, 0, "joining along another axis than channels");
    } else if (type == "Crop") {
        layer.kind = LayerKind::crop;
        inputs = p.has(9) ? 1 : 2;
        read_crop(p, layer);
    } else if (type == "Eltwise" || type == "BinaryOp") {
        layer.kind = LayerKind::eltwise;
        inputs = 2;
        type == "Eltwise" ? read_eltwise(p, layer) : read_binary_operation(p, layer);
    } else if (type == "Pooling") {
        layer.kind = LayerKind::pooling;
        check_pooling(p);
    } else if (type == "Scale") {
        layer.kind = LayerKind::scale;
        inputs = 2;
        check_scale(p);
    } else {
        throw PictureError(p.where() + ": layers of type " + type + " are not supported");
    }
    expect_inputs(layer, inputs, p.where());
}

}  // namespace upsample
