// The sums of flat matrix products (flat_places.h says what those are): tables of taps, and the sum over channels and taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"
#include "algorithm/flat_storing.h"

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
    f.taps(v.tap, v.phase) = Halide::Tuple(values);
    // A phase beyond the last is one without taps.
    f.live_taps(v.phase) = select(v.phase < places.live_phases(), live, 0);
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
    f.cell_rows(v.row, v.tile) = Tuple(row);
    f.cell_count(v.tile) = places.cells_before(places.rows_of(v.tile), v.tile);
    f.cell_places(v.place, v.tile) = 0;
    f.placed = RDom({{0, vector}, {0, rounded_up(places.row_cells(), vector)}, {0, places.rows()}}, "placed");
    RDom &r = f.placed;
    const Expr first = f.cell_rows(r[2], v.tile)[row.size() - 1], cell = min(r[1] * vector + r[0], places.row_cells() - 1);
    r.where(first >= 0);
    const Expr at = first + cell * places.cell_step(v.tile);
    f.cell_places(promised(at, places.most_cells(vector)), v.tile) = r[2] * places.pitch() + cell;
    if (f.size.skips_zeros()) define_cell_boxes(f, places);
}

/// So much is summed of a tap for a register tile: nothing where it sees zeros alone.
inline void define_seen_terms(FlatGemmFuncs &f, const Places &places, const Expr &terms) {
    const FlatGemmVars &v = f.v;
    const int rank = static_cast<int>(places.axes().size());
    Expr sees = v.tap < f.live_taps(v.phase) && v.register_tile * f.size.positions < f.cell_count(v.tile);
    for (int d = 0; d < rank; d++) {
        const Expr first = d == 0 ? places.first_cell(v.segment) : Expr(0);
        const auto tap = [&](int i) -> Expr { return f.taps(v.tap, v.phase)[2 + rank + 2 * d + i]; };
        const auto cell = [&](int i) -> Expr { return first + f.cell_boxes(v.register_tile, v.tile)[2 * d + i]; };
        sees = sees && cell(1) >= tap(0) && cell(0) <= tap(1);
    }
    f.seen_terms(v.tap, v.register_tile, v.phase, v.segment, v.tile) = select(sees, terms, 0);
}

/// What is summed beyond the last channel gives nothing.
template <class Tensor>
Halide::Func define_filled_panel(FlatGemmFuncs &f, const Tensor &panels) {
    using namespace Halide;
    std::vector<Var> vars{f.v.lane, f.v.pair};
    for (int d = 2; d < panels.dimensions(); d++) vars.emplace_back("panel_" + std::to_string(d));
    std::vector<Expr> index(vars.begin(), vars.end());
    index[1] = promised(min(f.v.pair, panels.dim(1).extent() - 1), panels.dim(1).extent());
    f.filled_panel(vars) = select(f.v.pair < panels.dim(1).extent(), panels(index), Internal::make_zero(BFloat(16)));
    return f.filled_panel;
}

/// The same of rows of the kernel, each of which has the summed channels of one tap after the other.
template <class Tensor>
Halide::Func define_joined_panel(FlatGemmFuncs &f, const Tensor &panels, const Expr &summed) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const Expr kernel_x = panels.dim(2).extent(), terms = summed * kernel_x, number = v.pair * 2 + v.lane % 2;
    const Expr term = min(number, terms - 1), channel = term % summed;
    std::vector<Expr> index{v.lane / 2 * 2 + channel % 2, promised(channel / 2, panels.dim(1).extent()),
                            promised(term / summed, kernel_x)};
    PerAxis rows;
    for (int d = 3; d < panels.dimensions() - 1; d++) rows.push_back(panels.dim(d).extent());
    const PerAxis row = digits(v.row, rows, divide_plainly);
    for (size_t i = 0; i < rows.size(); i++) index.push_back(promised(row[i], rows[i]));
    index.push_back(v.panel);
    f.filled_panel(v.lane, v.pair, v.row, v.panel) =
        select(number < terms, panels(index), Internal::make_zero(BFloat(16)));
    return f.filled_panel;
}

/// The sum over summed channels and live taps; where a channel sees itself alone, over taps. Panels (lane, summed, kx, ky, kz,
/// panel + panels * group) are of `channels` channels of a group.
template <class Tensor>
void define_sum(FlatGemmFuncs &f, const Places &places, const Tensor &panels, const Expr &most_taps, const Expr &summed,
                const Expr &channels, const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int rank = static_cast<int>(places.axes().size());
    const Expr panel = v.panel + rounded_up(channels, f.size.channels) * v.group;
    std::vector<Expr> index{v.lane};
    Expr seen_channel, shift, plane, of_spot = 1;
    const int positions = f.size.positions;
    Expr beyond = 0;  // what is summed behind a place
    if (f.size.joins_rows()) {
        const int together = 2 * f.size.tile_pairs;
        const Expr kernel_x = panels.dim(2).extent();
        RDom &r = f.reduced.domain;
        r = RDom({{0, rounded_up(summed * kernel_x, together) * f.size.tile_pairs}, {0, most_taps / kernel_x}, {0, 2}}, "reduced");
        f.reduced.summed = r[0], f.reduced.tap = r[1], f.reduced.pair = r[2];
        f.staged_channels = 1, f.staged_planes = places.planes();
        const auto tap = [&](int i) -> Expr { return f.taps(promised(r[1] * kernel_x, most_taps), v.phase)[i]; };
        of_spot = summed, beyond = together;
        seen_channel = 0, shift = tap(0) * of_spot + r[0] * 2 + r[2], plane = tap(1);
        index = {v.lane * 2 + r[2], r[0], r[1]};
    } else if (f.size.joined_terms) {
        // Panels, and what is staged, are dense: one index counts through channels and taps, or planes.
        const bool in_spots = !f.size.taps_inside(), is_turned = in_spots && f.size.turned;
        const int together = f.size.pairs ? 2 : 1;  // of spots, whose channels follow each other
        const Expr terms = summed / together;
        const Expr tap = in_spots ? v.term / terms : v.term % most_taps, channel = in_spots ? v.term % terms : v.term / most_taps;
        if (in_spots) of_spot = is_turned ? rounded_up(summed, f.size.vector) * f.size.vector : summed;
        f.staged_channels = is_turned ? of_spot : in_spots ? Expr(1) : summed, f.staged_planes = places.planes();
        f.terms(v.term) = f.taps(tap, 0)[0] * of_spot + f.taps(tap, 0)[1] * of_spot * places.window() +
                          channel * (in_spots ? Expr(together) : places.planes() * places.window());
        // In chunks where neighbouring terms read lines of the cache that are far apart.
        const Expr all = terms * most_taps, chunk = in_spots ? all : share_of(all, f.size.chunk);
        f.reduced.domain = RDom({{0, chunk}, {0, together}}, "reduced");
        f.reduced.summed = f.reduced.domain.x, f.reduced.pair = f.reduced.domain.y;
        // Halide's bounds of a tile's cells count rows that lie between planes and images.
        if (f.size.only_cells)
            f.reduced.domain.where(f.reduced.summed < select(v.place / positions * positions < f.cell_count(v.tile), chunk, 0));
        const Expr term = v.chunk * chunk + f.reduced.summed;
        if (!in_spots) {
            f.reduced.domain.where(term < all);
            f.chunks = RDom(1, rounded_up(all, chunk) - 1, "chunks");
        }
        seen_channel = 0, shift = f.terms(promised(term, all)), plane = 0;
        if (f.size.pairs) shift = shift + f.reduced.pair, index[0] = v.lane * 2 + f.reduced.pair;
        if (is_turned) seen_channel = promised(shift, of_spot), shift = 0, of_spot = 1;
        index.push_back(promised(term, terms));
        index.insert(index.end(), rank, 0);
    } else {
        RDom &r = f.reduced.domain;
        const int together = std::max(f.size.tile_pairs, 1);  // their number is a multiple
        const Expr pairs = (summed + (f.size.fills_tiles ? 2 * together - 1 : 0)) / (2 * together) * together;
        r = f.size.pairs ? RDom({{0, pairs}, {0, most_taps}, {0, 2}}, "reduced")
                         : RDom({{0, summed}, {0, most_taps}}, "reduced");
        f.reduced.summed = r[0], f.reduced.tap = r[1];
        const auto tap = [&](int i) -> Expr { return f.taps(r[1], v.phase)[i]; };
        if (f.size.skips_zeros()) {
            define_seen_terms(f, places, f.size.pairs ? summed / 2 : summed);
            r.where(r[0] < f.seen_terms(r[1], v.place / positions, v.phase, v.segment, v.tile));
        } else {
            r.where(r[1] < f.live_taps(v.phase));
        }
        seen_channel = f.size.depthwise ? v.panel * f.size.channels + v.lane : Expr(r[0]);
        shift = tap(0), plane = tap(1);
        index.push_back(r[0]);
        if (f.size.pairs) {
            // The most that a copy by vectors writes; no product that a factor of two can be taken from.
            f.staged_channels = max(rounded_up(summed, f.size.vector) * f.size.vector, 1);
            f.reduced.pair = r[2];
            seen_channel = r[0] * 2 + r[2], index[0] = v.lane * 2 + r[2];
        }
        for (int d = 0; d < rank; d++) index.push_back(promised(tap(2 + d), panels.dim(2 + d).extent()));
    }
    if (f.size.leaves_out_vectors())
        f.reduced.domain.where(v.panel * f.size.channels + v.lane / f.size.vector * f.size.vector < channels);
    index.push_back(promised(panel, panels.dim(rank + 2).extent()));
    const Expr place = f.size.only_cells ? f.cell_places(v.place, v.tile) : Expr(v.place);
    const Expr first = initial(promised(min(v.panel * f.size.channels + v.lane, channels - 1), channels), v.group);
    // Tile registers are cleared sooner than loaded.
    const bool adds_first = f.size.tile_pairs > 0;
    f.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) =
        adds_first ? Expr(0.f) : select(v.chunk == 0, first, 0.f);
    f.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) +=
        cast<float>(f.staged(promised(places.seen(place, 0) * of_spot + shift, places.window() * of_spot + beyond), seen_channel,
                             promised(plane, places.planes()), v.segment, v.tile, v.group)) *
        cast<float>(f.size.joins_rows()  ? Expr(define_joined_panel(f, panels, summed)(index))
                    : f.size.fills_tiles ? Expr(define_filled_panel(f, panels)(index))
                                         : Expr(panels(index)));
    const Expr of_first_chunk = f.sum(v.place, v.lane, v.panel, v.phase, 0, v.segment, v.tile, v.group);
    f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) = adds_first ? of_first_chunk + first : of_first_chunk;
    if (f.chunks.defined())
        f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) +=
            f.sum(v.place, v.lane, v.panel, v.phase, f.chunks.x, v.segment, v.tile, v.group);
}

}  // namespace conv_transpose::flat_gemm

#endif
