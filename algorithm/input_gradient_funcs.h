// What a schedule of the input gradient sees: the named Funcs of the algorithm and the facts that it may rely on.
#ifndef CONV_TRANSPOSE_ALGORITHM_INPUT_GRADIENT_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_INPUT_GRADIENT_FUNCS_H

#include "Halide.h"
#include "algorithm/gradient_facts.h"

namespace conv_transpose {

struct InputGradientFuncs : GradientFacts {
    /// `channel` is an input channel of a group; `out_channel` is what is summed over.
    Halide::Var x{"x"}, y{"y"}, channel{"channel"}, group{"group"}, batch{"batch"};
    Halide::Var kx{"kx"}, out_channel{"out_channel"};
    Halide::Var cell_x{"cell_x"}, phase_x{"phase_x"}, cell_y{"cell_y"}, phase_y{"phase_y"};

    Halide::Func output_gradient;         ///< as given; coordinates begin at the padding
    Halide::Func padded_output_gradient;  ///< zero outside of the picture (x, y, out_channel, group, batch)
    /// On CPUs, and with run-time attributes: what tap kx sees along a row (x, kx, y of the output,
    /// out_channel, group, batch).
    Halide::Func tap_row;
    /// On GPUs, with constant attributes: live phases (cell_x, phase_x, cell_y, phase_y, out_channel, group, batch).
    Halide::Func phases;
    Halide::Func weight;  ///< as given or packed, in the layout that the schedule asks for
    Halide::Func tap_weight;  ///< weight by kernel position (kx, ky, out_channel, channel, group)
    Halide::Func sum;         ///< (x, y, channel, group, batch); its update has the taps
    Halide::RDom taps;        ///< kx, ky, out_channel
    Halide::Func input_gradient;  ///< (x, y, channel, group, batch)
};

}  // namespace conv_transpose

#endif
