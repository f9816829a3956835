// The arguments of flat matrix products that tell their tiles (choice/flat_tiles.h).
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_TILE_ARGUMENTS_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_TILE_ARGUMENTS_H

#include "choice/flat_tiles.h"
#include "plan/step.h"

namespace conv_transpose {

/// Of the forward operation and the input gradient: those for several threads, and for one.
template <Family family>
Launch<family> &set_flat_tiles(Launch<family> &launch, const KernelTraits &k, const Problem &p) {
    const FlatTiles shared = flat_tiles(k, p), alone = flat_tiles(k, p, false);
    return launch.set("segment_cells", ScalarOfThreads{shared.segment_cells, alone.segment_cells})
        .set("tile_rows", ScalarOfThreads{shared.tile_rows, alone.tile_rows})
        .set("block_panels", ScalarOfThreads{shared.block_panels, alone.block_panels});
}

}  // namespace conv_transpose

#endif
