// The input gradient generator on tensor cores.
#include "generators/input_gradient_tensor_core.h"

#include "schedules/cuda_tensor_core.h"

namespace conv_transpose {
using InputGradientCudaTensorCore = InputGradientTensorCore<CudaTensorCore>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaTensorCore, input_gradient_cuda_tensor_core)
