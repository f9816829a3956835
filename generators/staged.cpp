// Generators whose blocks stage what they see, one for each operation.
#include "generators/forward_staged.h"
#include "generators/input_gradient_staged.h"
#include "generators/weight_gradient_staged.h"
#include "schedules/cuda_staged.h"

using namespace conv_transpose;

HALIDE_REGISTER_GENERATOR(ForwardStaged<CudaForwardStaged>, forward_cuda_staged)
HALIDE_REGISTER_GENERATOR(InputGradientStaged<CudaInputGradientStaged>, input_gradient_cuda_staged)
HALIDE_REGISTER_GENERATOR(WeightGradientStaged<CudaWeightGradientStaged>, weight_gradient_cuda_staged)
