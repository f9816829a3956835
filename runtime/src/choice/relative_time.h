// How long CPU kernels take beside each other for a problem, those that have a rate.
#ifndef CONV_TRANSPOSE_RUNTIME_RELATIVE_TIME_H
#define CONV_TRANSPOSE_RUNTIME_RELATIVE_TIME_H

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// The time of flat products, and of others that they compete with, in units that are the same for all kernels of a problem.
double relative_time(const KernelTraits &, const Problem &, TensorFormat read, TensorFormat written);

}  // namespace conv_transpose

#endif
