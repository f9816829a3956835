// Generators of the input gradient, one for each schedule: attributes may be constants.
#include "generators/input_gradient.h"
#include "generators/input_gradient_winograd.h"
#include "schedules/cpu_depthwise.h"
#include "schedules/cpu_winograd.h"
#include "schedules/cuda_dense.h"

using namespace conv_transpose;

HALIDE_REGISTER_GENERATOR(InputGradient<CpuDepthwise>, input_gradient_cpu_depthwise)
HALIDE_REGISTER_GENERATOR(InputGradientWinograd<CpuWinograd>, input_gradient_cpu_winograd)
HALIDE_REGISTER_GENERATOR(InputGradient<CudaInputGradientDense>, input_gradient_cuda_dense)
