// The weights of an operation as its kernel reads them: packed by a kernel of their own where they are given in another order, and
// converted where they are of another type.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_PACKING_H

#include <optional>

#include "choice/computation.h"
#include "plan/recipe.h"
#include "plan/row_packing.h"

namespace conv_transpose {

class WeightPacking {
  public:
    /// Throws Unsupported if this build cannot pack for the kernel.
    WeightPacking(const KernelTraits &kernel, const Computation &computation);

    /// Adds the steps that convert and pack, where the kernel does not read weights as they are given. No caller has packed
    /// before what is no weight: that has a region of its own.
    void add_to(Recipe &recipe);

    /// What the kernel reads for the groups of a launch.
    View view(const LaunchRange &range) const;

  private:
    const KernelTraits &kernel_;
    const Computation c_;  // as the kernel counts channels
    const KernelTraits *packing_ = nullptr, *conversion_ = nullptr;
    std::optional<RowPacking> rows_;  // of a kernel that copies taps
    const bool turned_;               // kernel positions and channels change places, for a kernel that maps them
    Operand packed_ = Operand::packed_weight;
    const TensorFormat given_;  // to what packs, or to the kernel
    const Extents window_;  // innermost first
    const Extents channel_phases_, summed_phases_;  // phases that are channels of the product
    const Extents packed_window_;  // of a phase
    const int64_t taps_;
    const int64_t taps_outside_;  // of channels, where a kernel takes both for channels; else 1
    const bool transposed_, mirrored_;
    const int64_t groups_;  // 1 where groups are packed as channels
    const int64_t channels_, summed_;  // that one group computes, and that it sums over, as they are given
    int64_t packed_channels_ = 0, packed_summed_ = 0;
    Operand from_ = Operand::weight;  // what is given_, and where in it: converted weights lie behind packed ones
    int64_t from_offset_ = 0;

    ElementType packed_type() const noexcept;
    bool joins_taps() const noexcept;
    bool packs_panels() const noexcept;
    bool sums_inside() const noexcept;
    bool packs() const noexcept { return packing_ || rows_ || turned_; }
    int64_t packed_elements() const;
    int64_t converted_elements() const;
    int64_t packed_bytes() const;
    const KernelTraits &packing_kernel() const;
    std::vector<Step> steps() const;
    Step conversion_step() const;
    Step step() const;
    Step gemm_step() const;
    Step tensor_core_step() const;
    View packed_runs() const;
    View packed_array() const;
    View packed_panels() const;
    View given() const;
    View row_of_phases() const;
    View as_given(const LaunchRange &range) const;
    View rows() const;
    View view_of_rows(const LaunchRange &range) const;
    Step row_step() const;
    Step turning_step() const;
    Extents packed_extents(int64_t groups) const;
    int64_t tensor_core_elements() const noexcept;
};

}  // namespace conv_transpose

#endif
