// Tables of flat matrix products (flat_places.h says what those are): what taps read and multiply, and where cells are.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_TABLES_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_TABLES_H

#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"

namespace conv_transpose::flat_gemm {

/// The tables of taps: so many live ones a phase.
inline void define_taps(FlatGemmFuncs &f, const Places &places, const Tap &tap, const Expr &live) {
    const FlatGemmVars &v = f.v;
    Expr plane = 0;
    for (std::size_t d = tap.plane.size(); d-- > 0;) plane = plane * places.axes()[d].planes + tap.plane[d];
    std::vector<Expr> values{places.shift(tap), plane};
    values.insert(values.end(), tap.kernel.begin(), tap.kernel.end());
    for (std::size_t d = 0; f.size.skips_zeros() && d < tap.plane.size(); d++) {
        values.push_back(first_seeing(places.axes()[d], tap.shift[d], tap.plane[d]));
        values.push_back(last_seeing(places.axes()[d], tap.shift[d], tap.plane[d]));
    }
    // Not as other tables: without the clamps LLVM adds shifts to a register tile's places as vectors, and takes those apart again
    // (1.1 times as long for 16 channels).
    f.taps(v.tap, v.phase) = Halide::Tuple(values);
    // A phase beyond the last is one without taps.
    tabulate(f.live_taps, {v.phase}, {select(v.phase < places.live_phases(), live, 0)});
}

/// The table of where the cells of a register tile lie: the first and the last coordinate on each axis.
inline void define_cell_boxes(FlatGemmFuncs &f, const Places &places) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int rank = static_cast<int>(places.axes().size());
    f.boxed = RDom({{0, places.row_cells()}, {0, places.rows()}}, "boxed");
    RDom &r = f.boxed;
    const FuncRef row = f.cell_rows(r[1], v.tile);
    r.where(row[rank - 1] >= 0);
    const Expr number = promised(row[rank - 1] + r[0] * places.cell_step(v.tile), places.most_cells(f.size.vector));
    std::vector<Expr> none, box;
    for (int d = 0; d < rank; d++) none.insert(none.end(), {Int(32).max(), -1});
    f.cell_boxes(v.register_tile, v.tile) = Tuple(none);
    const FuncRef so_far = f.cell_boxes(number / f.size.positions, v.tile);
    for (int d = 0; d < rank; d++) {
        const Expr at = d == 0 ? Expr(r[0]) : row[d - 1];
        box.insert(box.end(), {min(so_far[2 * d], at), max(so_far[2 * d + 1], at)});
    }
    f.cell_boxes(number / f.size.positions, v.tile) = Tuple(box);
}

/// The tables of cells: of a row's first one, and of where each is. Vectors go beyond a row's end, and repeat its last cell.
inline void define_cells(FlatGemmFuncs &f, const Places &places) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int vector = f.size.vector;
    const Expr number = v.tile * places.rows() + v.row;
    std::vector<Expr> row = places.row(number);
    row.back() = select(places.is_row(number), places.first_cell_of(v.row, v.tile), -1);
    tabulate(f.cell_rows, {v.row, v.tile}, row);
    tabulate(f.cell_count, {v.tile}, {places.cells_before(places.rows_of(v.tile), v.tile)});
    f.cell_places(v.place, v.tile) = 0;
    f.placed = RDom({{0, vector}, {0, rounded_up(places.row_cells(), vector)}, {0, places.rows()}}, "placed");
    RDom &r = f.placed;
    const Expr first = f.cell_rows(r[2], v.tile)[row.size() - 1], cell = min(r[1] * vector + r[0], places.row_cells() - 1);
    r.where(first >= 0);
    const Expr at = first + cell * places.cell_step(v.tile);
    f.cell_places(promised(at, places.most_cells(vector)), v.tile) = r[2] * places.pitch() + cell;
    if (f.size.skips_zeros()) define_cell_boxes(f, places);
}

}  // namespace conv_transpose::flat_gemm

#endif
