// Generators of flat matrix products for the CPU, every attribute a run-time value.
#include "generators/forward_flat_gemm.h"
#include "generators/input_gradient_flat_gemm.h"
#include "schedules/cpu_implicit_gemm.h"

namespace conv_transpose {
using ForwardCpuImplicitGemm = ForwardFlatGemm<CpuImplicitGemm>;
using InputGradientCpuImplicitGemm = InputGradientFlatGemm<CpuImplicitGemm>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuImplicitGemm, forward_cpu_implicit_gemm)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuImplicitGemm, input_gradient_cpu_implicit_gemm)
