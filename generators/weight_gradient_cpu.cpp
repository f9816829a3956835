// The weight gradient's generator for the CPU, of float32 and two axes.
#include "generators/weight_gradient.h"
#include "schedules/cpu_weight_gradient_channels.h"

namespace conv_transpose {
using WeightGradientCpuChannels = WeightGradient<CpuWeightGradientChannels>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCpuChannels, weight_gradient_cpu_channels)
