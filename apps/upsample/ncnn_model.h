// Reads networks in ncnn's format: a .param text of layers and a .bin of their weights.
#ifndef UPSAMPLE_NCNN_MODEL_H
#define UPSAMPLE_NCNN_MODEL_H

#include <cstdint>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace upsample {

/// The kinds of layer that waifu2x's upconv_7 and cunet networks are made of.
enum class LayerKind {
    convolution,
    deconvolution,
    inner_product,
    relu,
    prelu,
    crop,
    eltwise,
    pooling,
    scale
};

enum class EltwiseOperation { product = 0, sum = 1, maximum = 2 };

/// A pair of sizes.
struct Size2 {
    int64_t height = 0, width = 0;
    friend bool operator==(const Size2 &a, const Size2 &b) { return a.height == b.height && a.width == b.width; }
    friend bool operator!=(const Size2 &a, const Size2 &b) { return !(a == b); }
};

/// One layer. Which fields count depends on the kind; the names are ncnn's.
struct Layer {
    LayerKind kind = LayerKind::relu;
    std::string name;
    std::vector<int> inputs;  ///< blobs; copies made by Split layers are the blob itself
    int output = 0;

    int64_t out_channels = 0;
    Size2 kernel{1, 1}, stride{1, 1}, dilation{1, 1}, padding{0, 0}, output_padding{0, 0};
    conv_transpose::Activation activation = conv_transpose::Activation::none;
    float negative_slope = 0;
    std::vector<float> weight;  ///< of a convolution (out, in, kh, kw); of a PReLU its slopes
    std::vector<float> bias;    ///< empty where there is none

    int64_t crop_left = 0, crop_top = 0;
    EltwiseOperation operation = EltwiseOperation::sum;
};

struct NcnnModel {
    std::vector<Layer> layers;  ///< in an order in which they can be run
    int blobs = 0;
    int input = 0, output = 0;
};

/// Throws PictureError that names the layer.
[[noreturn]] void refuse_layer(const Layer &layer, const std::string &why);

/// Reads `param_file` and the .bin beside it. Throws PictureError naming file, line and the first thing that
/// is not supported or not right.
NcnnModel read_ncnn_model(const std::string &param_file);

}  // namespace upsample

#endif
