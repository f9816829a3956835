// How long a weight gradient will take: see estimated_time.h.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_TIME_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_TIME_H

#include "choice/registry.h"

namespace conv_transpose {

/// In seconds, of a kernel with a rate. The machine's size is not asked for: it has no part in how sums are
/// cut, either.
double weight_gradient_time(const KernelTraits &kernel, const Problem &problem);

}  // namespace conv_transpose

#endif
