// Weight packing for implicit matrix products, of any rank and element format. For tensor cores the order is
// layouts::tensor_core_weights, and values are converted to what those multiply; for CUDA cores channels are innermost.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "algorithm/tensor_layout.h"
#include "algorithm/weight_layouts.h"
#include "generators/format_text.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (kx, ky, kz, channel, summed channel, group) becomes one array. What lies outside of the weights is zero.
///
/// Phases may be channels of the product, of those that are computed (channel_phases a dimension) or of those that are
/// summed over (summed_phases): tap t of phase r is kernel position t * phases + r. Phases run faster than the channels,
/// x first; those that are computed slower, where phases_outermost says so.
class PackGemmWeights : public Halide::Generator<PackGemmWeights>, public DescribedGenerator {
  public:
    GeneratorParam<int> rank{"rank", 2};
    GeneratorParam<std::string> format{"format", "f16"};
    /// What the weights are given in: mixed precision has float32 weights for operands of 16 bits.
    GeneratorParam<Storage> given{"given", Storage::f32, storage_names()};

    GeneratorParam<bool> phases_outermost{"phases_outermost", false};
    /// Summed channels may be those of neighbours of a row, `summed_channels` of each, and computed ones those of `channel_phases`
    /// neighbours: from one to the next are `summed_step` and `phase_step` positions of the kernel, from tap to tap `tap_step`,
    /// and kernels are spread by `dilation` (runtime/src/choice/input_cells.h).
    /// Then `joined_groups` of the weight's groups are one, too: between channels of two of them there is zero.
    GeneratorParam<bool> packs_cells{"packs_cells", false};

    Input<Halide::Buffer<>> weight{"weight"};

    void configure() {
        const auto named = format_named(format.value());
        if (!named) throw std::invalid_argument("format is '" + format.value() + "', which is no name of a format");
        format_ = *named;
        weight.set_type(halide_type(given)), weight.set_dimensions(rank + 3);
        static const std::array<std::string, 3> names{"width", "height", "depth"};
        for (int d = 0; d < rank; d++) {
            channel_phases_.push_back(add_input<int>("channel_phases_" + names[d]));
            summed_phases_.push_back(add_input<int>("summed_phases_" + names[d]));
        }
        summed_channels_ = add_input<int>("summed_channels"), summed_step_ = add_input<int>("summed_step");
        phase_step_ = add_input<int>("phase_step"), tap_step_ = add_input<int>("tap_step");
        dilation_ = add_input<int>("dilation"), joined_groups_ = add_input<int>("joined_groups");
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), 5);
    }

    void generate() {
        using enum Dimension;
        const bool for_tensor_cores = format_.on_tensor_cores();
        const TensorLayout layout = for_tensor_cores ? layouts::tensor_core_weights(format_.values_of_16_bytes())
                                                     : layouts::channels_innermost;
        const PerDimension<Expr> extents = packed_extents(layout);
        const Func given = zero_outside_of_weight();
        const auto element = [&](const std::vector<Expr> &summed_phases) {
            Place at = place_of_element(layout, extents, summed_phases);
            std::vector<Expr> index = kernel_position(at, summed_phases);
            if (packs_cells) index[0] = position_in_cell(at, summed_phases);
            if (packs_cells) find_in_group(at);
            // The clamp tells bounds inference what the quotients cannot.
            index.insert(index.end(), {at.of[channel], at.of[summed], clamp(at.of[group], 0, groups() - 1)});
            return for_tensor_cores ? operand_piece(format_, given(index), at.of[piece], get_target()) : given(index);
        };
        const Expr general = element(values_of(summed_phases_));
        (*packed_)(i, tap, rest, three, four) =
            rows_are_found_together()
                ? select(joined_groups() > 1 || has_whole_rows(), element(std::vector<Expr>(rank, 1)), general)
                : general;
    }

    void schedule() {
        using namespace Halide;
        add_passes_of_any_kernel(get_pipeline());
        weight.dim(0).set_stride(Expr());
        for (int d = rank; d < rank + 3; d++) weight.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) packed_->dim(d).set_min(0);
        // A thread finds the place of a row of 16 bytes once: that costs more than to move it.
        const int values = format_.values_of_16_bytes();
        packed_->dim(0).set_extent(packed_->dim(0).extent() / values * values);
        // Rows are stored at once: by single values 38 MB took 75 us on an H200, of which memory takes 18.
        for (int d = 1; d < 5; d++) packed_->dim(d).set_stride(packed_->dim(d).stride() / values * values);
        packed_->set_host_alignment(16);
        Func all(*packed_);
        Var block{"block"}, thread{"thread"}, value{"value"};
        if (!get_target().has_gpu_feature()) {
            all.split(i, i, value, values)
                .vectorize(value)
                .split(i, block, thread, 256, TailStrategy::GuardWithIf)
                .parallel(block);
            return;
        }
        if (!format_.on_tensor_cores()) {
            all.split(i, i, value, values).vectorize(value).split(i, block, thread, 256, TailStrategy::GuardWithIf)
                .gpu_blocks(block).gpu_threads(thread).never_partition_all();
            return;
        }
        packed_->dim(0).set_bounds(0, 64 * values);
        packed_->dim(2).set_extent(packed_->dim(2).extent() / rows_at_once() * rows_at_once());
        // Without phases that are summed over, nothing is divided for each value. Otherwise, and where groups are joined, few
        // weights are few threads that divide for long (20 to 10 channels, eight neighbours joined: 5.5 us): there each has a row.
        const Expr has_few = packed_->dim(1).extent() * packed_->dim(2).extent() <= few_rows;
        if (packs_cells) {
            Halide::Stage of_groups = all.specialize(*joined_groups_ > 1);
            schedule_lanes(of_groups.specialize(has_few), false);
            schedule_lanes(of_groups, true);
        }
        schedule_lanes(all.specialize(has_whole_rows()), true);
        schedule_lanes(all.specialize(has_few), false);
        // Input gradients alone sum over phases: their channels lie apart in any weights.
        schedule_lanes(all, true, packs_cells);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::gemm_weight_packing, get_target(), "weight_packing");
        description.set("weight_layout", enumerator(format_.on_tensor_cores() ? gemm_weight_layout(format_)
                                                                              : WeightLayout::channels_innermost));
        description.set("weight", format_text(given));
        description.set("output", format_text(format_.operand()));
        description.set("rank", rank);
        if (phases_outermost) description.set("phases_outermost", "true");
        if (packs_cells) description.set("packs_cells", "true");
    }

  private:
    bool rows_are_found_together() { return get_target().has_gpu_feature() && format_.on_tensor_cores(); }

    // A thread has rows of as many neighbouring eights (or fours) of summed channels, of which chunks have a multiple: where a
    // row lies takes some 300 instructions, to move it 40.
    static constexpr int eights_at_once = 4;
    int rows_at_once() const { return eights_at_once * format_.pieces(); }
    static constexpr int few_rows = 512;  // of 64 channels

    static bool all_one(const std::vector<Expr> &numbers) {
        return std::all_of(numbers.begin(), numbers.end(), [](const Expr &e) { return Halide::Internal::is_const_one(e); });
    }
    Expr sums_no_phases() const {
        Expr phases = 1;
        for (const Expr &count : values_of(summed_phases_)) phases = phases * count;
        return phases == 1;
    }

    // Nor are the channels of a neighbour cut anywhere but between rows, which is so wherever groups are joined.
    Expr has_whole_rows() {
        return packs_cells ? sums_no_phases() && *summed_channels_ % format_.values_of_16_bytes() == 0 : sums_no_phases();
    }

    // Lanes are 32 channels where those are side by side in the weights. Elsewhere a load would be one of as many lines: they
    // are eight channels, whose rows are a line of what is written, and four taps (then summed channels). Rows that are found
    // together are a thread's, or else further threads'.
    void schedule_lanes(Halide::Stage all, bool together, bool may_be_side_by_side = true) {
        using namespace Halide;
        const int values = format_.values_of_16_bytes();
        Var block{"block"}, thread{"thread"}, value{"value"}, warp{"warp"}, channels{"channels"}, row{"row"};
        all.split(rest, rest, row, rows_at_once()).split(i, i, value, values).vectorize(value);
        if (!together) {
            all.reorder(value, i, tap, row, rest).fuse(i, tap, thread).fuse(thread, row, thread).fuse(thread, rest, thread)
                .split(thread, block, thread, 256, TailStrategy::GuardWithIf)
                .gpu_blocks(block).gpu_threads(thread).never_partition_all();
            return;
        }
        all.unroll(row).reorder(value, row, i, tap, rest);
        if (may_be_side_by_side)
            all.specialize(weight.dim(rank).stride() == 1)
                .fuse(i, tap, thread)
                .fuse(thread, rest, thread)
                .split(thread, block, thread, 256, TailStrategy::GuardWithIf)
                .gpu_blocks(block)
                .gpu_threads(thread)
                .never_partition_all();
        all.fuse(tap, rest, thread)
            .split(thread, block, thread, 32, TailStrategy::GuardWithIf).split(thread, warp, thread, 4)
            .split(i, channels, i, 8).fuse(i, thread, thread).reorder({value, row, thread, warp, block, channels})
            .gpu_blocks(block, channels).gpu_threads(thread, warp).never_partition_all();
    }

    /// Coordinates of an element of what is packed, of the weights as given but for kernel positions, which are taps.
    struct Place {
        PerDimension<Expr> of;
        std::vector<Expr> channel_phase, summed_phase;
    };

    static std::vector<Expr> values_of(const std::vector<Halide::GeneratorInput<int> *> &inputs) {
        std::vector<Expr> values;
        for (const Halide::GeneratorInput<int> *input : inputs) values.push_back(*input);
        return values;
    }
    static const Expr &expr(const Expr &number) { return number; }
    static const Expr &expr(const FastNumber &number) { return number.value; }

    static constexpr Dimension axes_[] = {Dimension::x, Dimension::y, Dimension::z};
    static constexpr Dimension dimensions_[] = {Dimension::channel, Dimension::summed, Dimension::x, Dimension::y,
                                                Dimension::z, Dimension::group, Dimension::piece};

    template <class Number>
    static PerDimension<Number> counted(const PerDimension<Expr> &extents) {
        PerDimension<Number> counted(Number(1), {});
        for (Dimension d : dimensions_) counted[d] = extents[d];
        return counted;
    }

    Expr joined_groups() const { return packs_cells ? Expr(*joined_groups_) : Expr(1); }
    // A group of the product has these.
    Expr given_channels() const { return weight.dim(rank).extent() * joined_groups(); }
    Expr given_summed() const { return weight.dim(rank + 1).extent() * joined_groups(); }
    Expr groups() const { return weight.dim(rank + 2).extent(); }
    Expr run() const { return packed_->dim(0).extent(); }
    Expr taps() const { return packed_->dim(1).extent(); }

    /// The runtime fills channels up to whole tiles of the kernel, of tensor cores summed ones to whole chunks, and taps of
    /// shifted kernels to whole windows.
    PerDimension<Expr> packed_extents(const TensorLayout &layout) const {
        using enum Dimension;
        const bool for_tensor_cores = format_.on_tensor_cores();
        const int values = format_.values_of_16_bytes();
        const std::vector<Expr> channel_phases = values_of(channel_phases_), summed_phases = values_of(summed_phases_);
        Expr channels = given_channels(), summed_channels = given_summed();
        PerDimension<Expr> extents(1, {{piece, format_.pieces()}, {group, groups() / joined_groups()}});
        for (int d = 0; d < rank; d++) {
            const Expr phases = channel_phases[d] * summed_phases[d];
            extents[axes_[d]] = (weight.dim(d).extent() + phases - 1) / phases;
            channels = channels * channel_phases[d], summed_channels = summed_channels * summed_phases[d];
        }
        if (packs_cells) extents[x] = taps() / (extents[y] * extents[z]);
        extents[channel] = for_tensor_cores ? channels : 1;
        extents[summed] = for_tensor_cores ? Expr(values) : summed_channels;
        const Expr filled_up = run() * taps() * packed_->dim(2).extent() / layout.elements<Expr>(extents);
        if (for_tensor_cores) extents[summed] = filled_up * values;
        else extents[channel] = filled_up;
        return extents;
    }

    Func zero_outside_of_weight() const {
        Halide::Region inside;
        for (int d = 0; d < rank + 2; d++) inside.emplace_back(weight.dim(d).min(), weight.dim(d).extent());
        inside.emplace_back(Expr(), Expr());
        return Halide::BoundaryConditions::constant_exterior(weight, Halide::Internal::make_zero(weight.type()), inside);
    }

    Place place_of_element(const TensorLayout &layout, const PerDimension<Expr> &extents,
                           const std::vector<Expr> &summed_phases) {
        if (rows_are_found_together()) return place_in_rows(extents, summed_phases);
        const Expr number = i + run() * (tap + taps() * rest);
        if (get_target().has_gpu_feature())
            return place(layout.coordinates<FastNumber>(number, counted<FastNumber>(extents)), summed_phases);
        return place(layout.coordinates<Expr>(number, counted<Expr>(extents)), summed_phases);
    }

    std::vector<Expr> kernel_position(const Place &at, const std::vector<Expr> &summed_phases) const {
        std::vector<Expr> position;
        for (int d = 0; d < rank; d++)
            position.push_back(at.of[axes_[d]] * Expr(*channel_phases_[d]) * summed_phases[d] + at.channel_phase[d] +
                               at.summed_phase[d]);
        return position;
    }

    /// Neighbours are channels: finds the own summed channel of one, and returns the position in the kernel, which begins where the
    /// weight does, that it and the computed channel's neighbour are apart, or one outside. Channels of a neighbour are whole rows;
    /// where phases are summed over, it is one.
    Expr position_in_cell(Place &at, const std::vector<Expr> &summed_phases) {
        using enum Dimension;
        const int of_row = rows_are_found_together() && all_one(summed_phases) ? format_.values_of_16_bytes() : 1;
        const FastNumber channels(*summed_channels_ / of_row), of_cell(at.of[summed] / of_row);
        at.of[summed] = (of_cell % channels).value * of_row + at.of[summed] % of_row;
        const Expr first = weight.dim(0).min(), neighbour = (of_cell / channels).value * *summed_step_,
                   apart = at.of[x] * *tap_step_ + at.channel_phase[0] * *phase_step_ + at.summed_phase[0] + neighbour - first;
        const FastNumber spread(max(apart, 0)), dilation(*dilation_);
        const Expr is_tap = abs(neighbour) < Halide::cast<uint32_t>(*tap_step_) && apart >= 0 && (spread % dilation).value == 0;
        return select(is_tap, (spread / dilation).value, -1) + first;
    }

    /// Groups are joined: finds the channels of one, and which it is, or where they are of two, a channel outside.
    void find_in_group(Place &at) const {
        using enum Dimension;
        const FastNumber computed(at.of[channel]), sums(at.of[summed]), channels(weight.dim(rank).extent()),
            summed_channels(weight.dim(rank + 1).extent());
        const Expr number = (computed / channels).value,
                   is_one = number == (sums / summed_channels).value && number < joined_groups();
        const auto where_joined = [&](const Expr &joined, const Expr &single) {
            return select(joined_groups() > 1, joined, single);
        };
        at.of[group] = where_joined(at.of[group] * joined_groups() + number, at.of[group]);
        at.of[channel] = where_joined(select(is_one, (computed % channels).value, -1), computed.value);
        at.of[summed] = where_joined((sums % summed_channels).value, sums.value);
    }

    /// It finds places of layouts::tensor_core_weights, in its three dimensions: `rest` is of pieces, eights of summed
    /// channels, tiles and groups.
    Place place_in_rows(const PerDimension<Expr> &extents, const std::vector<Expr> &summed_phases) const {
        using enum Dimension;
        const int values = format_.values_of_16_bytes(), pieces = format_.pieces();
        const FastNumber together = rest / rows_at_once(), eights = (extents[summed] / (values * eights_at_once)),
                         tiles((extents[channel] + 63) / 64), of_tile = together / eights;
        PerDimension<FastNumber> at(FastNumber(0), {{piece, rest % pieces}, {group, of_tile / tiles}});
        const Expr eight = (together % eights).value * eights_at_once + rest / pieces % eights_at_once;
        at[summed] = eight * values + i % values;
        at[channel] = (of_tile % tiles).value * 64 + i / values;
        const FastNumber line = FastNumber(tap) / FastNumber(extents[x]);
        at[x] = FastNumber(tap) % FastNumber(extents[x]);
        at[y] = rank == 2 ? line : line % FastNumber(extents[y]);
        if (rank > 2) at[z] = line / FastNumber(extents[y]);
        return place(at, summed_phases);
    }

    /// A Number says how to divide.
    template <class Number>
    Place place(PerDimension<Number> at, const std::vector<Expr> &summed_phases) const {
        using enum Dimension;
        const auto take_phases = [](Number &number, const std::vector<Expr> &phases) {
            std::vector<Expr> taken;
            for (const Expr &count : phases) {
                const bool one = Halide::Internal::is_const_one(count);
                taken.push_back(one ? 0 : expr(number % Number(count)));
                if (!one) number = number / Number(count);
            }
            return taken;
        };
        Number first_channel = at[channel];
        if (phases_outermost) {
            first_channel = at[channel] % Number(given_channels());
            at[channel] = at[channel] / Number(given_channels());
        }
        Place place{PerDimension<Expr>(0, {}), take_phases(at[channel], values_of(channel_phases_)),
                    take_phases(at[summed], summed_phases)};
        // What is left of the number of a phase lies beyond the last.
        if (phases_outermost) at[channel] = first_channel + at[channel] * Number(given_channels());
        for (Dimension d : dimensions_) place.of[d] = expr(at[d]);
        return place;
    }

    Var i{"i"}, tap{"tap"}, rest{"rest"}, three{"three"}, four{"four"};  // the last have extent 1
    ElementFormat format_;
    std::vector<Halide::GeneratorInput<int> *> channel_phases_, summed_phases_;
    Halide::GeneratorInput<int> *summed_channels_ = nullptr, *summed_step_ = nullptr, *phase_step_ = nullptr, *tap_step_ = nullptr,
                                *dilation_ = nullptr, *joined_groups_ = nullptr;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackGemmWeights, pack_gemm_weights)
