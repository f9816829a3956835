// Which problems a kernel accepts, as its row of the registry says (kernel_traits.h, Accepts): why it does not, or nothing.
#ifndef CONV_TRANSPOSE_RUNTIME_PROBLEM_REJECTION_H
#define CONV_TRANSPOSE_RUNTIME_PROBLEM_REJECTION_H

#include <string>

#include "choice/computation.h"
#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Attributes, channels and sizes.
std::string problem_rejection(const KernelTraits &kernel, const Computation &computation);

/// Tensors that a launch cannot span.
std::string span_rejection(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
