// What a schedule of the forward operation by Winograd's algorithm sees: the named Funcs with their
// dimensions.
#ifndef CONV_TRANSPOSE_SCHEDULES_WINOGRAD_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_WINOGRAD_FUNCS_H

#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/winograd.h"

namespace conv_transpose {

struct WinogradFuncs {
    /// Along rows (across) and columns (down). Where rows are not transformed, a tile is one output wide.
    winograd::Transform across, down;

    GatherVars v;
    /// A tile of outputs, and a point of its transform.
    Halide::Var tile_x{"tile_x"}, tile_y{"tile_y"}, point_x{"point_x"}, point_y{"point_y"};
    Halide::Var in_channel{"in_channel"};

    Halide::Func padded_input;        ///< zero outside of the picture (x, y, input channel, group, batch)
    Halide::Func transformed_across;  ///< along rows only (tile_x, y, point_x, input channel, group, batch)
    Halide::Func transformed_input;   ///< (tile_x, tile_y, input channel, point_x, point_y, group, batch)
    Halide::Func sum;                 ///< (tile_x, tile_y, channel, point_x, point_y, group, batch)
    Halide::RDom taps;                ///< taps of rows that are not transformed, input channels
    Halide::Func pixels{"pixels"};    ///< (x, y, channel, group, batch)
    Halide::Func output;
};

}  // namespace conv_transpose

#endif
