// How kernels of flat matrix products cut a weight gradient into tasks and parts of its sum (algorithm/flat_weight_gradient.h).
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_GRADIENT_TILES_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_GRADIENT_TILES_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// How a sum is cut depends on the problem alone.
struct FlatGradientTiles {
    int64_t segment_cells, tile_rows, part_segments, part_tiles;
    int64_t block_inputs, block_outputs;  ///< of a task: panels of input channels, and output channels
    int64_t parts;
    double rows;

    /// `images` are those of a launch. A task has all output channels where those of a weight are neighbours.
    FlatGradientTiles(const KernelTraits &, const Problem &, int64_t images, bool channels_inside = false);

  private:
    void share_rows(const Problem &, int64_t images, int64_t most_parts);
    void cut(const KernelTraits &, const Problem &, int64_t images, bool channels_inside, int64_t most_parts);
    void cut_into_parts(int64_t tiles, int64_t segments, int64_t tasks, int64_t most_parts);
    void take_one_tile(const KernelTraits &, const Problem &, int64_t images, bool channels_inside);
};

/// So many cells has a sum, with gaps between rows.
double gradient_places(const Problem &);

}  // namespace conv_transpose

#endif
