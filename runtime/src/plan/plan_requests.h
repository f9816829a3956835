// What may be asked of a plan: options that mean something, and memory that a machine may have.
#ifndef CONV_TRANSPOSE_RUNTIME_PLAN_REQUESTS_H
#define CONV_TRANSPOSE_RUNTIME_PLAN_REQUESTS_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Throws InvalidProblem, naming the field.
void require_valid(const PlanOptions &options);

/// Refuses pixels that are narrower than their channels, or wider where that is not supported.
void require_valid_pixels(const Problem &problem, const PlanOptions &options);

/// Throws Unsupported where a tensor has more bytes than a program has addresses. Counts of what is left do not
/// overflow.
void require_addressable(const Problem &problem);

/// Refuses more bytes of `what` than a machine can address.
void require_addressable(const char *what, double bytes);

}  // namespace conv_transpose

#endif
