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
    const SumOfParts sum(recipe, k.device, p.out_channels, p.batch * slices, candidate.computation.written);

    // Every image is a launch of its own only where one launch cannot span two of them.
    const int64_t most_channels = most_a_launch(p.out_channels, plane);
    const int64_t most_images =
        most_channels < p.out_channels
            ? 1
            : std::min(most_a_launch(std::max<int64_t>(p.batch, 1), p.out_channels * plane), max_grid());
    for (int64_t n = 0; n < p.batch; n += most_images)
        for (int64_t c = 0; c < p.out_channels; c += most_channels) {
            const int64_t channels = std::min(most_channels, p.out_channels - c);
            const int64_t images = std::min(most_images, p.batch - n);
            View to(sum.first_pass(), n * slices * p.out_channels + c, {channels, slices, images});
            to.set_stride(1, p.out_channels);
            recipe.add(Launch<Family::bias_gradient>(k)
                           .set("output_gradient", View(candidate.computation.read, (n * p.out_channels + c) * plane,
                                                        {plane, channels, images}))
                           .set("slice_positions", slice_positions)
                           .set("partial", to)
                           .step(),
                       n + c > 0);
        }
    sum.add_to(recipe);
    return recipe;
}

}  // namespace conv_transpose
