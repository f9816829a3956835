// Which of the kernels that accept a problem a plan takes.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_CHOICE_H

#include <vector>

#include "choice/registry.h"

namespace conv_transpose {

/// The one that options.kernel names, or else the preferred one. Throws Unsupported if there is none, or it
/// cannot serve.
const KernelTraits &chosen_kernel(const Problem &problem, const PlanOptions &options, Device device);

/// All that would do, the preferred one first.
std::vector<const KernelTraits *> accepting_kernels(const Problem &problem, const PlanOptions &options, Device device);

}  // namespace conv_transpose

#endif
