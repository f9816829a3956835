// Where the tensors of a run lie: each at a multiple of its elements, and what is written apart from all else, or a kernel would
// read its own results.
#ifndef CONV_TRANSPOSE_RUNTIME_ARGUMENT_RANGES_H
#define CONV_TRANSPOSE_RUNTIME_ARGUMENT_RANGES_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// ok, or which tensor begins at no such multiple, or which two overlap. `workspace` has the bytes that the run uses,
/// `packed_weight_bytes` is 0 where the kernel reads weights as they are.
Status require_placed(const Problem &problem, const PlanOptions &options, const Arguments &arguments,
                      std::size_t packed_weight_bytes, Workspace workspace) noexcept;

/// ok, or what is wrong with where a weight and its packed one lie.
Status require_packing_placed(const Problem &problem, const PlanOptions &options, const void *weight,
                              const void *packed, std::size_t packed_bytes) noexcept;

}  // namespace conv_transpose

#endif
