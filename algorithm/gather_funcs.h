// What a schedule of kernels for tensors of any rank, format and layout sees: named Funcs. What a kernel computes is cut
// into tiles before it is scheduled, so that loops are over tiles and what is in them; the coordinates in tensors are
// computed from these. (Halide's own fused loops over three axes lose the bounds of the middle one.)
#ifndef CONV_TRANSPOSE_ALGORITHM_GATHER_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_GATHER_FUNCS_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// How the tensor that a gather computes is cut. A tile has `channels` of one group, or of each of `groups`, at `threads`
/// positions that count through all axes; 0 threads: at all positions of a row.
struct GatherTile {
    int channels, groups, threads;
};

/// Of the forward operation or the input gradient, which are alike.
struct AnyGatherFuncs {
    /// Channel and group in the tile, position in the tile, tile, and tile of groups and image.
    Halide::Var channel{"channel"}, group{"group"}, thread{"thread"}, block{"block"}, image{"image"};
    /// In float32, (channel, group, thread, block, image); its update has the taps.
    Halide::Func sum{"sum"};
    Halide::RDom taps;  ///< summed channel, x, y, z
    /// Of each axis, for the forward operation: the first live tap, and the input that it sees.
    std::vector<Halide::Func> taps_of;
    Halide::Func output;    ///< what is written; its update goes through all tiles
    Halide::RDom elements;  ///< channel, group, thread, block, image
};

/// How the weight is cut whose gradient is computed: the channels of a tile, and its neighbouring taps of a row. So many
/// lanes and warps, at least one a weight, store them.
struct WeightTile {
    int in_channels, out_channels, taps, lanes, warps;

    int weights() const { return in_channels * out_channels * taps; }
};

struct AnyWeightGradientFuncs {
    /// Weight in the tile, its taps first, then its input channels; tile; group and band; images: a part of the sum is a
    /// band of positions of some of the images.
    Halide::Var weight{"weight"}, tile{"tile"}, part{"part"}, images{"images"};
    Halide::Func sum{"sum"};
    Halide::RDom positions;  ///< position in the band (on a CPU along the row, and row), image in the part
    Halide::Func partial;    ///< what is written; its update goes through all tiles
    Halide::RDom weights;    ///< lane, warp, tile, part, images
};

}  // namespace conv_transpose

#endif
