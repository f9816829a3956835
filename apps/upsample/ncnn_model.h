// Reads networks in ncnn's format: a .param text of layers and a .bin of their weights.
#ifndef UPSAMPLE_NCNN_MODEL_H
#define UPSAMPLE_NCNN_MODEL_H

#include <cstdint>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "size2.h"

namespace upsample {

/// The kinds of layer that the networks of waifu2x (upconv_7, cunet), Real-ESRGAN and Real-CUGAN are made of. Eltwise
/// and BinaryOp are one, and so is nearest interpolation apart from bicubic.
enum class LayerKind {
    convolution,
    deconvolution,
    inner_product,
    pixel_shuffle,
    nearest,
    bicubic,
    relu,
    prelu,
    crop,
    concat,
    eltwise,
    pooling,
    scale
};

enum class EltwiseOperation { product, sum, difference, maximum, minimum };

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

    int64_t crop_left = 0, crop_top = 0;  ///< of a crop to the size of the second input
    int64_t crop_right = 0, crop_bottom = 0;  ///< of one that has no second
    EltwiseOperation operation = EltwiseOperation::sum;
    std::vector<float> coefficients;  ///< of a sum's inputs; empty where all are 1
    int64_t factor = 1;               ///< of a pixel shuffle or of nearest interpolation
    double ratio = 1;                 ///< of bicubic interpolation
};

struct NcnnModel {
    std::vector<Layer> layers;  ///< in an order in which they can be run
    int blobs = 0;
    int input = 0, output = 0;
    bool mirrors_edges = false;  ///< beyond the picture; else its nearest pixel is repeated
};

/// Throws PictureError that names the layer.
[[noreturn]] void refuse_layer(const Layer &layer, const std::string &why);

/// Reads `param_file` and the .bin beside it. Throws PictureError naming file, line and the first thing that
/// is not supported or not right.
NcnnModel read_ncnn_model(const std::string &param_file);

}  // namespace upsample

#endif
