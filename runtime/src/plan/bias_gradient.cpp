// The bias gradient as a recipe: how its sum is cut into parts.
#include <algorithm>

#include "choice/kernel_properties.h"
#include "plan/builders.h"
#include "plan/sum_of_parts.h"

namespace conv_transpose {

namespace {

/// What one block or task adds of a channel: enough to be worth one, and so little that all have work.
struct Parts {
    int64_t slice_positions, slices, part_images, image_parts;

    Parts(const KernelTraits &k, int64_t channels, int64_t positions, int64_t images, bool single_images) {
        constexpr int64_t wanted_blocks = 2112, most_of_gpu = 256, whole_vectors = 16;
        const bool on_gpu = k.device == Device::cuda, of_lanes = channels_innermost(k.output);
        const int64_t least = on_gpu ? (of_lanes ? 512 : 4096) : of_lanes ? 1024 : 16384;
        int64_t parts = std::max<int64_t>(ceil_divide(positions * images, least), 1);
        const int64_t blocks = of_lanes ? ceil_divide(channels, 32) : channels;
        if (on_gpu) parts = std::min({parts, ceil_divide(wanted_blocks, blocks), most_of_gpu});
        const int64_t most = std::min(parts, max_grid());
        part_images = single_images ? 1 : std::max<int64_t>(ceil_divide(images, most), 1);
        image_parts = ceil_divide(images, part_images);
        const int64_t wanted_slices = std::clamp<int64_t>(parts / std::max<int64_t>(image_parts, 1), 1, max_grid());
        slice_positions = std::max(round_up(ceil_divide(positions, wanted_slices), whole_vectors), whole_vectors);
        slices = ceil_divide(positions, slice_positions);
    }
};

/// Neighbouring positions whose channels fill the lanes of a kernel that has channels innermost.
int64_t positions_of_lanes(int64_t channels, int64_t positions) {
    constexpr int64_t lanes = 64;
    return std::clamp<int64_t>(lanes / channels, 1, std::max<int64_t>(positions, 1));
}

class BiasGradientRecipe {
  public:
    explicit BiasGradientRecipe(const Candidate &candidate)
        : k_(candidate.kernel), c_(candidate.computation), format_(c_.read_format), channels_(c_.problem.out_channels),
          plane_(output_positions(c_.problem)), batch_(c_.problem.batch),
          fits_(double(batch_) * double(channels_) * double(plane_) <= double(max_elements_32bit())), recipe_(k_.device) {}

    Recipe make() && {
        if (fits_ && channels_innermost(format_)) add_rows();
        else add_pictures();
        return std::move(recipe_);
    }

  private:
    const KernelTraits &k_;
    const Computation &c_;
    const TensorFormat format_;
    const int64_t channels_, plane_, batch_;
    const bool fits_;  // a launch
    Recipe recipe_;

    SumOfParts sum_of(int64_t parts) {
        return SumOfParts(recipe_, k_, channels_, parts, c_.written, c_.weight_format.type);
    }

    Step step(const View &from, const Parts &parts, const View &to) const {
        return Launch<Family::bias_gradient>(k_)
            .set("output_gradient", from)
            .set("slice_positions", parts.slice_positions)
            .set("part_images", parts.part_images)
            .set("partial", to)
            .step();
    }

    // Positions of all images follow each other. Some of them are a row of channels, whose parts lie as those of as many more
    // slices would; what is left of them is a part.
    void add_rows() {
        const int64_t positions = batch_ * plane_, joined = positions_of_lanes(channels_, positions);
        const int64_t rows = positions / joined, rest = positions % joined, channels = joined * channels_;
        const Parts parts(k_, channels, rows, std::min<int64_t>(batch_, 1), false);
        const int64_t of_rows = joined * parts.slices * parts.image_parts;
        const SumOfParts sum = sum_of(of_rows + (rest > 0));
        const auto add = [&](int64_t first, int64_t count, int64_t width, const Parts &cut, int64_t part) {
            View from(c_.read, first * channels_, {count, width, 1}, format_.type);
            from.set_stride(0, width).set_stride(1, 1);
            recipe_.add(step(from, cut, View(sum.first_pass(), part * channels_, {width, cut.slices, 1})));
        };
        if (of_rows > 0) add(0, rows, channels, parts, 0);
        if (rest > 0) add(positions - rest, rest, channels_, Parts(k_, channels_, rest, 1, false), of_rows);
        sum.add_to(recipe_);
    }

    // Every image is a launch of its own only where one launch cannot span two of them.
    void add_pictures() {
        const Parts parts(k_, channels_, plane_, batch_, !fits_);
        const SumOfParts sum = sum_of(parts.image_parts * parts.slices);
        const LayoutStrides strides(format_.layout, channels_, plane_);
        const int64_t most_channels = most_a_launch(channels_, plane_);
        int64_t most = most_channels < channels_ ? 1 : most_a_launch(std::max<int64_t>(batch_, 1), channels_ * plane_);
        if (fits_) most = parts.image_parts;
        const int64_t most_parts = std::max<int64_t>(std::min(most, max_grid()), 1);
        recipe_.add_launches({parts.image_parts, most_parts}, {channels_, most_channels}, [&](const LaunchRange &range) {
            const int64_t n = range.first_image, channel = range.first_group;  // no groups here: channels are cut
            const Extents pictures{plane_, range.groups, fits_ ? batch_ : range.images};
            View from(c_.read, n * channels_ * plane_ + channel * strides.channel, pictures, format_.type);
            from.set_stride(0, strides.position).set_stride(1, strides.channel).set_stride(2, channels_ * plane_);
            View to(sum.first_pass(), n * parts.slices * channels_ + channel, {range.groups, parts.slices, range.images});
            return std::vector{step(from, parts, to.set_stride(1, channels_).set_stride(2, parts.slices * channels_))};
        });
        sum.add_to(recipe_);
    }
};

}  // namespace

Recipe bias_gradient_recipe(const Candidate &candidate) { return BiasGradientRecipe(candidate).make(); }

}  // namespace conv_transpose
