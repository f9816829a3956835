// Tensors as PyTorch lends them to C: what is used of DLPack 1.x, https://dmlc.github.io/dlpack.
//
// PyTorch 2.10 and later put a table of functions at torch.Tensor.__dlpack_c_exchange_api__. Its layout is
// DLPack's, not PyTorch's, so one binary serves every version.
#pragma once

#include <cstdint>

namespace conv_transpose::short_calls {

constexpr std::int32_t device_cpu = 1, device_cuda = 2;  // DLDeviceType
constexpr std::uint8_t type_float = 2, type_bfloat = 4;  // DLDataTypeCode

struct DLTensor {
    void *data;
    std::int32_t device_type, device_id;
    std::int32_t dimensions;
    std::uint8_t type;
    std::uint8_t bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};

struct DLPackExchangeAPI {
    std::uint32_t major, minor;
    DLPackExchangeAPI *previous;
    void *allocate, *from_object, *to_object;       // tensors with an owner
    int (*borrow)(void *object, DLTensor *tensor);  // 0, or -1 with a Python error; may be null
    int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void **stream);
};

}  // namespace conv_transpose::short_calls
