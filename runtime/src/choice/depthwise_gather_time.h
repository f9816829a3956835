// How long gathers of single channels take, forward and of the input gradient, in seconds: compared with each other alone.
#ifndef CONV_TRANSPOSE_RUNTIME_DEPTHWISE_GATHER_TIME_H
#define CONV_TRANSPOSE_RUNTIME_DEPTHWISE_GATHER_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// Whether a kernel's threads have positions of single channels, or of vectors of them (schedules/cuda_gather.h).
bool gathers_single_channels(const KernelTraits &kernel);

double depthwise_gather_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif
