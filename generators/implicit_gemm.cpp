// Generators of implicit matrix products, every attribute a run-time value.
#include "generators/forward_implicit_gemm.h"
#include "generators/input_gradient_implicit_gemm.h"
#include "schedules/cuda_implicit_gemm_cuda_cores.h"
#include "schedules/cuda_implicit_gemm_tensor_cores.h"

namespace conv_transpose {
using ForwardGemmCudaCores = ForwardImplicitGemm<CudaImplicitGemmCudaCores>;
using ForwardGemmTensorCores = ForwardImplicitGemm<CudaImplicitGemmTensorCores>;
using InputGradientGemmCudaCores = InputGradientImplicitGemm<CudaImplicitGemmCudaCores>;
using InputGradientGemmTensorCores = InputGradientImplicitGemm<CudaImplicitGemmTensorCores>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardGemmCudaCores, forward_cuda_implicit_gemm_cuda_cores)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardGemmTensorCores, forward_cuda_implicit_gemm_tensor_cores)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientGemmCudaCores, input_gradient_cuda_implicit_gemm_cuda_cores)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientGemmTensorCores, input_gradient_cuda_implicit_gemm_tensor_cores)
