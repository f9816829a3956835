// The weights of an operation in the order that its kernel reads them: packed by a kernel of their own where
// that is not the order in which they are given.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H

#include "plan/planned_operation.h"
#include "plan/tensor_view.h"

namespace conv_transpose {

/// How an operation sees PyTorch's weight (Cin, Cout / groups, kh, kw).
enum class WeightOrder {
    forward,     ///< the output's channels are computed, the input's summed over
    transposed,  ///< the other way round
    mirrored,    ///< transposed, and every kernel turned by 180 degrees
    transposed_parts,  ///< transposed, each group with a share of the channels that one group sums over (reduction_parts.h)
};

class WeightPacking {
  public:
    using Extents = std::array<int64_t, 5>;

    /// `channels` are those that the kernel computes, `summed` those that it sums over, of all groups. Throws
    /// Unsupported if this build cannot pack for the kernel.
    WeightPacking(const KernelTraits &kernel, Size2 size, int64_t channels, int64_t summed, int64_t groups,
                  WeightOrder order);

    /// Of packed weights; 0 where the kernel reads them as they are given.
    std::size_t bytes() const noexcept;
    /// Whether the arguments have what is needed.
    bool has_weight(const Arguments &a) const noexcept { return a.weight || (packing_ && a.packed_weight); }

    Status pack(const float *weight, void *packed, RunContext &context) const noexcept;

    /// What the kernel shall read: as given, as packed by the caller, or packed now into the workspace.
    Status prepare(const Arguments &a, void *workspace, RunContext &context, const float *&prepared) const noexcept;

    /// Of `groups` of the groups in the order that the kernel reads, innermost first.
    Extents extents(int64_t groups) const noexcept { return packing_ ? packed_extents(groups) : given_extents(groups); }
    /// Elements of one group in that order.
    int64_t group_elements() const noexcept;

  private:
    const KernelTraits &kernel_;
    const KernelTraits *packing_ = nullptr;
    const Size2 size_;
    const int64_t channels_, summed_, groups_;  // channels of one group
    const WeightOrder order_;
    int64_t packed_channels_ = 0;

    Extents given_extents(int64_t groups) const noexcept;
    Extents packed_extents(int64_t groups) const noexcept;
    int64_t tensor_core_elements() const noexcept;
    Extents tensor_core_tiles() const noexcept;
};

}  // namespace conv_transpose

#endif
