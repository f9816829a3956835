// The forward generator that takes every attribute at run time, on tensor cores.
#include "generators/forward_implicit_product.h"

#include "schedules/cuda_implicit_product.h"

namespace conv_transpose {
using ForwardCudaImplicitProduct = ForwardImplicitProduct<CudaImplicitProduct>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaImplicitProduct, forward_cuda_implicit_product)
