// What Halide's buffers and the driver's tensor maps call the types of elements.
#ifndef CONV_TRANSPOSE_RUNTIME_ELEMENT_TYPES_H
#define CONV_TRANSPOSE_RUNTIME_ELEMENT_TYPES_H

#include "HalideRuntime.h"
#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

struct DeviceElementType {
    halide_type_code_t code;
    uint8_t bits;
    int tensor_map;  ///< cuda.h's CUtensorMapDataType
};
/// In the order of ElementType. The copy engine rounds float32 to TF32.
inline constexpr DeviceElementType device_element_types[] = {
    {halide_type_float, 32, 11}, {halide_type_float, 16, 6}, {halide_type_bfloat, 16, 9}};

constexpr const DeviceElementType &device_type(ElementType type) { return device_element_types[static_cast<int>(type)]; }

}  // namespace conv_transpose

#endif
