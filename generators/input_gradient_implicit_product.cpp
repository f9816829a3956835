// The input gradient generator that takes every attribute at run time, on tensor cores.
#include "generators/input_gradient_implicit_product.h"

#include "schedules/cuda_implicit_product.h"

namespace conv_transpose {
using InputGradientCudaImplicitProduct = InputGradientImplicitProduct<CudaImplicitProduct>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaImplicitProduct, input_gradient_cuda_implicit_product)
