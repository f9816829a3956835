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

/// A register tile of a product with all taps (algorithm/flat_entries.h) has so many entries.
inline int64_t tile_entries(const KernelTraits &k) { return k.cpu_level == CpuLevel::avx2 ? 6 : 8; }

struct FlatTiles {
    /// A tile has so many rows of cells, of so many cells each along x; so many panels of channels share it.
    int64_t segment_cells, tile_rows, block_panels;
    double rows;  ///< of all images, with gaps; more than an int64_t counts, where images are many

    // What an estimate of time counts.
    int64_t blocks;           ///< of panels, each of which copies for itself
    double computed, copied;  ///< places of all tiles: of register tiles, and of a channel's plane
    double stored_cells, stored_rows;
    int64_t run_results;  ///< that are stored together: of a row of a segment; if they are turned, of planes or images
    double copied_floats;  ///< by a tile
    double phase_products;  ///< of a place for each summed channel, of all blocks, where phases are computed at once
    double seen_share;     ///< of the products: those of taps that see more than zeros of a register tile
};

/// Shared by several threads: enough tasks are made for them, each of which copies for itself.
FlatTiles flat_tiles(const KernelTraits &, const Problem &, bool shared = true);

}  // namespace conv_transpose

#endif
