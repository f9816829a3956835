// What a schedule of the weight gradient sees: the named Funcs of the algorithm and the facts that it may rely on.
#ifndef CONV_TRANSPOSE_SCHEDULES_WEIGHT_GRADIENT_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_WEIGHT_GRADIENT_FUNCS_H

#include "Halide.h"
#include "generators/strided_axis.h"

namespace conv_transpose {

struct WeightGradientFuncs {
    Halide::Var kx{"kx"}, ky{"ky"}, out_channel{"out_channel"}, in_channel{"in_channel"}, group{"group"};
    /// A part of the sum: a band of rows of some of the images.
    Halide::Var band{"band"}, images{"images"};
    Halide::Var x{"x"}, y{"y"}, batch{"batch"};
    StridedAxis x_axis, y_axis;
    /// Channels of one group; 0 where they are run-time values.
    int in_channels = 0, out_channels = 0;

    Halide::Func padded_input;            ///< channels and images clamped (x, y, in_channel, group, batch)
    Halide::Func padded_output_gradient;  ///< zero outside of the picture (x, y, out_channel, group, batch)
    Halide::Func tap_row;    ///< what tap kx sees along a row (x, kx, y, out_channel, group, batch); y of the output
    Halide::Func sum;        ///< (kx, ky, out_channel, in_channel, group, band, images); its update has the positions
    Halide::RDom positions;  ///< x, y within the band, image within the part
    Halide::Func partial;    ///< (kx, ky, out_channel, in_channel, group, band, images)
};

}  // namespace conv_transpose

#endif
