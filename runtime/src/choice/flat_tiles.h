// How kernels of flat matrix products cut a problem into tiles (algorithm/flat_gemm.h). What a tile computes does not
// depend on its shape: results are the same bits whatever is chosen here.
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Of the forward operation and the input gradient.
inline bool is_flat(const KernelTraits &k) {
    return k.family == Family::flat_forward || k.family == Family::flat_input_gradient;
}

struct FlatTiles {
    /// A tile has so many rows of cells, of so many cells each along x; so many panels of channels share it.
    int64_t segment_cells, tile_rows, block_panels;
    double rows;  ///< of all images, with gaps; more than an int64_t counts, where images are many
    /// To compare kernels for one problem with: places that are computed for each channel of whole panels, by the rate.
    double relative_time;

    /// The formats matter to the time alone.
    FlatTiles(const KernelTraits &, const Problem &, TensorFormat read = {}, TensorFormat written = {});
};

}  // namespace conv_transpose

#endif
