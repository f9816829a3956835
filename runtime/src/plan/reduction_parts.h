// Sums that are cut into parts where an operation has too few blocks of threads for a large machine: each
// part sums over some of the channels, and a second pass adds the parts (generators/sum_of_output_parts.cpp).
//
// To its kernel the operation then looks like one of as many groups, each with its share of the summed
// channels: group g writes part g. So kernels know nothing of it.
#ifndef CONV_TRANSPOSE_RUNTIME_REDUCTION_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_REDUCTION_PARTS_H

#include "plan/planned_operation.h"
#include "plan/tensor_view.h"

namespace conv_transpose {

class ReductionParts {
  public:
    /// `operation` is forward or input_gradient, and the kernel of that operation. Throws Unsupported if this
    /// build cannot add parts.
    ReductionParts(const KernelTraits &kernel, const Problem &problem);

    int64_t count() const noexcept { return count_; }
    bool needed() const noexcept { return count_ != 1; }
    /// With a group for each part.
    Problem with_groups(Problem problem) const noexcept;
    std::size_t bytes() const noexcept { return needed() ? sizeof(float) * count_ * elements() : 0; }
    /// Of the result, which are those of one part.
    int64_t elements() const noexcept { return plane_ * channels_ * images_; }

    /// `bias` may be null.
    Status add(const float *parts, const float *bias, int32_t activation, float slope, float *result,
               RunContext &context) const noexcept;

    /// How many parts; 1 where there is no need.
    static int64_t parts(const KernelTraits &kernel, const Problem &problem);

  private:
    const KernelTraits &kernel_;
    const KernelTraits *sum_ = nullptr;
    int64_t count_ = 1;
    int64_t plane_, channels_, images_;  // of the result
};

}  // namespace conv_transpose

#endif
