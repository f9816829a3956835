// What a schedule of the forward operation by Winograd's algorithm down the columns sees: the named Funcs with their
// dimensions.
#ifndef CONV_TRANSPOSE_SCHEDULES_WINOGRAD_COLUMNS_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_WINOGRAD_COLUMNS_FUNCS_H

#include "Halide.h"
#include "generators/gather.h"
#include "generators/winograd.h"

namespace conv_transpose {

struct WinogradColumnsFuncs {
    GatherVars v;
    /// A tile of two output rows, and a point of its transform.
    Halide::Var tile_y{"tile_y"}, point{"point"};

    Halide::Func padded_input;       ///< zero outside of the picture (x, y, input channel, group, batch)
    Halide::Func transformed_input;  ///< (x, tile_y, input channel, point, group, batch)
    Halide::Func sum;                ///< over taps of a row and input channels (x, tile_y, channel, point, group, batch)
    Halide::RDom taps;               ///< x, input channel
    Halide::Func pixels{"pixels"};   ///< (x, y, channel, group, batch)
    Halide::Func output;
};

}  // namespace conv_transpose

#endif
