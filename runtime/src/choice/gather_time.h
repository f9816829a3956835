// How long kernels take whose threads each gather what they need, in seconds.
#ifndef CONV_TRANSPOSE_RUNTIME_GATHER_TIME_H
#define CONV_TRANSPOSE_RUNTIME_GATHER_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// Seconds of a kernel whose threads have some elements each.
double gather_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

/// Whether a kernel's threads have positions of single channels, or of vectors of them (schedules/cuda_gather.h), and its seconds,
/// which are compared with those of such kernels alone.
bool gathers_single_channels(const KernelTraits &kernel);
double depthwise_gather_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

/// Seconds that one thread takes for its element, one product after another, which is what a small problem takes.
double serial_time(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
