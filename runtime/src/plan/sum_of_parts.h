// Two-pass reductions: the second pass, and where the first leaves its parts.
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H

#include "plan/planned_operation.h"

namespace conv_transpose {

/// The sum of `parts` arrays of `elements` each, one after another in the workspace. The order of the sum is
/// fixed by the plan alone, so results repeat bit by bit.
class SumOfParts {
  public:
    /// Throws Unsupported where this build has no kernel for the device.
    SumOfParts(Device device, int64_t elements, int64_t parts);

    /// A single part needs no second pass: the first one writes the result.
    bool needed() const noexcept { return parts_ != 1; }
    std::size_t workspace_bytes() const noexcept { return needed() ? sizeof(float) * elements_ * parts_ : 0; }

    Status run(const float *parts, float *sum, RunContext &context) const noexcept;

  private:
    const KernelTraits *kernel_;
    int64_t elements_, parts_;
};

}  // namespace conv_transpose

#endif
