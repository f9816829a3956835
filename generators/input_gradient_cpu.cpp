// Input gradient generators for the CPU, one for each schedule.
#include "generators/input_gradient.h"
#include "schedules/cpu_input_gradient_general.h"

namespace conv_transpose {
using InputGradientCpuGeneral = InputGradient<CpuInputGradientGeneral>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuGeneral, input_gradient_cpu_general)
