// All ways to the result of a problem.
#ifndef CONV_TRANSPOSE_RUNTIME_ALTERNATIVES_H
#define CONV_TRANSPOSE_RUNTIME_ALTERNATIVES_H

#include <vector>

#include "choice/computation.h"

namespace conv_transpose {

/// In order of preference: the problem itself, at its simplest, and what it is as another operation.
std::vector<Computation> alternatives(const Problem &problem, const PlanOptions &options);

}  // namespace conv_transpose

#endif
