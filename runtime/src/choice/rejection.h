// Whether a kernel may serve: its machine, the caller's options, the formats of tensors, and what problem_rejection.h asks.
#ifndef CONV_TRANSPOSE_RUNTIME_REJECTION_H
#define CONV_TRANSPOSE_RUNTIME_REJECTION_H

#include <string>

#include "choice/computation.h"
#include "choice/kernel_traits.h"
#include "choice/tensor_formats.h"
#include "device/machine.h"

namespace conv_transpose {

/// Why a kernel cannot serve, before its sum is split; empty if it can.
std::string rejection(const KernelTraits &kernel, const Computation &computation, const PlanOptions &options,
                      Device device, const Machine &machine);

/// Whether a tensor may have the format: the kernel takes it, or a step beside it converts.
bool takes_format(const KernelTraits &kernel, const TensorOfOperation &tensor, Operation operation, TensorFormat format);

}  // namespace conv_transpose

#endif
