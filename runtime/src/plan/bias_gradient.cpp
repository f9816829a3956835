// The bias gradient as a recipe: how its sum is cut into parts.
#include "plan/builders.h"
#include "plan/sum_of_parts.h"

namespace conv_transpose {

Recipe bias_gradient_recipe(const Candidate &candidate) {
    constexpr int64_t positions_a_slice = 16384;
    const KernelTraits &k = candidate.kernel;
    const Problem &p = candidate.computation.problem;
    const int64_t plane = output_positions(p);
    const int64_t slice_positions = std::max(positions_a_slice, plane / max_grid() + 1);
    const int64_t slices = ceil_divide(plane, slice_positions);
    Recipe recipe(k.device);
    const SumOfParts sum(recipe, k, p.out_channels, p.batch * slices, candidate.computation.written,
                         candidate.computation.weight_format.type);
    const TensorFormat format = candidate.computation.read_format;
    const LayoutStrides strides(format.layout, p.out_channels, plane);

    // Every image is a launch of its own only where one launch cannot span two of them.
    const int64_t most_channels = most_a_launch(p.out_channels, plane);
    const int64_t most_images =
        most_channels < p.out_channels
            ? 1
            : std::min(most_a_launch(std::max<int64_t>(p.batch, 1), p.out_channels * plane), max_grid());
    recipe.add_launches({p.batch, most_images}, {p.out_channels, most_channels}, [&](const LaunchRange &range) {
        const int64_t n = range.first_image, images = range.images;
        const int64_t c = range.first_group, channels = range.groups;  // no groups here: channels are cut
        View to(sum.first_pass(), n * slices * p.out_channels + c, {channels, slices, images});
        View from(candidate.computation.read, n * p.out_channels * plane + c * strides.channel,
                  {plane, channels, images}, format.type);
        from.set_stride(0, strides.position).set_stride(1, strides.channel);
        return std::vector{Launch<Family::bias_gradient>(k)
                               .set("output_gradient", from.set_stride(2, p.out_channels * plane))
                               .set("slice_positions", slice_positions)
                               .set("partial", to.set_stride(1, p.out_channels))
                               .step()};
    });
    sum.add_to(recipe);
    return recipe;
}

}  // namespace conv_transpose
