// What a schedule of the implicit matrix product sees (algorithm/cuda_core_product.h), of the forward operation and of
// the input gradient alike.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_CORE_PRODUCT_FUNCS_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_CORE_PRODUCT_FUNCS_H

#include "Halide.h"

namespace conv_transpose {

struct CudaCoreProductFuncs {
    /// A column of the product is a cell of one phase; the cells of all pictures are counted through. A step of the
    /// reduction is one tap of a chunk of channels, and `summed` one of those.
    Halide::Var column{"column"}, channel{"channel"}, phase{"phase"}, group{"group"};
    Halide::Var summed{"summed"}, step{"step"};

    Halide::Func pixels{"pixels"};    ///< (column, summed, step, phase, group): zero outside of the picture
    Halide::Func weights{"weights"};  ///< (channel, summed, step, phase, group)
    Halide::Func initial{"initial"};  ///< what sums begin with (channel, group)
    Halide::Func sum{"sum"};          ///< (column, channel, phase, group)
    Halide::RDom steps;               ///< of sum's update: summed, step; steps beyond a phase's last are guarded
    /// Stores in its update, by blocks of whole tiles; what lies outside of the output is guarded.
    Halide::Func output;
    /// In the order of the loops, which Halide keeps for stores: channel of a piece of a tile, column of the
    /// tile, piece, block, group.
    Halide::RDom stored;
};

}  // namespace conv_transpose

#endif
