// A dense tensor as compiled kernels see it: a halide_buffer_t over a caller's pointer.
#ifndef CONV_TRANSPOSE_RUNTIME_TENSOR_VIEW_H
#define CONV_TRANSPOSE_RUNTIME_TENSOR_VIEW_H

#include <array>
#include <cstdint>
#include <limits>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Dimensions innermost first. Not copyable: the buffer points into the object.
template <int dimensions>
class TensorView {
  public:
    /// Dense, with extents innermost first.
    TensorView(const float *data, Device device, const std::array<int64_t, dimensions> &extents) {
        int64_t stride = 1;
        for (int d = 0; d < dimensions; d++) {
            // The stride of a dimension of one element is never used, but Halide checks that it is in range.
            const bool in_range = stride <= std::numeric_limits<int32_t>::max();
            dims_[d] = {0, static_cast<int32_t>(extents[d]), in_range ? static_cast<int32_t>(stride) : 0, 0};
            stride *= extents[d];
        }
        dims_[0].stride = 1;
        buffer_.dimensions = dimensions;
        buffer_.dim = dims_.data();
        buffer_.type = {halide_type_float, 32, 1};
        if (device == Device::cuda) {
            buffer_.device = reinterpret_cast<uint64_t>(data);
            buffer_.device_interface = halide_cuda_device_interface();
        } else {
            buffer_.host = reinterpret_cast<uint8_t *>(const_cast<float *>(data));
        }
    }
    TensorView(const TensorView &) = delete;
    TensorView &operator=(const TensorView &) = delete;

    /// The first coordinate of dimension d, 0 unless set.
    void set_min(int d, int64_t min) { dims_[d].min = static_cast<int32_t>(min); }

    void set_stride(int d, int64_t stride) { dims_[d].stride = static_cast<int32_t>(stride); }

    /// Puts n positions before the first of dimension d. Other dimensions keep their strides.
    void begin_early(int d, int64_t n) {
        dims_[d].extent += static_cast<int32_t>(n);
        const int64_t bytes = n * dims_[d].stride * static_cast<int64_t>(sizeof(float));
        if (buffer_.host) buffer_.host -= bytes;
        if (buffer_.device) buffer_.device -= bytes;
    }

    halide_buffer_t *buffer() { return &buffer_; }

  private:
    std::array<halide_dimension_t, dimensions> dims_{};
    halide_buffer_t buffer_{};
};

}  // namespace conv_transpose

#endif
