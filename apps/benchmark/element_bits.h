// Elements of 16 bits as the host sees them.
#ifndef CONV_TRANSPOSE_BENCHMARK_ELEMENT_BITS_H
#define CONV_TRANSPOSE_BENCHMARK_ELEMENT_BITS_H

#include <bit>
#include <cstdint>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::benchmark {

constexpr int bytes_of(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

/// To nearest, ties to even.
inline uint16_t bits_of(float value, ElementType type) {
    if (type == ElementType::float16) return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float value_of(uint16_t bits, ElementType type) {
    if (type == ElementType::float16) return static_cast<float>(std::bit_cast<_Float16>(bits));
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The nearest number that the type has.
inline float rounded_to(ElementType type, float value) {
    return type == ElementType::float32 ? value : value_of(bits_of(value, type), type);
}

}  // namespace conv_transpose::benchmark

#endif
