// How long weight gradients of single channels take, in seconds: their kernels have no tiles of channels, and so no rate.
#ifndef CONV_TRANSPOSE_RUNTIME_DEPTHWISE_GRADIENT_TIME_H
#define CONV_TRANSPOSE_RUNTIME_DEPTHWISE_GRADIENT_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// Whether it is such a kernel (schedules/cuda_gather.h, cuda_staged.h, and one of cuda_weight_gradient_dense.h).
bool sums_single_channels(const KernelTraits &kernel);

double depthwise_gradient_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif
