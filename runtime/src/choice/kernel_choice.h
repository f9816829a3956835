// Which of the kernels that accept a problem a plan takes.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H

#include <string_view>
#include <vector>

#include "choice/candidate.h"

namespace conv_transpose {

/// By the kernel that options.kernel names, or else the preferred one. Throws Unsupported if there is none, or it
/// cannot serve.
Candidate chosen_candidate(const Problem &problem, const PlanOptions &options, Device device);

/// All that would do, the preferred one first.
std::vector<Candidate> accepting_candidates(const Problem &problem, const PlanOptions &options, Device device);

/// Names of those, at most so many, that should be fastest: the preferred one, others by estimate, the rest by preference.
std::vector<std::string_view> likely_kernels(const Problem &problem, const PlanOptions &options, Device device, int most);

}  // namespace conv_transpose

#endif
