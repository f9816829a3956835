// What a schedule asks of the pass that finds products for tensor cores (tensor_core_pass.h), and how that refuses.
#ifndef CONV_TRANSPOSE_COMPILER_TENSOR_CORE_OPTIONS_H
#define CONV_TRANSPOSE_COMPILER_TENSOR_CORE_OPTIONS_H

#include <stdexcept>
#include <utility>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

class TensorCoreRefusal : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct TensorCoreOptions {
    /// How many blocks should share a multiprocessor: caps the registers of a thread at 65536 / (threads x
    /// blocks).
    int blocks_per_multiprocessor = 1;
    /// They are those of the SoftwarePipelinePass that follows: so many buffers make up what a store needs of shared
    /// memory.
    int stages = 1;
    /// Columns of a tile, neighbours in the output on 16 aligned bytes, are stored by rows (tile_rows.cpp). Either all of
    /// 16 bytes are inside of the output, or none.
    bool row_stores = false;
    /// Columns of a tile are mostly neighbours in the output, or rows of neighbouring columns are (tile_runs.cpp).
    bool run_stores = false;
    /// Then so many of them, 2 or 4, from multiples on, lie side by side in the output, all inside of it or none, and their
    /// index is a multiple, where a condition holds that is the same for all of a launch. The fewest come first.
    std::vector<std::pair<int, Halide::Expr>> runs = {};
    /// Likewise those that begin half as many elements behind a multiple. Halves are left at the ends of a line, which are stored
    /// alone.
    std::vector<std::pair<int, Halide::Expr>> late_runs = {};
    /// Which of the taps that are rows (shifted_sums.h) stays where it is: the same for all of a launch.
    Halide::Expr centre = {};
    /// A block has further tiles, whose operands come while one is stored (SoftwarePipelineOptions::resident_blocks): stores
    /// have shared memory of their own behind all stages, and bring 8 rows of a warp there at a time. For row stores.
    bool further_tiles = false;
    /// Blocks along y have a part of the sum each. They are launched as a cluster, read their tiles from each other's shared
    /// memory, add them in order, and store a share of the rows each. For row stores.
    bool adds_in_clusters = false;
};

}  // namespace conv_transpose

#endif
