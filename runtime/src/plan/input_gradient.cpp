// The input gradient as a recipe.
#include "choice/picture_frame.h"
#include "choice/registry.h"
#include "plan/builders.h"
#include "plan/flat_tile_arguments.h"
#include "plan/packed_rows.h"
#include "plan/partial_outputs.h"
#include "plan/strided_axes.h"
#include "plan/turned_pictures.h"
#include "plan/weight_packing.h"

namespace conv_transpose {

Recipe input_gradient_recipe(const Candidate &candidate) {
    const KernelTraits &k = candidate.kernel;
    Recipe recipe(k.device);
    const TurnedPictures turned(recipe, k.device, candidate.computation);
    const Computation &c = turned.seen();
    const Problem &p = c.problem;
    WeightPacking weights(k, c);
    weights.add_to(recipe);
    const PartialOutputs parts(recipe, c, k);
    const PackedRows rows(k, c);
    const LaunchRanges ranges = LaunchRanges(p, output_positions(p), rows.elements()).on_one_grid_axis();
    const Operand packed_picture =
        rows.needed() ? recipe.add_region("packed picture", bytes_of(c.read_format.type) * ranges.images *
                                                                ranges.groups * rows.elements())
                      : c.read;
    recipe.add_launches({p.batch, ranges.images}, {p.groups, ranges.groups}, [&](const LaunchRange &range) {
        View to = parts.needed() ? parts.view(p, k.rank, [](const Axis &a) { return a.input; }, range)
                                 : parts.same_for_all_parts(input_pictures(c.written, p, k.rank, range, c.written_format),
                                                            k.rank + 1);
        std::vector<Step> steps;
        View from = rows.needed() ? rows.add_packing(steps, c.read, packed_picture, range)
                                  : output_pictures(c.read, p, k.rank, range, c.read_format);
        begin_at_padding(from, p, k.rank);
        if (k.packs_groups && is_flat(k)) from.exchange(k.rank, k.rank + 1), to.exchange(k.rank, k.rank + 1);
        const auto set_all = [&]<Family family>(Launch<family> launch) {
            return launch.set("output_gradient", from).set("weight", weights.view(range)).set("input_gradient", to);
        };
        if (k.family != Family::flat_input_gradient) {
            auto launch = set_all(launch_with_axes<Family::input_gradient>(k, p));
            if (k.box_positions > 0) launch.add_map("output_gradient", picture_map(k, p, from));
            if (maps_weights(k)) launch.add_map("weight", weight_map(k, weights.view(range)));
            if (k.stored_box_channels > 0) launch.add_map("input_gradient", stored_map(k, p, to));
            steps.push_back(launch.step());
            return steps;
        }
        auto launch = set_all(launch_with_axes<Family::flat_input_gradient>(k, p));
        steps.push_back(set_flat_tiles(launch, k, p).step());
        return steps;
    });
    parts.add_sum(recipe, {});
    turned.turn_result(recipe);
    return recipe;
}

}  // namespace conv_transpose
