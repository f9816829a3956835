// Tensor maps as this machine has them: what cuTensorMapEncodeIm2col or cuTensorMapEncodeTiled was told, in the 128 bytes of a
// CUtensorMap.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_TENSOR_MAP_H
#define CONV_TRANSPOSE_PTX_MACHINE_TENSOR_MAP_H

#include <cstdint>

namespace ptx_machine {

struct TensorMap {
    static constexpr uint32_t known = 0x7e5500a9;
    uint32_t mark = known;
    uint8_t dimensions, element_bytes, rounds_to_tf32, row_bits;  ///< a row of a box has 2^row_bits bytes; 4 if any
    uint64_t address;
    uint32_t extents[5];
    uint16_t channels, positions;
    uint64_t strides[4];  ///< bytes, from the second dimension on
    int16_t lower[3], upper[3];
    uint16_t steps[3];
    uint16_t block[5];  ///< of the tensor's dimensions; 0 of boxes that are positions
    bool is_block() const { return block[0] > 0; }
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace ptx_machine

#endif
