// What a schedule of the forward operation by Winograd's algorithm sees: the named Funcs with their dimensions.
#ifndef CONV_TRANSPOSE_SCHEDULES_WINOGRAD_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_WINOGRAD_FUNCS_H

#include "Halide.h"
#include "generators/gather.h"
#include "generators/winograd.h"

namespace conv_transpose {

struct WinogradFuncs {
    GatherVars v;
    /// A tile of outputs, and a point of its transform.
    Halide::Var tile_x{"tile_x"}, tile_y{"tile_y"}, point_x{"point_x"}, point_y{"point_y"};

    Halide::Func padded_input;       ///< zero outside of the picture (x, y, input channel, group, batch)
    Halide::Func transformed_across;  ///< along rows only (tile_x, y, point_x, input channel, group, batch)
    Halide::Func transformed_input;  ///< (tile_x, tile_y, input channel, point_x, point_y, group, batch)
    Halide::Func transformed_weight;  ///< as packed (channel, input channel, point_x, point_y, group)
    Halide::Func sum;                ///< over input channels (tile_x, tile_y, channel, point_x, point_y, group, batch)
    Halide::RDom in_channels;
    Halide::Func restored_down;   ///< along columns only (tile_x, y, point_x, channel, group, batch)
    Halide::Func pixels{"pixels"};        ///< (x, y, channel, group, batch)
    Halide::Func activated{"activated"};  ///< likewise; see forward_funcs.h
    Halide::Func output;
};

}  // namespace conv_transpose

#endif
