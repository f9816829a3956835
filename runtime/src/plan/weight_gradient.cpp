// The weight gradient as a recipe, for kernels that read the tensors themselves.
#include "choice/weight_gradient_parts.h"
#include "plan/builders.h"
#include "plan/strided_axes.h"
#include "plan/sum_of_parts.h"
#include "plan/turned_pictures.h"

namespace conv_transpose {

Recipe weight_gradient_recipe(const Candidate &candidate) {
    const KernelTraits &k = candidate.kernel;
    Recipe recipe(k.device);
    const TurnedPictures turned(recipe, k.device, candidate.computation);
    const Computation &c = turned.seen();
    const Problem &p = c.problem;
    LaunchRanges ranges(p, output_positions(p));
    const WeightGradientParts parts(p, k, ranges.images);
    // A launch has whole parts. Kernels put (group, band) on one axis of the grid and the parts of the
    // batch on another.
    ranges.images = std::min(ranges.images / parts.images_a_part, max_grid()) * parts.images_a_part;
    ranges.groups = std::clamp<int64_t>(max_grid() / parts.bands * k.tile_groups, 1, ranges.groups);

    const SumOfParts sum(recipe, k, p.weight_elements(), parts.count(p), c.written, c.weight_format.type);
    // Nothing is read of an empty batch, but a view needs an address.
    const Operand read = p.batch > 0 ? c.read : c.written;
    const Operand gradient = p.batch > 0 ? c.gradient : c.written;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const auto launch = [&](LaunchRange range) {
        range.images = std::min(range.images, p.batch);  // 0 of an empty batch
        const int64_t first_part = range.first_image / parts.images_a_part * parts.bands;
        Extents extents = innermost_first(p, k.rank, [](const Axis &a) { return a.kernel; });
        extents.insert(extents.end(), {out, in, range.groups, parts.bands, parts.of_images(range.images)});
        View to(sum.first_pass(), first_part * p.weight_elements() + range.first_group * in * out * taps(p), extents,
                sum.first_pass_type());
        to.set_layout(c.weight_format.layout, out, k.rank);
        to.set_stride(k.rank + 3, p.weight_elements()).set_stride(k.rank + 4, p.weight_elements() * parts.bands);
        return std::vector{launch_with_axes<Family::weight_gradient>(k, p)
                               .set("input", input_pictures(read, p, k.rank, range, c.read_format))
                               .set("output_gradient", padded_output_pictures(gradient, p, k.rank, range, c.written_format))
                               .set("batch", range.images)
                               .set("band_rows", parts.rows_a_band)
                               .set("part_images", parts.images_a_part)
                               .set("partial", to)
                               .step()};
    };
    // Once for a batch of 0 as well, where the sum is 0.
    recipe.add_launches({std::max<int64_t>(p.batch, 1), ranges.images}, {p.groups, ranges.groups}, launch);
    sum.add_to(recipe);
    return recipe;
}

}  // namespace conv_transpose
