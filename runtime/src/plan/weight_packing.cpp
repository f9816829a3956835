// Packing of weights: see weight_packing.h.
#include "plan/weight_packing.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "problem/counting.h"
#include "choice/registry.h"

namespace conv_transpose {

namespace {

int64_t product(const WeightPacking::Extents &extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

WeightPacking::WeightPacking(const KernelTraits &kernel, const Computation &c)
    : kernel_(kernel),
      size_(plane_of(c.problem, &Axis::kernel)),
      transposed_(c.operation == Operation::input_gradient || c.weight == WeightView::mirrored),
      mirrored_(c.weight == WeightView::mirrored),
      partial_sums_(c.partial_sums),
      groups_(c.problem.groups),
      channels_((c.operation == Operation::forward ? c.problem.out_channels : c.problem.in_channels) / groups_),
      summed_((c.operation == Operation::forward ? c.problem.in_channels : c.problem.out_channels) / groups_) {
    if (kernel.weight_layout == WeightLayout::as_given) return;
    packing_ = &helper_kernel(KernelRole::weight_packing, kernel.device, [&](const KernelTraits &k) {
        return k.weight_layout == kernel.weight_layout && k.min_taps <= area(size_);
    });
    packed_channels_ = round_up(channels_, kernel.weight_channel_multiple);
}

// The caller's weight as (kx, ky, channel, summed channel, group). There the channel of the output lies inside that of
// the input, and groups outside of both; but parts of a sum are groups inside of the channels that they share.
View WeightPacking::given() const {
    const int64_t taps = area(size_);
    View view(Operand::weight, mirrored_ ? taps - 1 : 0, {size_.width, size_.height, channels_, summed_, groups_});
    if (mirrored_) view.set_stride(0, -1).set_stride(1, -size_.width);
    if (transposed_) view.set_stride(2, taps * summed_ * partial_sums_).set_stride(3, taps);
    if (transposed_ && partial_sums_ > 1) view.set_stride(4, taps * summed_);
    return view;
}

void WeightPacking::add_to(Recipe &recipe) const {
    if (!packing_) return;
    const Extents to = packing_->min_taps > 0 ? tensor_core_tiles() : packed_extents(groups_);
    const View packed(Operand::packed_weight, 0, {to.begin(), to.end()});
    const int64_t bytes = sizeof(float) * product(packed_extents(groups_));
    if (kernel_.weight_tile == 0)
        return recipe.add_weight_packing(
            Launch<Family::weight_packing>(*packing_).set("weight", given()).set("packed", packed).step(), bytes);
    // Tensor cores: a phase's taps lie together, unless the kernel is for any stride.
    Problem phases;
    phases.height().stride = std::max<int64_t>(kernel_.stride.height, 1);
    phases.width().stride = std::max<int64_t>(kernel_.stride.width, 1);
    phases.height().padding = kernel_.padding_phase.height, phases.width().padding = kernel_.padding_phase.width;
    recipe.add_weight_packing(Launch<Family::tensor_core_weight_packing>(*packing_)
                                  .set("weight", given())
                                  .set_axes("stride", phases, [](const Axis &a) { return a.stride; })
                                  .set_axes("padding_phase", phases, [](const Axis &a) { return a.padding; })
                                  .set("packed", packed)
                                  .step(),
                              bytes);
}

View WeightPacking::view(const LaunchRange &range) const {
    const Extents extents = packing_ ? packed_extents(range.groups) : given_extents(range.groups);
    return View(packing_ ? Operand::packed_weight : Operand::weight, range.first_group * product(extents) / range.groups,
                {extents.begin(), extents.end()});
}

WeightPacking::Extents WeightPacking::given_extents(int64_t groups) const noexcept {
    return {size_.width, size_.height, transposed_ ? summed_ : channels_, transposed_ ? channels_ : summed_, groups};
}

WeightPacking::Extents WeightPacking::packed_extents(int64_t groups) const noexcept {
    switch (kernel_.weight_layout) {
        case WeightLayout::as_given: return given_extents(groups);
        case WeightLayout::channels_innermost:
            return {packed_channels_, size_.width, size_.height, summed_, groups};
        // The last dimension counts tiles of channels.
        case WeightLayout::channel_tiles: {
            const int64_t lanes = kernel_.weight_channel_multiple;
            return {lanes, size_.width, size_.height, summed_, packed_channels_ / lanes * groups};
        }
        case WeightLayout::winograd_columns: {
            const int64_t lanes = kernel_.weight_channel_multiple;
            return {lanes, size_.width, summed_, size_.height + 1, packed_channels_ / lanes * groups};
        }
        case WeightLayout::winograd: {
            const int64_t lanes = kernel_.weight_channel_multiple;
            const int64_t points = (size_.width + 1) * (size_.height + 1);
            return {lanes, 1, summed_, points, packed_channels_ / lanes * groups};
        }
        default: return {tensor_core_elements() * groups, 1, 1, 1, 1};
    }
}

// The same, as generators/many_taps_packing.cpp sees it: of all groups.
WeightPacking::Extents WeightPacking::tensor_core_tiles() const noexcept {
    const int64_t parts = kernel_.precision == Precision::tf32x3 ? 2 : 1, tiles = packed_channels_ / 64 * groups_;
    const int64_t fours = round_up(summed_, kernel_.weight_in_channel_multiple) / 4;
    return {256, tensor_core_elements() * groups_ / (256 * parts * fours * tiles), parts, fours, tiles};
}

// The packed weights of one group in tiles for tensor cores: see generators/tensor_core_packing.cpp.
int64_t WeightPacking::tensor_core_elements() const noexcept {
    const int64_t tiles = packed_channels_ / kernel_.weight_channel_multiple;
    const int64_t positions = kernel_.kernel == Size2{} ? size_.height * size_.width : 1;
    return tiles * kernel_.weight_tile * positions * round_up(summed_, kernel_.weight_in_channel_multiple);
}

}  // namespace conv_transpose
