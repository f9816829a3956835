// Tensor maps: how Hopper's copy engine finds boxes of a picture, a parameter of kernels that read one.
#ifndef CONV_TRANSPOSE_RUNTIME_TENSOR_MAP_H
#define CONV_TRANSPOSE_RUNTIME_TENSOR_MAP_H

#include <array>
#include <cstdint>

#include "conv_transpose/conv_transpose.h"
#include "device/cuda_driver.h"

namespace conv_transpose {

/// As cuda.h's CUtensorMap, which only the driver reads and writes.
struct alignas(64) TensorMap {
    uint64_t words[16];
};

/// A picture in channels_last, of all but its address, and the boxes that are read of it: positions of a frame around it,
/// counted through the images, x fastest, and channels of each. Dimensions are channel, x, y, (z,) image.
struct PictureMap {
    ElementType element = ElementType::float16;
    int axes = 2;
    std::array<uint64_t, 5> extents{};
    std::array<uint64_t, 4> strides{};  ///< bytes, of all but the first dimension
    /// The frame's first and last position, the last from the picture's end, and its positions' distance.
    std::array<int, 3> lower{}, upper{};
    std::array<uint32_t, 3> traversal{};
    uint32_t channels = 0, positions = 0;  ///< of a box
    /// Where it is not 0, a box is a block of so many of each dimension, which are in any order, and has no frame.
    std::array<uint32_t, 5> block{};
};

/// The map of the picture at an address.
CUresult encode(const PictureMap &picture, const void *address, TensorMap &map);

}  // namespace conv_transpose

#endif
