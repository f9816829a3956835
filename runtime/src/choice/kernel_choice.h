// Which of the kernels that accept a problem a plan takes.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H

#include <vector>

#include "choice/candidate.h"

namespace conv_transpose {

/// By the kernel that options.kernel names, or else the preferred one. Throws Unsupported if there is none, or it
/// cannot serve.
Candidate chosen_candidate(const Problem &problem, const PlanOptions &options, Device device);

/// All that would do: the preferred one, those that an estimate compares, the fastest first, the rest by preference.
std::vector<Candidate> accepting_candidates(const Problem &problem, const PlanOptions &options, Device device);

}  // namespace conv_transpose

#endif
