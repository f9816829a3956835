// What a schedule of an implicit matrix product sees: a convolution with every attribute a run-time value, as a product
// whose rows are channels, whose columns are positions, and whose sum runs over steps, each one tap and one chunk of
// channels. The named Funcs and their dimensions.
#ifndef CONV_TRANSPOSE_SCHEDULES_IMPLICIT_PRODUCT_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_IMPLICIT_PRODUCT_FUNCS_H

#include "Halide.h"

namespace conv_transpose {

/// `position` counts through the cells of all images of one phase, x fastest. `value` counts the four summed
/// channels of a 16-byte row, `k4` such groups of a step, `part` the TF32 parts of an operand (two in
/// tf32x3).
struct ImplicitProductVars {
    Halide::Var value{"value"}, position{"position"}, row{"row"}, k4{"k4"}, part{"part"}, step{"step"};
    Halide::Var phase_x{"phase_x"}, phase_y{"phase_y"}, channel{"channel"}, group{"group"};
};

/// The reduction: four channels, groups of them, in tf32x3 the three products of parts, and steps.
struct ImplicitProductReduction {
    Halide::RDom domain;
    Halide::RVar value, k4, product, step;
};

/// All positions of all phases, in the order in which they are stored: columns of a block, phases, blocks.
struct StoredPositions {
    Halide::RDom domain;
    Halide::RVar column, phase_x, phase_y, block;
};

struct ImplicitProductFuncs {
    ImplicitProductVars v;
    ImplicitProductReduction r;
    StoredPositions stored;
    int parts = 1;

    Halide::Func pixels;   ///< (value, position, k4, part, step, phase_x, phase_y, group): rounded
    Halide::Func weights;  ///< (value, row, k4, part, step, phase_x, phase_y, group): as packed
    Halide::Func sum;      ///< (position, row, phase_x, phase_y, group)
    Halide::Func output;   ///< (x, y, channel, group, batch), in an update over `stored`
};

}  // namespace conv_transpose

#endif
