// Tensor maps: see tensor_map.h. Values are cuda.h's.
#include "device/tensor_map.h"

#include "device/element_types.h"

namespace conv_transpose {

namespace {

constexpr int CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;  // zeros outside
constexpr int CU_TENSOR_MAP_SWIZZLE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_32B = 1, CU_TENSOR_MAP_SWIZZLE_64B = 2,
              CU_TENSOR_MAP_SWIZZLE_128B = 3;
constexpr int CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3;

}  // namespace

CUresult encode(const PictureMap &picture, const void *address, TensorMap &map) {
    const int type = device_type(picture.element).tensor_map;
    const bool is_block = picture.block[0] > 0;
    const uint32_t row = (is_block ? picture.block[0] : picture.channels) * device_type(picture.element).bits / 8;
    const int swizzle = row == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                        : row == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                        : row == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                    : CU_TENSOR_MAP_SWIZZLE_NONE;
    std::array<uint32_t, 5> steps{1, 1, 1, 1, 1};
    for (int i = 0; i < picture.axes; i++) steps[1 + i] = picture.traversal[i];
    if (is_block)
        return cuda_driver()->cuTensorMapEncodeTiled(
            &map, type, picture.axes + 2, const_cast<void *>(address), picture.extents.data(), picture.strides.data(),
            picture.block.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return cuda_driver()->cuTensorMapEncodeIm2col(
        &map, type, picture.axes + 2, const_cast<void *>(address), picture.extents.data(), picture.strides.data(),
        picture.lower.data(), picture.upper.data(), picture.channels, picture.positions, steps.data(),
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace conv_transpose
