// The forward operation as a recipe. The input gradient of a stride-1 problem is one as well (computation.h).
#include <algorithm>

#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "choice/registry.h"
#include "plan/builders.h"
#include "plan/epilogue_arguments.h"
#include "plan/flat_tile_arguments.h"
#include "plan/gather_axes.h"
#include "plan/packed_rows.h"
#include "plan/partial_outputs.h"
#include "plan/sum_of_taps.h"
#include "plan/turned_pictures.h"
#include "plan/weight_packing.h"

namespace conv_transpose {

namespace {

// The picture with channels side by side, 16 bytes of them, for kernels that read it so: packed at every launch.
class PackedChannels {
  public:
    PackedChannels(const KernelTraits &kernel, const Computation &c)
        : p_(c.problem), rank_(kernel.rank), format_(c.read_format), values_(16 / bytes_of(format_.type)) {
        if (!kernel.packed_channels) return;
        if (c.by_phases) by_phases_ = &*c.by_phases;
        packing_ = &helper_kernel(by_phases_ ? KernelRole::phase_packing : KernelRole::channel_packing, kernel.device,
                                  [&](const KernelTraits &k) { return moves_elements_of(k, format_.type); });
        planes_ = packed_planes(kernel, p_.in_channels / p_.groups);
    }

    bool needed() const { return packing_ != nullptr; }
    /// One group of an image has so many.
    int64_t elements() const { return values_ * planes_ * input_positions(p_); }

    int64_t values() const { return needed() ? values_ : 1; }

    /// As (channel % values + values * x, y, z, plane, group, image).
    View add_packing(std::vector<Step> &steps, Operand read, Operand packed, const LaunchRange &range) const {
        Extents extents = innermost_first(p_, rank_, [](const Axis &a) { return a.input; });
        extents[0] *= values_;
        extents.insert(extents.end(), {planes_, range.groups, range.images});
        const View all(packed, 0, extents, format_.type);
        if (by_phases_) {
            steps.push_back(phase_packing(read, packed, range));
            return all;
        }
        const int64_t plane = input_positions(p_), channels = p_.in_channels / p_.groups;
        steps.push_back(
            Launch<Family::channel_packing>(*packing_)
                .set("picture", pictures(read, {plane}, channels, p_.in_channels, range, format_))
                .set("packed",
                     View(packed, 0, {values_ * plane, planes_, range.groups, range.images}, format_.type))
                .step());
        return all;
    }

  private:
    const Problem &p_;
    const int rank_;
    const TensorFormat format_;
    const int64_t values_;  // of 16 bytes
    const KernelTraits *packing_ = nullptr;
    int64_t planes_ = 0;  // of a group
    const Problem *by_phases_ = nullptr;

    Step phase_packing(Operand read, Operand packed, const LaunchRange &range) const {
        constexpr int rank = 3;  // of the kernel
        Problem given = *by_phases_;
        given.groups = p_.groups;
        View picture = output_pictures(read, given, rank, range, format_);
        // Coordinates begin with the first cell that is packed: taps reach as far as its padding says.
        for (int i = 0; i < rank; i++) {
            const Axis &a = given.axes[2 - i], &cells = p_.axes[2 - i];
            picture.set_min(i, a.padding - ((cells.kernel - 1) * cells.dilation - cells.padding) * a.stride);
        }
        Extents extents = innermost_first(p_, rank, [](const Axis &a) { return a.input; });
        extents[0] *= values_;
        extents.insert(extents.end(), {planes_, range.groups, range.images});
        return Launch<Family::phase_packing>(*packing_)
            .set("picture", picture)
            .set_axes("stride", given, [](const Axis &a) { return a.stride; })
            .set("packed", View(packed, 0, extents, format_.type))
            .step();
    }
};

// The bias in float32, in which kernels add it: as given, or converted by a step of its own, which repeats it for all positions
// that are joined.
Operand float32_bias(Recipe &recipe, const KernelTraits &kernel, const Computation &c, const EpilogueArguments &epilogue) {
    const ElementType given = c.weight_format.type;
    if (!epilogue.has_bias() || given == ElementType::float32) return Operand::bias;
    const KernelTraits &conversion = helper_kernel(KernelRole::channel_packing, kernel.device, [&](const KernelTraits &k) {
        return k.input.type == given && k.output.type == ElementType::float32;
    });
    const int64_t elements = epilogue.bias_elements(c.result_channels());
    const int64_t repeated = c.cells && c.cells->joins_outputs() ? c.cells->outputs : 1;
    const Extents extents{elements / repeated, repeated, 1, 1};
    View as_given(Operand::bias, 0, {elements / repeated, 1, 1, 1}, given);
    if (repeated > 1) as_given.repeat(1, repeated);
    const Operand converted = recipe.add_region("bias in float32", sizeof(float) * elements);
    recipe.add(Launch<Family::channel_packing>(conversion)
                   .set("picture", as_given)
                   .set("packed", View(converted, 0, extents))
                   .step());
    return converted;
}

// The positions of a channel as those of one row.
View one_row(const View &picture, int rank) {
    const auto &d = picture.dimensions();
    Extents extents(rank, 1);
    for (int i = 0; i < rank; i++) extents[0] *= d[i].extent;
    for (std::size_t i = rank; i < d.size(); i++) extents.push_back(d[i].extent);
    View row(picture.operand(), picture.offset(), extents, picture.type());
    for (std::size_t i = rank; i < d.size(); i++) row.set_stride(static_cast<int>(i), d[i].stride);
    return row;
}

// Without a bias the kernel discards what it reads there; weights are at least as many.
View bias_view(const EpilogueArguments &epilogue, Operand given, const View &weight, int64_t channels, const LaunchRange &range) {
    const int64_t of_group = epilogue.bias_elements(channels);
    const Extents extents{of_group, range.groups};
    if (epilogue.has_bias()) return View(given, range.first_group * of_group, extents);
    return View(weight.operand(), weight.type() == ElementType::float32 ? weight.offset() : 0, extents);
}

Step forward_step(const KernelTraits &k, const Problem &p, const View &in, const View &weight, const View &bias, const View &out,
                  const EpilogueArguments &epilogue) {
    const auto set_all = [&]<Family family>(Launch<family> launch) {
        launch.set("input", in)
            .set("weight", weight)
            .set("bias", bias)
            .set("has_bias", epilogue.bias_kind())
            .set("activation", epilogue.activation)
            .set("slope", epilogue.slope);
        return set_gather_axes(launch, p).set("output", out);
    };
    if (k.family == Family::flat_forward) {
        auto launch = set_all(Launch<Family::flat_forward>(k));
        return set_flat_tiles(launch, k, p).step();
    }
    auto launch = set_all(Launch<Family::forward>(k));
    if (k.box_positions > 0) launch.add_map("input", picture_map(k, p, in));
    if (maps_weights(k)) launch.add_map("weight", weight_map(k, weight));
    if (k.stored_box_channels > 0) launch.add_map("output", stored_map(k, p, out));
    return launch.step();
}

}  // namespace

Recipe forward_recipe(const Candidate &candidate, const Epilogue &epilogue) {
    const KernelTraits &k = candidate.kernel;
    Recipe recipe(k.device);
    const TurnedPictures turned(recipe, k.device, candidate.computation);
    const SumOfTaps sum_of_taps(recipe, k.device, turned.seen());
    const Computation &c = sum_of_taps.seen();
    const Problem &p = c.problem;
    WeightPacking weights(k, c);
    weights.add_to(recipe);
    const PackedChannels packed(k, c);
    const PackedRows rows(k, c);
    const int64_t packed_elements = std::max(packed.elements(), rows.elements());
    const LaunchRanges ranges = LaunchRanges(p, spanned_outputs(k, p), packed_elements).on_one_grid_axis();
    const Operand packed_picture =
        packed.needed() || rows.needed()
            ? recipe.add_region("packed picture", bytes_of(c.read_format.type) * ranges.images *
                                                      ranges.groups * packed_elements)
            : c.read;
    PartialOutputs parts(recipe, c, k);
    const EpilogueArguments whole(epilogue), of_products = c.of_taps ? EpilogueArguments() : whole,
                            after_kernel = parts.needed() ? EpilogueArguments() : of_products;

    const Operand given_bias = float32_bias(recipe, k, c, whole);
    recipe.add_launches({p.batch, ranges.images}, {p.groups, ranges.groups}, [&](const LaunchRange &range) {
        std::vector<Step> steps;
        View in = packed.needed() ? packed.add_packing(steps, c.read, packed_picture, range)
                  : rows.needed() ? rows.add_packing(steps, c.read, packed_picture, range)
                                  : input_pictures(c.read, p, k.rank, range, c.read_format, c.read_pixel);
        View out = parts.needed() ? parts.view(p, k.rank, [](const Axis &a) { return a.output(); }, range)
                                  : parts.same_for_all_parts(output_pictures(c.written, p, k.rank, range, c.written_format,
                                                                             c.written_pixel), k.rank + 1);
        if (reads_one_row(k)) in = one_row(in, k.rank);
        for (int i = 0; i < k.rank; i++) {
            const Axis &a = p.axes[2 - i];
            // Whole strides of padding are moved into the input's first coordinate.
            in.set_min(i, -(a.padding / a.stride) * (i == 0 ? packed.values() : 1));
            out.begin_early(i, early_positions(k, p, a));
        }
        const View weight = weights.view(range);
        View bias = parts.same_for_all_parts(bias_view(after_kernel, given_bias, weight, p.out_channels / p.groups, range), 1);
        if (k.packs_groups && is_flat(k))
            in.exchange(k.rank, k.rank + 1), out.exchange(k.rank, k.rank + 1), bias.exchange(0, 1);
        steps.push_back(forward_step(k, p, in, weight, bias, out, after_kernel));
        return steps;
    });
    parts.add_sum(recipe, of_products, given_bias);
    sum_of_taps.add_sum(recipe, whole);
    turned.turn_result(recipe);
    return recipe;
}

}  // namespace conv_transpose
