// What a tensor-core schedule of the forward operation sees: the named Funcs and the tile sizes.
#ifndef CONV_TRANSPOSE_SCHEDULES_TENSOR_CORE_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_TENSOR_CORE_FUNCS_H

#include "Halide.h"
#include "generators/gather.h"

namespace conv_transpose {

/// Dimensions of the staged operands. `value` counts the four input channels of a 16-byte row, `k4` such groups, and
/// `part` the two TF32 parts of an operand in tf32x3 (one part in tf32). `row` counts the rows of a tile: channels, or
/// channels of several picture rows; `row_block` counts tiles of 64 rows.
struct TensorCoreVars {
    Halide::Var value{"value"}, k4{"k4"}, part{"part"}, row{"row"}, row_block{"row_block"};
};

/// The reduction: four channels, groups of them, taps, and in tf32x3 the three products of parts.
struct TensorCoreReduction {
    Halide::RDom domain;
    Halide::RVar value, k4, tap_x, tap_y, product;
};

struct TensorCoreFuncs {
    GatherVars v;
    TensorCoreVars t;
    TensorCoreReduction r;
    int taps_x = 1, taps_y = 1;  ///< of the staged weights
    int reach_x = 1, reach_y = 1;  ///< input positions less one that an output position reaches (taps, dilation)
    int parts = 1, products = 1;
    int picture_rows = 1;  ///< picture rows in the rows of a tile

    Halide::Func pixels;   ///< (value, x, y, k4, part, group, batch): rounded input, four channels innermost
    Halide::Func weights;  ///< (value, row, tap_x, tap_y, k4, part, row_block, group): as packed
    Halide::Func sum;      ///< (x, row, row_block, y, group, batch)
    Halide::Func output;   ///< (x, y, channel, group, batch)
};

}  // namespace conv_transpose

#endif
