// Layers that are no convolutions, on a GPU, between tensors that stay there. Only in builds with CUDA; kernels/ has what
// they compute.
#ifndef UPSAMPLE_LAYER_KERNELS_H
#define UPSAMPLE_LAYER_KERNELS_H

#include <array>
#include <cstdint>

#include "conv_transpose/conv_transpose.h"

namespace upsample {

/// A tensor in the device's memory, or a part of one; dimensions innermost first. A stride of 0 repeats.
struct DeviceView {
    struct Dimension {
        int64_t extent = 1, stride = 0;
    };
    void *data = nullptr;
    conv_transpose::ElementType type = conv_transpose::ElementType::float32;  ///< or float16
    std::array<Dimension, 5> dimensions{};
};

/// The number is that of the kernel's argument.
enum class Combination { sum = 0, product = 1, maximum = 2, minimum = 3 };

/// Where the samples of one axis of an interpolation come from: four places and four weights each, in the device's memory.
struct InterpolationTable {
    const int32_t *places = nullptr;
    const float *weights = nullptr;
};

// All of them enqueue and return. Extents are those of `to`; the first three dimensions count where nothing else is said.

/// from * factor, and 0 beyond the ends of `from`; all five dimensions.
conv_transpose::Status copy_on_device(const DeviceView &from, float factor, const DeviceView &to,
                                      conv_transpose::Stream stream);

/// Negative values times the slope, which is float32.
conv_transpose::Status rectify_on_device(const DeviceView &from, const DeviceView &slope, const DeviceView &to,
                                         conv_transpose::Stream stream);

/// The factors are those of a sum.
conv_transpose::Status combine_on_device(Combination combination, const DeviceView &a, float factor_of_a, const DeviceView &b,
                                         float factor_of_b, const DeviceView &to, conv_transpose::Stream stream);

/// Dimensions are columns, rows, channels.
conv_transpose::Status interpolate_on_device(const DeviceView &from, const InterpolationTable &columns,
                                             const InterpolationTable &rows, const DeviceView &to,
                                             conv_transpose::Stream stream);

}  // namespace upsample

#endif
