// Packing of weights: see weight_packing.h.
#include "plan/weight_packing.h"

#include <algorithm>

#include "algorithm/tensor_layout.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/registry.h"
#include "choice/staged_columns.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "choice/weight_phases.h"
#include "plan/turned_pictures.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// As it is packed. Where a group has one channel of either side, both layouts are the same.
TensorFormat given_format(const KernelTraits &kernel, TensorFormat format) {
    if (converts_weights(kernel, format.type)) format.type = kernel.output.type;
    return kernel.packs_groups ? TensorFormat{format.type, Layout::channels_first} : format;
}

// Whose weight it is.
const Problem &given_problem(const Computation &c) {
    return c.by_phases ? *c.by_phases : c.problem_without_cells();
}

// Joined positions are like phases along the width, in the order of channels_last, whatever the kernel's are.
bool joins_positions(const Computation &c) { return c.cells && c.cells->joins_outputs(); }
KernelTraits with_phases_outermost(KernelTraits kernel, bool is_so) {
    kernel.phases_outermost = kernel.phases_outermost || is_so;
    return kernel;
}

// Neighbours of the picture that is written, whose channels are those of one position.
int64_t written_neighbours(const Computation &c) {
    return c.operation == Operation::forward ? c.cells->outputs : c.cells->inputs;
}

// Kernel positions that a kernel takes for channels are what a weight has of them, one after the other.
Computation with_taps_as_channels(const KernelTraits &kernel, Computation c) {
    const bool finds_taps = kernel.weight_layout == WeightLayout::as_given && channels_innermost(kernel.output);
    if (!kernel.taps_as_channels || finds_taps) return c;
    c.problem.out_channels *= taps(c.problem);
    for (Axis &a : c.problem.axes) a.kernel = 1;
    return c;
}

Extents joined(Extents first, const Extents &rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

}  // namespace

WeightPacking::WeightPacking(const KernelTraits &kernel, const Computation &computation)
    : kernel_(kernel),
      c_(with_taps_as_channels(kernel, computation)),
      turned_(turns_weights(kernel, c_)),
      given_(given_format(kernel, c_.weight_format)),
      window_(innermost_first(given_problem(c_), kernel.rank, [](const Axis &a) { return a.kernel; })),
      channel_phases_(innermost_first(c_.problem, kernel.rank,
                                      [&](const Axis &a) {
                                          const bool joined = joins_positions(c_) && &a == &c_.problem.width();
                                          return joined ? written_neighbours(c_) : channel_phases(kernel, c_.problem, a);
                                      })),
      summed_phases_(innermost_first(given_problem(c_), kernel.rank,
                                     [&](const Axis &a) { return c_.by_phases ? a.stride : 1; })),
      packed_window_(innermost_first(c_.problem, kernel.rank,
                                     [&](const Axis &a) {
                                         return ceil_divide(a.kernel, channel_phases(kernel, c_.problem, a));
                                     })),
      taps_(taps(given_problem(c_))),
      taps_outside_(kernel.taps_as_channels && channels_innermost(given_) ? taps(computation.problem) : 1),
      transposed_(c_.operation == Operation::input_gradient || c_.weight == WeightView::mirrored),
      mirrored_(c_.weight == WeightView::mirrored),
      groups_(kernel.packs_groups ? 1 : c_.problem.groups),
      channels_((c_.operation == Operation::forward ? c_.problem_without_cells().out_channels
                                                    : c_.problem_without_cells().in_channels) /
                (groups_ * c_.joined_groups)),
      summed_((c_.operation == Operation::forward ? c_.problem_without_cells().in_channels
                                                  : c_.problem_without_cells().out_channels) /
              (kernel.packs_groups ? c_.problem.groups : groups_ * c_.joined_groups) / summed_phases(c_)) {
    const int64_t of_cells = c_.operation == Operation::forward ? c_.problem.in_channels : c_.problem.out_channels;
    packed_summed_ = c_.cells ? of_cells : summed_ * c_.joined_groups * product(summed_phases_);
    if (kernel.sums_pairs) packed_summed_ = round_up(packed_summed_, 2);
    if (packs_weight_rows(kernel, c_))
        rows_.emplace(kernel.device, given_, packed_row_channels(kernel, c_), taps_);
    if (kernel.weight_layout != WeightLayout::as_given) {
        packing_ = &packing_kernel();
        packed_channels_ = round_up(channels_ * c_.joined_groups * product(channel_phases_), kernel.weight_channel_multiple);
    }
    from_ = c_.weight_operand;
    if (given_.type == c_.weight_format.type) return;
    conversion_ = &helper_kernel(KernelRole::channel_packing, kernel.device,
                                 [&](const KernelTraits &k) { return rounds_to(k, given_.type); });
    constexpr int64_t alignment = 128;
    from_ = packed_, from_offset_ = round_up(packed_elements(), alignment);
}

const KernelTraits &WeightPacking::packing_kernel() const {
    const bool by_phases = kernel_.phases_as_channels || c_.by_phases, joined = joins_positions(c_) || c_.joined_groups > 1;
    const bool of_products = by_phases || joined || reads_packed_runs(kernel_);
    const KernelTraits reader = with_phases_outermost(kernel_, joins_positions(c_));
    return helper_kernel(KernelRole::weight_packing, kernel_.device, [&](const KernelTraits &k) {
        return packs_weights(k, reader, given_.type) &&
               (!of_products || k.family == Family::gemm_weight_packing) &&
               ((!c_.cells && c_.joined_groups == 1) || k.packs_cells);
    });
}

// What is packed has this type.
ElementType WeightPacking::packed_type() const noexcept { return packing_ ? packed_weight_type(kernel_) : given_.type; }

// Where channels become innermost, kernel positions are one dimension of the helper's two.
bool WeightPacking::joins_taps() const noexcept {
    return kernel_.weight_layout == WeightLayout::channels_innermost && packing_->family == Family::weight_packing;
}

// Panels are packed a run at a time (generators/channel_panel_packing.cpp), in the order in which it lies.
bool WeightPacking::packs_panels() const noexcept { return kernel_.weight_layout == WeightLayout::channel_panels; }

// Whether channels that are summed lie inside of taps, as those of the output do in channels_last.
bool WeightPacking::sums_inside() const noexcept { return transposed_ && channels_innermost(given_); }

// The caller's weight as (kx, ky, kz, channel, summed channel, group). There the channel of the output lies inside that
// of the input, and groups outside of both; but parts of a sum are groups inside of the channels that they share.
// Kernel positions are innermost, or channels of the output.
View WeightPacking::given() const {
    const int64_t inside = transposed_ ? summed_ * c_.parts_in_groups() : channels_;
    const auto [of_layout, inner] = LayoutStrides(given_.layout, inside, taps_);
    const int64_t tap = taps_outside_ > 1 ? inside / taps_outside_ : of_layout;
    const int64_t outer = taps_ * inside, group = outer * (transposed_ ? channels_ : summed_);
    if (packs_panels()) {
        // One of taps and what is summed lies inside of the other, often in one run.
        int64_t first = taps_, step = tap, second = summed_, next = transposed_ ? inner : outer;
        if (sums_inside()) std::swap(first, second), std::swap(step, next);
        if (next == first * step) first *= std::exchange(second, 1);
        View runs(from_, from_offset_, {first, 1, channels_, second, groups_}, given_.type);
        return runs.set_stride(0, step).set_stride(2, transposed_ ? outer : inner).set_stride(3, next).set_stride(4, group);
    }
    const Extents window = joins_taps() ? Extents{taps_ * taps_outside_, 1} : window_;
    View view(from_, from_offset_ + (mirrored_ ? (taps_ - 1) * tap : 0),
              joined(window, {channels_, summed_ / taps_outside_, groups_ * c_.joined_groups}), given_.type);
    const int rank = static_cast<int>(window.size());
    int64_t stride = mirrored_ ? -tap : tap;
    for (int i = 0; i < rank; stride *= window[i++]) {
        view.set_stride(i, stride);
        if (c_.cells && i == 0) {
            view.set_min(i, c_.cells->lead);
            continue;
        }
        if (joins_taps() || !mirrored_) continue;
        // Turned round, phases that lack a tap come first.
        view.set_min(i, packed_window_[i] * channel_phases_[i] * summed_phases_[i] - window_[i]);
    }
    view.set_stride(rank, transposed_ ? outer : inner).set_stride(rank + 1, transposed_ ? inner : outer);
    const bool parts_inside = transposed_ && c_.parts_in_groups() > 1;
    return view.set_stride(rank + 2, parts_inside ? inner * summed_ / taps_outside_ : group);
}

// Both as one row of channels, which lanes read line by line.
View WeightPacking::row_of_phases() const {
    const int rank = static_cast<int>(window_.size());
    const int64_t row = taps_ * channels_;
    View view(from_, from_offset_, joined(Extents(window_.size(), 1), {row, summed_, groups_}), given_.type);
    return view.set_stride(rank, 1).set_stride(rank + 1, row).set_stride(rank + 2, row * summed_);
}

// The caller's weight as a kernel reads it that packs nothing: (kx, ky, kz, channel of the output, of the input, group). Tensor
// maps demand the strides of rows of channels, which a weight of one position has, too.
View WeightPacking::as_given(const LaunchRange &range) const {
    const bool phases = maps_weights_of_phases(kernel_);  // of each channel, which are its kernel positions
    const int64_t taps = phases ? 1 : taps_;
    const Extents window = phases ? Extents(window_.size(), 1) : window_;
    const int64_t out = (transposed_ ? summed_ : channels_) * (phases ? taps_ : 1), in = transposed_ ? channels_ : summed_;
    const int64_t inside = out * (transposed_ ? c_.parts_in_groups() : 1);
    const Layout layout = turned_ || (maps_weights(kernel_) && taps == 1) ? Layout::channels_last : given_.layout;
    const auto [tap, inner] = LayoutStrides(layout, inside, taps);
    const int64_t group = inside > out ? inner * out : in * out * taps;
    // Kernels that read single taps read them turned round where they are.
    const bool turned_round = mirrored_ && stages_columns(kernel_);
    const int64_t first = turned_round ? (taps - 1) * tap : 0;
    const Operand operand = turned_ ? packed_ : from_;
    View view(operand, (turned_ ? 0 : from_offset_) + range.first_group * group + first,
              joined(window, {out, in, range.groups}), given_.type);
    int64_t stride = turned_round ? -tap : tap;
    for (int i = 0; i < kernel_.rank; stride *= window[i++]) view.set_stride(i, stride);
    return view.set_stride(kernel_.rank, inner)
        .set_stride(kernel_.rank + 1, taps * inside)
        .set_stride(kernel_.rank + 2, group);
}

// Of every input channel, output channels at each kernel position, as PackedRows packs those of pictures.
View WeightPacking::rows() const {
    const int64_t row = packed_row_channels(kernel_, c_);
    View rows(packed_, 0, {taps_, row, 1, channels_ * groups_}, packed_type());
    return rows.set_stride(0, row).set_stride(1, 1).set_stride(3, taps_ * row);
}

Step WeightPacking::row_step() const {
    const auto [tap, channel] = LayoutStrides(given_.layout, summed_, taps_);
    View from(from_, from_offset_, {taps_, summed_, 1, channels_ * groups_}, given_.type);
    return rows_->step(from.set_stride(0, tap).set_stride(1, channel).set_stride(3, taps_ * summed_), rows());
}

Step WeightPacking::turning_step() const {
    const TurnedPicture weight = weight_picture(c_);
    const Extents extents{weight.channels, weight.positions, 1, weight.images};
    return conv_transpose::turning_step(kernel_.device, View(from_, from_offset_, extents, given_.type),
                                        View(packed_, 0, extents, given_.type));
}

// As as_given() has them.
View WeightPacking::view_of_rows(const LaunchRange &range) const {
    const int64_t row = packed_row_channels(kernel_, c_), of_channel = taps_ * row;
    View view(packed_, range.first_group * channels_ * of_channel, joined(window_, {row, channels_, range.groups}), packed_type());
    int64_t stride = row;
    for (int i = 0; i < kernel_.rank; stride *= window_[i++]) view.set_stride(i, stride);
    return view.set_stride(kernel_.rank, 1)
        .set_stride(kernel_.rank + 1, of_channel)
        .set_stride(kernel_.rank + 2, channels_ * of_channel);
}

// Of the packed weight, where anything packs.
int64_t WeightPacking::packed_elements() const {
    if (rows_) return channels_ * groups_ * taps_ * packed_row_channels(kernel_, c_);
    if (turned_) return weight_picture(c_).elements();
    return packing_ ? product(packed_extents(groups_)) : 0;
}

int64_t WeightPacking::converted_elements() const { return channels_ * summed_ * groups_ * c_.joined_groups * taps_; }

int64_t WeightPacking::packed_bytes() const {
    const int64_t converted = bytes_of(given_.type) * (from_offset_ + converted_elements());
    return conversion_ ? converted : bytes_of(packed_type()) * packed_elements();
}

void WeightPacking::add_to(Recipe &recipe) {
    if (!packs() && !conversion_) return;
    if (c_.weight_operand == Operand::weight) return recipe.add_weight_packing(steps(), packed_bytes());
    packed_ = recipe.add_region("packed weight", packed_bytes());
    recipe.add(step());
}

std::vector<Step> WeightPacking::steps() const {
    std::vector<Step> all;
    if (conversion_) all.push_back(conversion_step());
    if (packs()) all.push_back(step());
    return all;
}

Step WeightPacking::conversion_step() const {
    const Extents all{converted_elements(), 1, 1, 1};
    return Launch<Family::channel_packing>(*conversion_)
        .set("picture", View(c_.weight_operand, 0, all, c_.weight_format.type))
        .set("packed", View(packed_, from_offset_, all, given_.type))
        .step();
}

Step WeightPacking::step() const {
    if (rows_) return row_step();
    if (turned_) return turning_step();
    switch (packing_->family) {
        case Family::gemm_weight_packing: return gemm_step();
        case Family::tensor_core_weight_packing: return tensor_core_step();
        default: return Launch<Family::weight_packing>(*packing_).set("weight", given()).set("packed", packed_array()).step();
    }
}

Step WeightPacking::gemm_step() const {
    const bool row = phases_are_row(kernel_, c_);
    const Extents channel_phases = row || phases_are_apart(kernel_, c_) ? Extents(window_.size(), 1) : channel_phases_;
    // Outputs lie a position of the kernel apart, inputs a stride, against it.
    const int64_t inputs_apart = c_.cells ? -c_.cells->given.width().stride : 0;
    const bool writes_inputs = joins_positions(c_) && c_.operation == Operation::input_gradient;
    return Launch<Family::gemm_weight_packing>(*packing_)
        .set("weight", row ? row_of_phases() : given())
        .set("packed", packed_runs())
        .set_axes("channel_phases", channel_phases)
        .set_axes("summed_phases", summed_phases_)
        .set("summed_channels", c_.cells ? c_.cells->channels : round_up(packed_summed_, kernel_.weight_in_channel_multiple))
        .set("summed_step", writes_inputs ? 1 : inputs_apart)
        .set("phase_step", writes_inputs ? inputs_apart : 1)
        .set("tap_step", joins_positions(c_) ? c_.cells->outputs : channel_phases[0] * summed_phases_[0])
        .set("dilation", c_.cells ? c_.cells->given.width().dilation : 1)
        .set("joined_groups", c_.joined_groups)
        .step();
}

// As (16 bytes of 64 channels, tap, the rest), or as a row of elements. Phases that are packed as taps lie where the product has
// them.
View WeightPacking::packed_runs() const {
    const int64_t all = product(packed_extents(groups_));
    if (kernel_.weight_layout == WeightLayout::channels_innermost) return View(packed_, 0, {all, 1, 1, 1, 1}, packed_type());
    const bool apart = phases_are_apart(kernel_, c_);
    const int64_t run = 64 * 16 / bytes_of(packed_type()), taps = apart ? taps_ : product(packed_window_);
    const int64_t rest = all / (run * taps);
    View runs(packed_, 0, {run, taps, rest, 1, 1}, packed_type());
    return apart ? runs.set_stride(1, rest * run).set_stride(2, run) : runs;
}

// A phase's taps lie together, unless the kernel is for any stride.
Step WeightPacking::tensor_core_step() const {
    Problem phases;
    phases.height().stride = std::max<int64_t>(kernel_.stride.height, 1);
    phases.width().stride = std::max<int64_t>(kernel_.stride.width, 1);
    phases.height().padding = kernel_.padding_phase.height, phases.width().padding = kernel_.padding_phase.width;
    return Launch<Family::tensor_core_weight_packing>(*packing_)
        .set("weight", given())
        .set_axes("stride", phases, [](const Axis &a) { return a.stride; })
        .set_axes("padding_phase", phases, [](const Axis &a) { return a.padding; })
        .set("packed", View(packed_, 0, packed_extents(groups_), packed_type()))
        .step();
}

// What is packed, as a helper writes it that knows no phases.
View WeightPacking::packed_array() const {
    if (packs_panels()) return packed_panels();
    const Extents of_joined_taps{packed_channels_, taps_ * taps_outside_, 1, summed_ / taps_outside_, groups_};
    return View(packed_, 0, joins_taps() ? of_joined_taps : packed_extents(groups_), packed_type());
}

View WeightPacking::packed_panels() const {
    const int64_t lanes = kernel_.weight_channel_multiple, tap = lanes * packed_summed_;
    const int64_t panels = packed_channels_ / lanes * groups_;
    View packed(packed_, mirrored_ ? (taps_ - 1) * tap : 0, {lanes, packed_summed_, taps_, 1, panels}, packed_type());
    if (mirrored_) packed.set_stride(2, -tap);
    if (kernel_.sums_pairs)
        packed = View(packed_, 0, {lanes, packed_summed_ / 2, taps_, 2, panels}, packed_type())
                     .set_stride(0, 2).set_stride(1, 2 * lanes).set_stride(2, tap).set_stride(3, 1).set_stride(4, tap * taps_);
    if (kernel_.taps_innermost) packed.set_stride(1, lanes * taps_).set_stride(2, lanes);
    if (sums_inside()) packed.exchange(1, 2);
    return packed;
}

View WeightPacking::view(const LaunchRange &range) const {
    if (rows_) return view_of_rows(range);
    if (!packing_) return as_given(range);
    Extents extents = packed_extents(kernel_.packs_groups ? 1 : range.groups);
    // One array has as many dimensions as any weight.
    if (kernel_.weight_tile != 0) extents.resize(kernel_.rank + 3, 1);
    if (kernel_.packs_groups) return View(packed_, 0, extents, packed_type());
    return View(packed_, range.first_group * product(extents) / range.groups, extents, packed_type());
}

Extents WeightPacking::packed_extents(int64_t groups) const {
    const int64_t lanes = kernel_.weight_channel_multiple, tiles = packed_channels_ / lanes * groups;
    switch (kernel_.weight_layout) {
        case WeightLayout::channels_innermost: return joined(joined({packed_channels_}, packed_window_), {summed_, groups});
        // The last dimension counts tiles of channels.
        case WeightLayout::channel_tiles: return joined(joined({lanes}, window_), {summed_, tiles});
        case WeightLayout::channel_panels:
            if (kernel_.sums_pairs) return joined(joined({2 * lanes, packed_summed_ / 2}, window_), {tiles});
            return joined(joined({lanes, packed_summed_}, window_), {tiles});
        case WeightLayout::winograd:
            return {lanes, summed_, kernel_.winograd_points.width * c_.problem.width().stride,
                    kernel_.winograd_points.height * c_.problem.height().stride, tiles};
        default: return {tensor_core_elements() * groups, 1, 1, 1, 1};
    }
}

// The packed weights of one group in tiles for tensor cores: see generators/tensor_core_packing.cpp, and for kernels of
// any kernel size layouts::tensor_core_weights.
int64_t WeightPacking::tensor_core_elements() const noexcept {
    const int64_t summed = round_up(packed_summed_, kernel_.weight_in_channel_multiple);
    if (kernel_.kernel != Size2{}) return packed_channels_ / kernel_.weight_channel_multiple * kernel_.weight_tile * summed;
    const PerDimension<int64_t> extents(1,
                                        {{Dimension::channel, channels_ * c_.joined_groups * product(channel_phases_)},
                                         {Dimension::summed, summed},
                                         {Dimension::x, product(packed_window_)},
                                         {Dimension::piece, kernel_.precision == Precision::tf32x3 ? 2 : 1}});
    return layouts::tensor_core_weights(static_cast<int>(16 / bytes_of(packed_type()))).elements(extents);
}

}  // namespace conv_transpose
