// The forward generator on tensor cores.
#include "generators/forward_tensor_core.h"

#include "schedules/cuda_tensor_core.h"

namespace conv_transpose {
using ForwardCudaTensorCore = ForwardTensorCore<CudaTensorCore>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaTensorCore, forward_cuda_tensor_core)
