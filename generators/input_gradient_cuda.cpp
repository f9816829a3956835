// The input gradient generator for CUDA whose attributes are constants.
#include "generators/input_gradient.h"
#include "schedules/cuda_input_gradient_dense.h"

namespace conv_transpose {
using InputGradientCudaDense = InputGradient<CudaInputGradientDense>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaDense, input_gradient_cuda_dense)
