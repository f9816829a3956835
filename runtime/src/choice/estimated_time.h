// How long a kernel will take for a problem, from the size of its blocks and its measured rate: good enough
// to choose among kernels that accept the same problem, of which one fits the picture better, or fills the
// GPU better, than another.
#ifndef CONV_TRANSPOSE_RUNTIME_ESTIMATED_TIME_H
#define CONV_TRANSPOSE_RUNTIME_ESTIMATED_TIME_H

#include "choice/candidate.h"
#include "device/machine.h"

namespace conv_transpose {

/// Whether the kernel's time is known well enough to be compared.
bool has_estimate(const KernelTraits &kernel);

/// In seconds, of a kernel that has an estimate: the sum over the steps that its recipe takes.
double estimated_time(const Candidate &candidate, const Machine &machine);

}  // namespace conv_transpose

#endif
