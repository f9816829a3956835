// Input gradient generators for CUDA, one for each schedule.
#include "generators/input_gradient.h"
#include "schedules/cuda_input_gradient_dense.h"
#include "schedules/cuda_input_gradient_general.h"
#include "schedules/cuda_small.h"

namespace conv_transpose {
using InputGradientCudaGeneral = InputGradient<CudaInputGradientGeneral>;
using InputGradientCudaDense = InputGradient<CudaInputGradientDense>;
using InputGradientCudaSmall = InputGradient<CudaInputGradientSmall>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaGeneral, input_gradient_cuda_general)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaDense, input_gradient_cuda_dense)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaSmall, input_gradient_cuda_small)
