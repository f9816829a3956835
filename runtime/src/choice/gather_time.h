// How long kernels take whose threads each gather what they need, in seconds.
#ifndef CONV_TRANSPOSE_RUNTIME_GATHER_TIME_H
#define CONV_TRANSPOSE_RUNTIME_GATHER_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// Of some elements a thread.
double gather_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

/// Of one, in a problem so small that a launch takes longer.
double serial_time(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
