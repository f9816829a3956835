// Forward generators for the CPU, one for each schedule.
#include "generators/forward.h"
#include "schedules/cpu_general.h"

namespace conv_transpose {
using ForwardCpuGeneral = Forward<CpuGeneral>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuGeneral, forward_cpu_general)
