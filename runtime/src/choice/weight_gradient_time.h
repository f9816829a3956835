// How long a weight gradient will take: see estimated_time.h.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_TIME_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// In seconds, of a kernel with a rate.
double weight_gradient_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif
