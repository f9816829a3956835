// Numbers of 16 bits as instructions convert them: rounded to nearest even, NaN stays NaN.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_HALF_H
#define CONV_TRANSPOSE_PTX_MACHINE_HALF_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace ptx_machine {

inline float from_half(uint16_t bits) {
    return static_cast<float>(std::bit_cast<_Float16>(bits));
}

inline uint16_t to_half(float value) {
    return std::isnan(value) ? 0x7fff : std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

inline float from_bfloat(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t to_bfloat(float value) {
    if (std::isnan(value)) return 0x7fff;
    const uint32_t bits = std::bit_cast<uint32_t>(value), is_odd = bits >> 16 & 1;
    return static_cast<uint16_t>((bits + 0x7fff + is_odd) >> 16);
}

}  // namespace ptx_machine

#endif
