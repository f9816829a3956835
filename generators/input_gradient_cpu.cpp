// Input gradient generators for the CPU, one for each schedule.
#include "generators/input_gradient.h"
#include "schedules/cpu_depthwise.h"
#include "schedules/cpu_input_gradient_channels.h"

namespace conv_transpose {
using InputGradientCpuChannels = InputGradient<CpuInputGradientChannels>;
using InputGradientCpuDepthwise = InputGradient<CpuDepthwise>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuChannels, input_gradient_cpu_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuDepthwise, input_gradient_cpu_depthwise)
