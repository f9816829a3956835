// Weight gradient generators for the CPU, one for each schedule.
#include "generators/weight_gradient.h"
#include "schedules/cpu_weight_gradient_channels.h"
#include "schedules/cpu_weight_gradient_general.h"

namespace conv_transpose {
using WeightGradientCpuChannels = WeightGradient<CpuWeightGradientChannels>;
using WeightGradientCpuGeneral = WeightGradient<CpuWeightGradientGeneral>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCpuChannels, weight_gradient_cpu_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCpuGeneral, weight_gradient_cpu_general)
