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

WeightPacking::WeightPacking(const KernelTraits &kernel, Size2 size, int64_t channels, int64_t summed,
                             int64_t groups, WeightOrder order)
    : kernel_(kernel),
      size_(size),
      channels_(channels / groups),
      summed_(summed / groups),
      groups_(groups),
      order_(order) {
    if (kernel.weight_layout == WeightLayout::as_given) return;
    packing_ = weight_packing_kernel(kernel.weight_layout, kernel.device, size.height * size.width);
    if (!packing_) throw Unsupported("this build has no kernel that packs weights for " + std::string(kernel.name));
    packed_channels_ = round_up(channels_, kernel.weight_channel_multiple);
}

std::size_t WeightPacking::bytes() const noexcept {
    return packing_ ? sizeof(float) * product(packed_extents(groups_)) : 0;
}

int64_t WeightPacking::group_elements() const noexcept { return product(extents(groups_)) / groups_; }

// In PyTorch's weight the channel of the output lies inside that of the input, and groups outside of both.
Status WeightPacking::pack(const float *weight, void *packed, RunContext &context) const noexcept {
    const int64_t taps = size_.height * size_.width;
    const bool mirrored = order_ == WeightOrder::mirrored;
    TensorView<5> from(mirrored ? weight + taps - 1 : weight, kernel_.device,
                       {size_.width, size_.height, channels_, summed_, groups_});
    if (mirrored) from.set_stride(0, -1), from.set_stride(1, -size_.width);
    if (order_ != WeightOrder::forward) from.set_stride(2, taps * summed_), from.set_stride(3, taps);
    if (order_ == WeightOrder::transposed_parts)
        from.set_stride(2, taps * summed_ * groups_), from.set_stride(4, taps * summed_);
    TensorView<5> to(static_cast<float *>(packed), kernel_.device,
                     packing_->min_taps > 0 ? tensor_core_tiles() : packed_extents(groups_));
    void *user_context = &context;
    if (kernel_.weight_tile == 0) {
        void *args[] = {&user_context, from.buffer(), to.buffer()};
        return call(*packing_, args, context);
    }
    // Tensor cores: a phase's taps lie together, unless the kernel is for any stride.
    const int32_t stride_x = std::max<int64_t>(kernel_.stride.width, 1), phase_x = kernel_.padding_phase.width;
    const int32_t stride_y = std::max<int64_t>(kernel_.stride.height, 1), phase_y = kernel_.padding_phase.height;
    void *args[] = {&user_context, from.buffer(), argument(stride_x), argument(phase_x), argument(stride_y),
                    argument(phase_y), to.buffer()};
    return call(*packing_, args, context);
}

Status WeightPacking::prepare(const Arguments &a, void *workspace, RunContext &context,
                              const float *&prepared) const noexcept {
    prepared = packing_ ? floats(a.packed_weight) : floats(a.weight);
    if (prepared) return {};
    prepared = static_cast<const float *>(workspace);
    return pack(floats(a.weight), workspace, context);
}

WeightPacking::Extents WeightPacking::given_extents(int64_t groups) const noexcept {
    const bool forward = order_ == WeightOrder::forward;
    return {size_.width, size_.height, forward ? channels_ : summed_, forward ? summed_ : channels_, groups};
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
