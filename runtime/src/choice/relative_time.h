// How long CPU kernels take beside each other for a problem, those that have a rate.
#ifndef CONV_TRANSPOSE_RUNTIME_RELATIVE_TIME_H
#define CONV_TRANSPOSE_RUNTIME_RELATIVE_TIME_H

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// The time of flat products, and of others that they compete with, in units that are the same for all kernels of a problem. Several
/// threads share tiles that are cut for them (flat_tiles.h).
double relative_time(const KernelTraits &, const Problem &, TensorFormat read, TensorFormat written, bool shared = true);

}  // namespace conv_transpose

#endif
