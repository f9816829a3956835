// What may be asked of a plan: options that mean something, and memory that a machine may have.
#ifndef CONV_TRANSPOSE_RUNTIME_PLAN_REQUESTS_H
#define CONV_TRANSPOSE_RUNTIME_PLAN_REQUESTS_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Throws InvalidProblem, naming the field.
void require_device(Device device);
void require_valid(const PlanOptions &options);

/// Likewise for pixels that are wider than their channels.
void require_valid_pixels(const Problem &problem, const PlanOptions &options);

/// Throws Unsupported where a tensor has more bytes than a program has addresses. Counts of what is left do not
/// overflow.
void require_addressable(const Problem &problem);

/// The same for the bytes of `what`.
void require_addressable(const char *what, double bytes);

}  // namespace conv_transpose

#endif
