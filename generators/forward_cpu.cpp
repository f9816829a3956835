// Forward generators for the CPU, one for each schedule.
#include "generators/forward.h"
#include "generators/forward_winograd.h"
#include "schedules/cpu_channels.h"
#include "schedules/cpu_depthwise.h"
#include "schedules/cpu_tiles.h"
#include "schedules/cpu_winograd.h"

namespace conv_transpose {
using ForwardCpuChannels = Forward<CpuChannels>;
using ForwardCpuDepthwise = Forward<CpuDepthwise>;
using ForwardCpuTiles = Forward<CpuTiles>;
using ForwardCpuWinograd = ForwardWinograd<CpuWinograd>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuTiles, forward_cpu_tiles)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuDepthwise, forward_cpu_depthwise)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuChannels, forward_cpu_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuWinograd, forward_cpu_winograd)
