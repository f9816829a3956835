// Forward generators on tensor cores, one for each schedule.
#include "generators/forward_tensor_core.h"

#include "schedules/cuda_tensor_core_stride1.h"

namespace conv_transpose {
using ForwardTensorCoreStride1 = ForwardTensorCore<CudaTensorCoreStride1>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardTensorCoreStride1, forward_tensor_core_stride1)
