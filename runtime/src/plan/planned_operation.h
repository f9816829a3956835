// The part of a plan that differs between operations: an operation bound to a problem and a kernel.
#ifndef CONV_TRANSPOSE_RUNTIME_PLANNED_OPERATION_H
#define CONV_TRANSPOSE_RUNTIME_PLANNED_OPERATION_H

#include <memory>

#include "conv_transpose/conv_transpose.h"
#include "choice/kernel_traits.h"
#include "plan/run_context.h"

namespace conv_transpose {

class PlannedOperation {
  public:
    virtual ~PlannedOperation() = default;
    virtual std::size_t workspace_bytes(bool with_packed_weight) const noexcept = 0;
    virtual std::size_t packed_weight_bytes() const noexcept { return 0; }
    virtual Status pack_weight(const void *weight, void *packed, RunContext &context) const noexcept;
    /// `arguments` are checked by missing_argument() before; the workspace is large enough.
    virtual Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept = 0;
    /// Name of a pointer that the operation needs and that is null; null if all are there.
    virtual const char *missing_argument(const Arguments &arguments) const noexcept = 0;
};

inline const float *floats(const void *data) noexcept { return static_cast<const float *>(data); }
inline float *floats(void *data) noexcept { return static_cast<float *>(data); }

/// Calls a compiled kernel; its error becomes the Status.
Status call(const KernelTraits &kernel, void **args, RunContext &context) noexcept;

/// A scalar as compiled kernels take it: its address.
template <class Scalar>
void *argument(const Scalar &value) {
    return const_cast<void *>(static_cast<const void *>(&value));
}

/// Each operation has one of these, in a file of its own. The first serves input gradients too: of the problem that
/// forward_of_input_gradient() tells.
std::unique_ptr<PlannedOperation> plan_forward(const Problem &, const PlanOptions &, const KernelTraits &);
std::unique_ptr<PlannedOperation> plan_input_gradient(const Problem &, const KernelTraits &);
std::unique_ptr<PlannedOperation> plan_weight_gradient(const Problem &, const KernelTraits &);
/// For kernels that multiply packed pictures.
std::unique_ptr<PlannedOperation> plan_weight_gradient_product(const Problem &, const KernelTraits &);
std::unique_ptr<PlannedOperation> plan_bias_gradient(const Problem &, const KernelTraits &);

}  // namespace conv_transpose

#endif
