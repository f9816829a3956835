// Blocks that go through many tiles: a pipeline with a producer (producer_warpgroup.h) whose block does the work of many
// blocks, one after the other, so that the producer stages the next tile while the consumers store one.
//
//     a consumer:                                  the producer:
//         for each tile:                               for each tile:
//             the chunks of its pipeline                   stage its chunks
//             store it                                 wait until all stages are empty
//
// A launch has as many blocks along x as are resident, and each of them as many neighbours of the blocks that there were; or,
// in rounds, all of them neighbours at a time, which share what the second-level cache holds when what one block reads for its
// neighbours is more than that. Chunks are counted over all tiles, which may have different numbers of them.
// Consumers meet at no barrier: what a store keeps in shared memory lies behind all stages, and is a warp's own.
#ifndef CONV_TRANSPOSE_COMPILER_FURTHER_TILES_H
#define CONV_TRANSPOSE_COMPILER_FURTHER_TILES_H

#include <string>

#include "Halide.h"
#include "compiler/passes/pipeline_body.h"
#include "compiler/passes/pipeline_options.h"

namespace conv_transpose {

class FurtherTiles {
  public:
    /// `blocks` is the loop over blocks along x.
    FurtherTiles(const Halide::Internal::For *blocks, const SoftwarePipelineOptions &options);

    /// The number of blocks that are launched.
    static Halide::Expr launched(const Halide::Internal::For *blocks, int resident) {
        return min(blocks->extent, resident);
    }

    /// The tiles of a block, and what comes behind the last. `tile` is what was the block's whole work.
    Halide::Internal::Stmt of_all_tiles(const Halide::Internal::Stmt &tile, const Halide::Internal::Stmt &behind = {}) const;

    /// Chunks before a tile's, or behind the last tile all of them; and the statement that counts a tile's.
    Halide::Expr chunks() const;
    Halide::Internal::Stmt count(const Halide::Expr &chunks_of_tile) const;

    /// With shared memory that threads store to, in a tile's store, behind all stages, and without barriers of the block.
    static Halide::Internal::Stmt beside_stages(const Halide::Internal::Stmt &consumers, const StagedMemory &memory);

  private:
    Halide::Internal::Stmt of_neighbours(const Halide::Internal::Stmt &tile) const;
    Halide::Internal::Stmt of_rounds(const Halide::Internal::Stmt &tile) const;

    const Halide::Internal::For *blocks_;
    const int resident_;
    const bool in_rounds_, in_step_;  // a block's tiles lie `resident_` apart, as those with a kept operand must
    const std::string counter_;
};

}  // namespace conv_transpose

#endif
