// What a schedule of kernels for tensors of any rank, format and layout sees: named Funcs. What a kernel computes is cut
// into tiles before it is scheduled, so that loops are over tiles and what is in them; the coordinates in tensors are
// computed from these. (Halide's own fused loops over three axes lose the bounds of the middle one.)
#ifndef CONV_TRANSPOSE_ALGORITHM_GATHER_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_GATHER_FUNCS_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// How the tensor that a gather computes is cut. A thread has `channels` of one group, or of each of `groups`, at a position
/// of each of the `parts` that an axis is cut into, which all see the same taps. Threads count through positions of a part,
/// rows, planes, tiles of groups and images; or, for tensors in channels_last, first through tiles of channels and groups,
/// which are all full. 0 threads: a tile has a row of one image.
///
/// A part is a piece of the axis; or, with a window, its parts are neighbours that see the same taps one step of taps from
/// each other. Then what `window` taps see of all parts overlaps, and is read once.
struct GatherTile {
    int channels, groups, threads, parts = 1;
    bool channels_last = false;
    int part_axis = 0, window = 0;  // 0: x, 1: y; 0 taps: no window
    bool multiplies_zeros = false;  // a window's taps that a position lacks have weights of zero, and no test of their own

    bool has_window(int axis) const { return window > 0 && axis == part_axis; }
    int taps_at_once() const { return window > 0 ? window : 1; }
    /// What a thread sees at once along the axis of its parts.
    int seen() const { return parts + taps_at_once() - 1; }

    /// Neighbours in memory that a thread computes together: of groups, where each has one channel.
    int vector() const { return channels_last ? channels * groups : 1; }
};

/// The forward operation and the input gradient share these, as they are alike.
struct AnyGatherFuncs {
    /// Channel, group and part are those of a thread; then come the thread, the block of threads, and the tile of
    /// channels. Tiles of rows have in place of these three the position in the row, the row and tile of channels, and
    /// the tile of groups and image.
    Halide::Var channel{"channel"}, group{"group"}, part{"part"}, thread{"thread"}, block{"block"}, outer{"outer"};
    Halide::Var summed{"summed"}, tap_x{"tap_x"}, tap_y{"tap_y"}, tap_z{"tap_z"}, first_tap{"first_tap"},
        in_window{"in_window"};
    /// Where a thread's first part lies, if it is kept, (thread, block): x, y, z, tile of channels (in channels_last), of
    /// groups, image.
    Halide::Func place{"place"};
    /// What taps see, as it lies in memory, (group, place in the window, thread, block, outer, summed, tap_x, tap_y, tap_z,
    /// first_tap). A tap of the axis that has a window stands for all taps of a window.
    Halide::Func seen{"seen"};
    /// With a window, in float32, its taps' weights, (channel, group, in_window, thread, block, outer, summed, tap_x, tap_y,
    /// tap_z, first_tap).
    Halide::Func tap_weight{"tap_weight"};
    /// What sums begin with, (channel, group, thread, block, outer).
    Halide::Func initial{"initial"};
    /// In float32, (channel, group, part, thread, block, outer); its update has the taps.
    Halide::Func sum{"sum"};
    Halide::RDom taps;  ///< summed channel, x, y, z, tap of a window, the first of taps that windows go through
    /// The sums with the activation, whether there is none, and whether it is none that would take long.
    Halide::Func finished{"finished"};
    Halide::Expr no_activation = Halide::Internal::const_true(), no_smooth_activation = Halide::Internal::const_true();
    /// They have for each axis of the forward operation the first live tap, and the input that it sees.
    std::vector<Halide::Func> taps_of;
    Halide::Func output;    ///< what is written; its update goes through all tiles
    Halide::RDom elements;  ///< channel, group, part, thread, block, outer
};

/// How the weight is cut whose gradient is computed: the channels of a tile, and its neighbouring taps of a row; or of groups
/// with one channel, in channels_last, its taps of vectors of groups, of which each thread has one. Threads are lanes, of
/// positions, times warps, of weights. A tile has `window` taps along y, too: neighbours, or, where a lane's position is a run of
/// so many along y, a dilation apart, taps a stride apart: what these see overlaps, and is read once.
struct WeightTile {
    int in_channels, out_channels, taps, lanes, warps, vector = 1, window = 1, run = 1;
    bool multiplies_zeros = false;  // what lies outside is zero, and a factor as all else

    bool has_window() const { return run > 1; }

    bool of_groups() const { return vector > 1; }
    int groups() const { return of_groups() ? vector * warps : 1; }
    int weights() const { return in_channels * out_channels * taps * window * groups(); }
};

struct AnyWeightGradientFuncs {
    /// Weight in the tile, its taps first, then its input channels; tile; group and band; images: a part of the sum is a
    /// band of positions of some of the images.
    Halide::Var weight{"weight"}, tile{"tile"}, part{"part"}, images{"images"};
    Halide::Func sum{"sum"};
    Halide::RDom positions;  ///< run in the part's band, image by image, position in it (on a CPU along the row, row, image)
    Halide::Func partial;    ///< what is written; its update goes through all tiles
    Halide::RDom weights;    ///< round of threads, lane, warp (of vectors of groups: warp, lane), tile, part, images
};

}  // namespace conv_transpose

#endif
