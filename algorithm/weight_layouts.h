// How a kernel finds a weight in the buffer that it is given, for each layout of kernel_interface.h.
#ifndef CONV_TRANSPOSE_ALGORITHM_WEIGHT_LAYOUTS_H
#define CONV_TRANSPOSE_ALGORITHM_WEIGHT_LAYOUTS_H

#include <stdexcept>
#include <vector>

#include "Halide.h"
#include "algorithm/element_format.h"
#include "algorithm/kernel_interface.h"

namespace conv_transpose {

/// The enumerator as C++ text, for the registry's row.
inline const char *enumerator(WeightLayout layout) {
    switch (layout) {
        case WeightLayout::as_given: return "WeightLayout::as_given";
        case WeightLayout::channels_innermost: return "WeightLayout::channels_innermost";
        case WeightLayout::channel_tiles: return "WeightLayout::channel_tiles";
        case WeightLayout::winograd: return "WeightLayout::winograd";
        case WeightLayout::channel_panels: return "WeightLayout::channel_panels";
        case WeightLayout::tensor_core: return "WeightLayout::tensor_core";
        case WeightLayout::tensor_core_row_pairs: return "WeightLayout::tensor_core_row_pairs";
        case WeightLayout::tensor_core_split: return "WeightLayout::tensor_core_split";
        case WeightLayout::tensor_core_split_row_pairs: return "WeightLayout::tensor_core_split_row_pairs";
        case WeightLayout::tensor_core_sub_pixel: return "WeightLayout::tensor_core_sub_pixel";
        case WeightLayout::tensor_core_split_sub_pixel: return "WeightLayout::tensor_core_split_sub_pixel";
        case WeightLayout::tensor_core_16_bits: return "WeightLayout::tensor_core_16_bits";
    }
    throw std::logic_error("an unknown weight layout");
}

/// ForwardTensorCore's parameters tell its layout.
inline WeightLayout tensor_core_layout(int parts, int picture_rows, bool sub_pixel = false) {
    if (sub_pixel) return parts == 1 ? WeightLayout::tensor_core_sub_pixel : WeightLayout::tensor_core_split_sub_pixel;
    if (picture_rows == 1) return parts == 1 ? WeightLayout::tensor_core : WeightLayout::tensor_core_split;
    return parts == 1 ? WeightLayout::tensor_core_row_pairs : WeightLayout::tensor_core_split_row_pairs;
}

/// Implicit matrix products on tensor cores have this layout.
inline WeightLayout gemm_weight_layout(const ElementFormat &format) {
    if (format.operand() != Storage::f32) return WeightLayout::tensor_core_16_bits;
    return tensor_core_layout(format.pieces(), 1);
}

/// Which dimensions of the buffer run over kx, ky and the input channel.
struct WeightDimensions {
    int kx, ky, in_channel;
};
inline WeightDimensions weight_dimensions(WeightLayout layout) {
    return layout == WeightLayout::as_given ? WeightDimensions{0, 1, 3} : WeightDimensions{1, 2, 3};
}

/// The coordinates of a weight in the buffer. `tile` is the number of channels of a tile, and `channels` all
/// of a group.
inline std::vector<Halide::Expr> weight_coordinates(WeightLayout layout, const Halide::Expr &kx, const Halide::Expr &ky,
                                                    const Halide::Expr &channel, const Halide::Expr &in_channel,
                                                    const Halide::Expr &group, int tile, const Halide::Expr &channels) {
    switch (layout) {
        case WeightLayout::as_given: return {kx, ky, channel, in_channel, group};
        case WeightLayout::channels_innermost: return {channel, kx, ky, in_channel, group};
        case WeightLayout::channel_tiles:
            return {channel % tile, kx, ky, in_channel, group * ((channels + tile - 1) / tile) + channel / tile};
        default:
            break;  // tensor cores and Winograd have algorithms of their own: forward_tensor_core.h,
                    // forward_winograd.h
    }
    throw std::logic_error("an unknown weight layout");
}

}  // namespace conv_transpose

#endif
