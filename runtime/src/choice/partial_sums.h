// Sums that are cut into parts where an operation has too few blocks of threads for a large machine: each
// part sums over some of the channels, and a second pass adds the parts (generators/sum_of_output_parts.cpp).
//
// To its kernel the operation then looks like one of as many groups, each with its share of the summed
// channels: group g writes part g. So kernels know nothing of it. Others are told by an output of more groups than the input
// has that its parts are of some of the steps, each a tap of a chunk of channels (algorithm/implicit_gemm.h): of any number.
#ifndef CONV_TRANSPOSE_RUNTIME_PARTIAL_SUMS_H
#define CONV_TRANSPOSE_RUNTIME_PARTIAL_SUMS_H

#include "choice/computation.h"

namespace conv_transpose {

/// How many parts a kernel's sum of the problem is cut into; 1 where there is no need. So many summed channels,
/// `undivided`, stay together.
int64_t partial_sums(const KernelTraits &kernel, const Problem &problem, int64_t undivided = 1);

/// The same of a kernel whose steps are cut: as many as an H200 should be fastest with, the same on every GPU.
int64_t best_parts_of_steps(const KernelTraits &kernel, const Computation &computation);

/// The computation with its sum cut into parts where the kernel alone would leave much of a large machine idle.
Computation with_split_sum(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
