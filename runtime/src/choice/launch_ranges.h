// How large problems are cut into launches: kernels index a launch in 32 bits. Recipe::add_launches() makes the launches.
#ifndef CONV_TRANSPOSE_RUNTIME_LAUNCH_RANGES_H
#define CONV_TRANSPOSE_RUNTIME_LAUNCH_RANGES_H

#include <algorithm>

#include "choice/launch_limits.h"
#include "problem/counting.h"

namespace conv_transpose {

/// So many things in all, and how many of them a launch has at most.
struct Cut {
    int64_t total, most;

    /// Launches of `most`, and what is left for one more.
    int64_t full() const { return total / most; }
    int64_t rest() const { return total % most; }
};

/// How many of `count` things of so many elements each one launch may span.
inline int64_t most_a_launch(int64_t count, int64_t elements) {
    return std::clamp<int64_t>(max_elements_32bit() / std::max<int64_t>(elements, 1), 1, count);
}

/// The images and groups of one launch.
struct LaunchRange {
    int64_t first_image, images, first_group, groups;
};

/// How many images and groups a launch has at most.
struct LaunchRanges {
    int64_t images = 1, groups = 1;

    /// If all groups of an image fit one launch, only the batch is cut; else every image is, along its groups.
    /// `output_elements` are those of a channel as the kernel sees them, `packed_elements` those of another tensor for
    /// a group of an image.
    LaunchRanges(const Problem &p, int64_t output_elements, int64_t packed_elements = 0) {
        const int64_t elements = std::max(
            std::max(p.in_channels * input_positions(p), p.out_channels * output_elements) / p.groups, packed_elements);
        groups = std::min(most_a_launch(p.groups, elements), max_grid());
        if (groups == p.groups && p.batch > 0) images = most_a_launch(p.batch, p.groups * elements);
    }

    /// For kernels that put (group, image) on one axis of the grid.
    LaunchRanges on_one_grid_axis() const {
        LaunchRanges ranges = *this;
        ranges.images = std::min(images, std::max<int64_t>(max_grid() / groups, 1));
        return ranges;
    }
};

}  // namespace conv_transpose

#endif
