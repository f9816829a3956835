// Sums that are cut into parts where an operation has too few blocks of threads for a large machine: each
// part sums over some of the channels, and a second pass adds the parts (generators/sum_of_output_parts.cpp).
//
// Kernels for nothing else take a share of their steps for each part. To others the operation looks like one of as many groups, each with its share of the summed
// channels: group g writes part g. So kernels know nothing of it.
#ifndef CONV_TRANSPOSE_RUNTIME_PARTIAL_SUMS_H
#define CONV_TRANSPOSE_RUNTIME_PARTIAL_SUMS_H

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// How many parts a kernel's sum of the problem is cut into; 1 where there is no need, 0 where a kernel that makes nothing but
/// parts of steps cannot. So many summed channels, `undivided`, stay together.
int64_t partial_sums(const KernelTraits &kernel, const Problem &problem, int64_t undivided = 1);

}  // namespace conv_transpose

#endif
