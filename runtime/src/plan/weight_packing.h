// The weights of an operation in the order that its kernel reads them: packed by a kernel of their own where
// that is not the order in which they are given.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H

#include <array>

#include "choice/computation.h"
#include "plan/recipe.h"
#include "problem/size2.h"

namespace conv_transpose {

class WeightPacking {
  public:
    using Extents = std::array<int64_t, 5>;

    /// Throws Unsupported if this build cannot pack for the kernel.
    WeightPacking(const KernelTraits &kernel, const Computation &computation);

    /// Adds the step that packs, where the kernel does not read weights as they are given.
    void add_to(Recipe &recipe) const;

    /// What the kernel reads for the groups of a launch.
    View view(const LaunchRange &range) const;

  private:
    const KernelTraits &kernel_;
    const KernelTraits *packing_ = nullptr;
    const Size2 size_;
    const bool transposed_, mirrored_;
    const int64_t partial_sums_, groups_;
    const int64_t channels_, summed_;  // that one group computes, and that it sums over
    int64_t packed_channels_ = 0;

    Extents given_extents(int64_t groups) const noexcept;
    View given() const;
    Extents packed_extents(int64_t groups) const noexcept;
    int64_t tensor_core_elements() const noexcept;
    Extents tensor_core_tiles() const noexcept;
};

}  // namespace conv_transpose

#endif
