// How kernels of flat matrix products cut a problem into tiles (algorithm/flat_gemm.h). What a tile computes does not
// depend on its shape: results are the same bits whatever is chosen here.
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_TILES_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

struct FlatTiles {
    /// A tile has so many rows of cells, of so many cells each along x.
    int64_t segment_cells, tile_rows;
    int64_t tiles;   ///< of all segments, of a group
    int64_t places;  ///< of a tile, with gaps
    double rows;     ///< of all images, with gaps; more than an int64_t counts, where images are many

    FlatTiles(const KernelTraits &, const Problem &);
};

}  // namespace conv_transpose

#endif
