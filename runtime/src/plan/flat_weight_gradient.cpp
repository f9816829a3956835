// The weight gradient as a recipe, for flat matrix products.
#include "choice/flat_gradient_tiles.h"
#include "plan/builders.h"
#include "plan/strided_axes.h"
#include "plan/sum_of_parts.h"

namespace conv_transpose {

Recipe flat_weight_gradient_recipe(const Candidate &candidate) {
    const KernelTraits &k = candidate.kernel;
    const Computation &c = candidate.computation;
    const Problem &p = c.problem;
    const LaunchRanges ranges(p, output_positions(p));
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const LayoutStrides entries(c.weight_format.layout, out, taps(p));
    const FlatGradientTiles tiles(k, p, ranges.images, k.joins_row_taps || (entries.channel == 1 && taps(p) > 1));

    Recipe recipe(k.device);
    const SumOfParts sum(recipe, k, p.weight_elements(), ceil_divide(p.batch, ranges.images) * tiles.parts, c.written,
                         c.weight_format.type);
    recipe.add_launches({p.batch, ranges.images}, {p.groups, ranges.groups}, [&](const LaunchRange &range) {
        const int64_t first_part = range.first_image / ranges.images * tiles.parts;
        View to(sum.first_pass(), first_part * p.weight_elements() + range.first_group * in * out * taps(p),
                {out * taps(p), in, range.groups, tiles.parts});
        to.set_stride(3, p.weight_elements());
        View in_view = input_pictures(c.read, p, k.rank, range, c.read_format),
             out_view = padded_output_pictures(Operand::output_gradient, p, k.rank, range, c.written_format);
        if (k.packs_groups) {
            in_view.exchange(k.rank, k.rank + 1), out_view.exchange(k.rank, k.rank + 1);
            to.exchange(1, 2);
        }
        return std::vector{
            launch_with_axes<Family::flat_weight_gradient>(k, p)
                .set("input", in_view)
                .set("output_gradient", out_view)
                .set("segment_cells", tiles.segment_cells)
                .set("tile_rows", tiles.tile_rows)
                .set("part_segments", tiles.part_segments)
                .set("part_tiles", tiles.part_tiles)
                .set("block_inputs", tiles.block_inputs)
                .set("block_outputs", tiles.block_outputs)
                .set("tap_entries", entries.position)
                .set("channel_entries", entries.channel)
                .set("partial", to)
                .step()};
    });
    sum.add_to(recipe);
    return recipe;
}

}  // namespace conv_transpose
