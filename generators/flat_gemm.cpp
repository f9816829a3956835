// Generators of flat matrix products for the CPU, every attribute a run-time value.
#include "generators/forward_flat_gemm.h"
#include "generators/input_gradient_flat_gemm.h"
#include "generators/weight_gradient_flat_gemm.h"
#include "schedules/cpu_implicit_gemm.h"
#include "schedules/cpu_implicit_gemm_channels.h"
#include "schedules/cpu_weight_gradient_implicit_gemm.h"

namespace conv_transpose {
using ForwardCpuImplicitGemm = ForwardFlatGemm<CpuImplicitGemm>;
using InputGradientCpuImplicitGemm = InputGradientFlatGemm<CpuImplicitGemm>;
using ForwardCpuImplicitGemmChannels = ForwardFlatGemm<CpuImplicitGemmChannels>;
using InputGradientCpuImplicitGemmChannels = InputGradientFlatGemm<CpuImplicitGemmChannels>;
using WeightGradientCpuImplicitGemm = WeightGradientFlatGemm<CpuWeightGradientImplicitGemm>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuImplicitGemm, forward_cpu_implicit_gemm)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuImplicitGemm, input_gradient_cpu_implicit_gemm)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuImplicitGemmChannels, forward_cpu_implicit_gemm_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuImplicitGemmChannels, input_gradient_cpu_implicit_gemm_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCpuImplicitGemm, weight_gradient_cpu_implicit_gemm)
