// How large problems are cut into launches: kernels index a launch in 32 bits.
#ifndef CONV_TRANSPOSE_RUNTIME_LAUNCH_CHUNKS_H
#define CONV_TRANSPOSE_RUNTIME_LAUNCH_CHUNKS_H

#include <algorithm>

#include "choice/launch_limits.h"
#include "conv_transpose/conv_transpose.h"
#include "plan/run_context.h"
#include "problem/counting.h"
#include "problem/size2.h"

namespace conv_transpose {

/// The number of slices of `elements` each that one launch may span, of `slices` in all.
inline int64_t slices_a_launch(int64_t slices, int64_t elements) {
    return std::clamp<int64_t>(max_elements_32bit() / std::max<int64_t>(elements, 1), 1, slices);
}

/// The images and groups of one launch.
struct LaunchSlice {
    int64_t first_image, images, first_group, groups;
};

/// How many images and groups a launch has at most.
struct LaunchChunks {
    int64_t batch = 1, groups = 1;

    /// If all groups of an image fit one launch, only the batch is cut; else every image is, along its
    /// groups.
    explicit LaunchChunks(const Problem &p) : LaunchChunks(p, output_plane(p)) {}

    /// With an output as large as the kernel sees it, and so many elements of another tensor for a group of an image.
    LaunchChunks(const Problem &p, Size2 o, int64_t packed_elements = 0) {
        const int64_t elements = std::max(std::max(p.in_channels * input_positions(p),
                                                   p.out_channels * o.height * o.width) / p.groups, packed_elements);
        groups = std::min(slices_a_launch(p.groups, elements), max_grid());
        if (groups == p.groups && p.batch > 0) batch = slices_a_launch(p.batch, p.groups * elements);
    }

    /// For kernels that put (group, batch) on one axis of the grid.
    static LaunchChunks on_one_grid_axis(const Problem &p) { return on_one_grid_axis(p, output_plane(p)); }

    static LaunchChunks on_one_grid_axis(const Problem &p, Size2 output, int64_t packed_elements = 0) {
        LaunchChunks chunks(p, output, packed_elements);
        chunks.batch = std::min(chunks.batch, std::max<int64_t>(max_grid() / chunks.groups, 1));
        return chunks;
    }

    /// Calls launch(slice) for one slice of the problem after the other; for the first alone in a rehearsal.
    template <class Launch>
    Status for_each_slice(const Problem &p, const RunContext &context, Launch launch) const {
        for (int64_t n = 0; n < p.batch; n += batch)
            for (int64_t g = 0; g < p.groups; g += groups) {
                const LaunchSlice slice{n, std::min(batch, p.batch - n), g, std::min(groups, p.groups - g)};
                if (Status s = launch(slice); !s.ok() || context.rehearsal) return s;
            }
        return {};
    }
};

}  // namespace conv_transpose

#endif
