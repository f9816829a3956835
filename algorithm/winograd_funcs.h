// What the schedule of Winograd's algorithm on CPUs sees (flat_winograd.h): the named Funcs and their dimensions.
#ifndef CONV_TRANSPOSE_ALGORITHM_WINOGRAD_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_WINOGRAD_FUNCS_H

#include "algorithm/flat_gemm_funcs.h"
#include "algorithm/winograd.h"

namespace conv_transpose {

/// A register tile is of so many of Winograd's tiles, which `place` counts; in what is staged, and in results, it counts cells.
struct WinogradFuncs : FlatGemmFuncs {
    /// Along rows (across) and columns (down).
    winograd::Transform across, down;

    Halide::Var point_x{"point_x"}, point_y{"point_y"};
    /// (place, point_y, summed, plane, segment, tile, group), in its update: rows of tiles, one behind the other. Without a
    /// transform of columns there is none.
    Halide::Func transformed_down{"transformed_down"};
    Halide::RDom down_rows;  ///< place of a vector, vector, row of tiles
    /// (place, summed, plane, register_tile, point_x, point_y, segment, tile, group).
    Halide::Func transformed{"transformed"};
    /// (place, lane, register_tile, point_x, point_y, panel, phase, segment, tile, group).
    Halide::Func products{"products"}, product{"product"};
    Halide::RDom summed;  ///< channel, plane of x, of y
    Halide::Expr summed_extent, most_register_tiles, chunk_panels;
    /// The update of `result` goes through places of a vector, cells of a row of a tile, rows, vectors, register tiles.
    Halide::RDom restored;
};

}  // namespace conv_transpose

#endif
