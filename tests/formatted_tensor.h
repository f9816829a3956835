// Tensors of any element type and layout, for tests: from numbers in float32 and channels_first, and back.
#ifndef CONV_TRANSPOSE_TESTS_FORMATTED_TENSOR_H
#define CONV_TRANSPOSE_TESTS_FORMATTED_TENSOR_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace conv_transpose::testing {

inline const char *name(ElementType type) {
    return type == ElementType::float16 ? "float16" : type == ElementType::bfloat16 ? "bfloat16" : "float32";
}
inline const char *name(Layout layout) { return layout == Layout::channels_last ? "channels_last" : "channels_first"; }

/// To nearest, ties to even, to so many bits of mantissa: of numbers that are normal in the type.
inline double rounded(double value, ElementType type) {
    const int bits = type == ElementType::float16 ? 11 : type == ElementType::bfloat16 ? 8 : 24;
    if (value == 0) return 0;
    // What overflows the mantissa counts up the exponent, which stands before it.
    const int dropped = std::numeric_limits<double>::digits - bits;
    const uint64_t all = std::bit_cast<uint64_t>(value), half = uint64_t{1} << (dropped - 1), is_odd = all >> dropped & 1;
    return std::bit_cast<double>((all + half - 1 + is_odd) >> dropped << dropped);
}

#ifdef __aarch64__
using Half = __fp16;  // GCC 12 has _Float16 for x86-64 alone
#else
using Half = _Float16;
#endif

inline uint16_t bits_of(float value, ElementType type) {
    if (type == ElementType::bfloat16) return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    const Half half = static_cast<Half>(value);
    return std::bit_cast<uint16_t>(half);
}
inline float value_of(uint16_t bits, ElementType type) {
    if (type == ElementType::bfloat16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    return static_cast<float>(std::bit_cast<Half>(bits));
}

/// What a plan with prelu takes as its bias: behind the biases of a group the slopes of its channels, where there are any.
inline std::vector<float> with_slopes(const std::vector<float> &bias, const std::vector<float> &slopes, int64_t groups) {
    if (slopes.empty()) return bias;
    std::vector<float> both;
    const auto of_group = static_cast<std::ptrdiff_t>(bias.size()) / groups;
    for (std::ptrdiff_t first = 0; first < static_cast<std::ptrdiff_t>(bias.size()); first += of_group) {
        both.insert(both.end(), bias.begin() + first, bias.begin() + first + of_group);
        both.insert(both.end(), slopes.begin() + first, slopes.begin() + first + of_group);
    }
    return both;
}

/// (outer, channels, positions) with channels innermost, and back.
inline std::vector<float> turned(const std::vector<float> &values, int64_t channels, int64_t positions, bool back) {
    std::vector<float> to(values.size());
    const int64_t plane = channels * positions;
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i++) {
        const int64_t outer = i / plane, c = i % plane / positions, p = i % positions;
        const int64_t last = outer * plane + p * channels + c;
        (back ? to[i] : to[last]) = back ? values[last] : values[i];
    }
    return to;
}

/// A tensor of a plan: a list of float32 in channels_first on the host, in a format on the device, so many elements behind
/// an aligned address.
class Tensor {
  public:
    Tensor(Device device, TensorFormat format, const std::vector<float> &values, int64_t channels, int64_t positions,
           int64_t offset = 0)
        : format_(format), channels_(channels), positions_(positions), offset_(offset),
          memory_(device, (offset + values.size()) * element_bytes()), count_(values.size()) {
        set(values);
    }

    void set(const std::vector<float> &values) {
        std::vector<float> order =
            format_.layout == Layout::channels_last ? turned(values, channels_, positions_, false) : values;
        order.insert(order.begin(), offset_, 0.f);
        if (format_.type == ElementType::float32) {
            memory_.copy_from_host(order.data(), memory_.bytes());
            return;
        }
        std::vector<uint16_t> bits;
        for (const float v : order) bits.push_back(bits_of(v, format_.type));
        memory_.copy_from_host(bits.data(), memory_.bytes());
    }

    void fill(float value) { set(std::vector<float>(count_, value)); }

    void *data() const { return static_cast<char *>(memory_.data()) + offset_ * element_bytes(); }

    std::vector<float> values() const {
        std::vector<float> order(offset_ + count_);
        if (format_.type == ElementType::float32) {
            memory_.copy_to_host(order.data(), memory_.bytes());
        } else {
            std::vector<uint16_t> bits(order.size());
            memory_.copy_to_host(bits.data(), memory_.bytes());
            for (size_t i = 0; i < order.size(); i++) order[i] = value_of(bits[i], format_.type);
        }
        order.erase(order.begin(), order.begin() + offset_);
        return format_.layout == Layout::channels_last ? turned(order, channels_, positions_, true) : order;
    }

  private:
    TensorFormat format_;
    int64_t channels_, positions_, offset_;
    DeviceMemory memory_;
    size_t count_;

    int64_t element_bytes() const { return format_.type == ElementType::float32 ? 4 : 2; }
};

}  // namespace conv_transpose::testing

#endif
