// How kernels of flat matrix products cut a problem into tiles (algorithm/flat_places.h). What a tile computes does not
// depend on its shape: results are the same bits whatever is chosen here.
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Flat kernels of the forward operation and of the input gradient count, a weight gradient's do not.
inline bool is_flat(const KernelTraits &k) {
    return k.family == Family::flat_forward || k.family == Family::flat_input_gradient;
}

/// Where groups are the channels, a channel is summed alone.
struct FlatChannels {
    double summed;
    int64_t computed, groups;

    FlatChannels(const KernelTraits &k, const Problem &p) {
        const bool forward = k.operation == Operation::forward;
        groups = k.packs_groups ? 1 : p.groups;
        summed = double(forward ? p.in_channels : p.out_channels) / double(p.groups);
        computed = (forward ? p.out_channels : p.in_channels) / groups;
    }
};

struct FlatTiles {
    /// A tile has so many rows of cells, of so many cells each along x; so many panels of channels share it.
    int64_t segment_cells, tile_rows, block_panels;
    double rows;  ///< of all images, with gaps; more than an int64_t counts, where images are many
    /// To compare kernels for one problem with: places that are computed for each channel of whole panels, by the rate.
    double relative_time;

    /// The formats matter to the time alone.
    FlatTiles(const KernelTraits &, const Problem &, TensorFormat read = {}, TensorFormat written = {});
};

/// To compare CPU kernels for one problem with, those that have a rate: flat products, and others that they compete with.
double relative_time(const KernelTraits &, const Problem &, TensorFormat read, TensorFormat written);

/// A weight gradient has these (algorithm/flat_weight_gradient.h). How its sum is cut depends on the problem alone.
struct FlatGradientTiles {
    int64_t segment_cells, tile_rows, part_segments, part_tiles;
    int64_t block_inputs, block_outputs;  ///< of a task: panels of input channels, and output channels
    int64_t parts;
    double rows;

    /// `images` are those of a launch. A task has all output channels where those of a weight are neighbours.
    FlatGradientTiles(const KernelTraits &, const Problem &, int64_t images, bool channels_inside = false);
};

}  // namespace conv_transpose

#endif
