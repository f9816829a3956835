// What a schedule of the weight gradient sees: the named Funcs of the algorithm and the facts that it may rely on.
#ifndef CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_WEIGHT_GRADIENT_FUNCS_H

#include "Halide.h"
#include "algorithm/gradient_facts.h"

namespace conv_transpose {

struct WeightGradientFuncs : GradientFacts {
    Halide::Var kx{"kx"}, ky{"ky"}, out_channel{"out_channel"}, in_channel{"in_channel"}, group{"group"};
    /// A part of the sum: a band of rows of some of the images.
    Halide::Var band{"band"}, images{"images"};
    Halide::Var x{"x"}, y{"y"}, batch{"batch"};
    Halide::Var cell_x{"cell_x"}, phase_x{"phase_x"};

    Halide::Func padded_input;            ///< zero outside of the picture (x, y, in_channel, group, batch)
    Halide::Func padded_output_gradient;  ///< zero outside of the picture (x, y, out_channel, group, batch)
    /// With run-time attributes: what tap kx sees along a row (x, kx, y of the output,
    /// out_channel, group, batch).
    Halide::Func tap_row;
    /// With constant attributes: live phases of the row that kernel row ky sees from row y (cell_x,
    /// phase_x, y, ky, out_channel, group, batch).
    Halide::Func phases;
    Halide::Func sum;  ///< (kx, ky, out_channel, in_channel, group, band, images); its update has the positions
    /// Position in the chunk (x, y), chunk in the row, chunk in the band, image in the part.
    Halide::RDom positions;
    Halide::Func partial;    ///< (kx, ky, out_channel, in_channel, group, band, images)
};

}  // namespace conv_transpose

#endif
