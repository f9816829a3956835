// What schedules of kernels see that stage what they see in shared memory (staged_tile.h): named Funcs, in the order of the data's
// way.
#ifndef CONV_TRANSPOSE_ALGORITHM_STAGED_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_STAGED_FUNCS_H

#include <string>

#include "Halide.h"

namespace conv_transpose {

/// A tensor that is staged. Its update goes through `elements`: in run, run, piece, round of columns, thread.
struct StagedPicture {
    explicit StagedPicture(const std::string &name) : column(name + "_column"), element(name + "_element"), staged(name) {}

    Halide::Var in_run{"in_run"}, run{"run"}, piece{"piece"}, round{"round"}, slot{"slot"};
    /// Where a thread's column of a round lies, (thread, round, block...): x, z, group, image, and how many rows it has.
    Halide::Func column;
    /// In float32, zero outside of the picture, (in_run, run, piece, thread, round, block...).
    Halide::Func element;
    Halide::Func staged;  ///< (slot, block...)
    Halide::RDom elements;
};

struct StagedForwardFuncs {
    Halide::Var part{"part"}, in_window{"in_window"}, slot{"slot"}, phase{"phase"}, thread{"thread"}, block{"block"};
    Halide::Var tap_window{"tap_window"}, tap_x{"tap_x"}, tap_z{"tap_z"};

    StagedPicture picture{"staged_picture"};
    /// The weights of a block's planes, (slot, block). Its update goes through `weights`: round, thread.
    Halide::Func staged_weight{"staged_weight"};
    Halide::RDom weights;
    /// Where a thread's parts lie, and what they see, (thread, block); the same of a phase, (phase, thread, block).
    Halide::Func place{"place"}, of_phase{"of_phase"};
    /// What the taps of a window see, and their weights, (part or in_window, tap_window, tap_x, tap_z, phase, thread, block).
    Halide::Func seen{"seen"}, tap_weight{"tap_weight"};
    /// What sums begin with, (thread, block); sums, and the same with the activation, (part, phase, thread, block).
    Halide::Func initial{"initial"}, sum{"sum"}, finished{"finished"};
    Halide::RDom taps;  ///< in window, window, x, z
    Halide::Expr no_smooth_activation = Halide::Internal::const_true();
    Halide::Func output;   ///< what is written; its update goes through all tiles
    Halide::RDom outputs;  ///< part, phase, thread, block
};

struct StagedRowFuncs {
    Halide::Var part{"part"}, in_round{"in_round"}, round{"round"}, slot{"slot"}, thread{"thread"}, block{"block"};
    Halide::Var tap_x{"tap_x"}, tap_y{"tap_y"}, tap_z{"tap_z"};

    /// What a row of taps sees: in float32, zero outside of the picture, (in_round, round, thread, tap_y, tap_z, block); the same
    /// where all threads see it, (slot, tap_y, tap_z, block). Its update goes through `elements`: in round, round, thread.
    Halide::Func element{"element"}, staged{"staged_row"};
    Halide::RDom elements;
    Halide::Func tap_weight{"tap_weight"};  ///< (tap_x, tap_y, tap_z, block)
    Halide::Func sum{"sum"};                ///< (part, thread, block)
    Halide::RDom taps;                      ///< x, y, z
    Halide::Func input_gradient;            ///< what is written; its update goes through all positions
    Halide::RDom positions;                 ///< part, thread, block
};

struct StagedWeightFuncs {
    Halide::Var tap{"tap"}, step{"step"}, place{"place"}, round{"round"}, thread{"thread"}, box{"box"};
    /// A block: of tasks, of groups and band, of images.
    Halide::Var tile{"tile"}, part{"part"}, images{"images"};

    /// (..., box, part, images).
    StagedPicture output_gradient{"staged_output_gradient"}, input{"staged_input"};
    /// What a thread's window of taps sees of a box beside its run, (thread, tile).
    Halide::Func task{"task"};
    /// Where a thread's run lies in both, (step, thread, tile).
    Halide::Func at{"at"};
    /// The output gradient and the input that a run takes, (place, step, thread, box, block...).
    Halide::Func seen{"seen"}, factor{"factor"};
    /// (tap, thread, block...); its update goes through runs. The same where all threads see it.
    Halide::Func sum{"sum"}, lane_sums{"lane_sums"};
    Halide::RDom runs;  ///< in run, step, box
    /// The lanes' sums together, (round, thread, block...).
    Halide::Func total{"total"};
    Halide::RDom lanes;
    Halide::Func partial;  ///< what is written; its update goes through all tiles
    Halide::RDom weights;  ///< round, thread, block...
};

}  // namespace conv_transpose

#endif
