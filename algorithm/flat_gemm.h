// The sums of flat matrix products (flat_places.h says what those are): tables of taps, and the sum over channels and taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H

#include <functional>
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
    f.taps(v.tap, v.phase) = Halide::Tuple(values);
    f.live_taps(v.phase) = live;
}

/// The table of cells. Vectors go beyond a row's end, and the next row's are written after them.
inline void define_cells(FlatGemmFuncs &f, const Places &places) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int vector = f.size.vector;
    f.cell_count(v.tile) = places.cells_before(places.rows_of(v.tile), v.tile);
    f.cell_places(v.place, v.tile) = 0;
    f.placed = RDom({{0, vector}, {0, rounded_up(places.row_cells(), vector)}, {0, places.rows()}}, "placed");
    RDom &r = f.placed;
    r.where(places.is_row(v.tile * places.rows() + r[2]));
    const Expr cell = r[1] * vector + r[0];
    f.cell_places(promised(places.cells_before(r[2], v.tile) + cell, places.most_cells(vector)), v.tile) =
        r[2] * places.pitch() + min(cell, places.row_cells() - 1);
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
    // Halide's bounds of a tile's cells count rows that lie between planes and images.
    const int positions = f.size.positions;
    const auto of_cells = [&](const Expr &count) -> Expr {
        return f.size.only_cells ? select(v.place / positions * positions < f.cell_count(v.tile), count, 0) : count;
    };
    if (f.size.joined_terms) {
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
        if (f.size.only_cells) f.reduced.domain.where(f.reduced.summed < of_cells(chunk));
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
        r = f.size.pairs ? RDom({{0, summed / 2}, {0, most_taps}, {0, 2}}, "reduced") : RDom({{0, summed}, {0, most_taps}}, "reduced");
        f.reduced.summed = r[0], f.reduced.tap = r[1];
        r.where(r[1] < of_cells(f.live_taps(v.phase)));
        const auto tap = [&](int i) -> Expr { return f.taps(r[1], v.phase)[i]; };
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
    index.push_back(promised(panel, panels.dim(rank + 2).extent()));
    const Expr place = f.size.only_cells ? f.cell_places(v.place, v.tile) : Expr(v.place);
    const Expr first = initial(promised(min(v.panel * f.size.channels + v.lane, channels - 1), channels), v.group);
    f.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) = select(v.chunk == 0, first, 0.f);
    f.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) +=
        cast<float>(f.staged(promised(places.seen(place, 0) * of_spot + shift, places.window() * of_spot), seen_channel,
                             promised(plane, places.planes()), v.segment, v.tile, v.group)) *
        cast<float>(panels(index));
    f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
        f.sum(v.place, v.lane, v.panel, v.phase, 0, v.segment, v.tile, v.group);
    if (f.chunks.defined())
        f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) +=
            f.sum(v.place, v.lane, v.panel, v.phase, f.chunks.x, v.segment, v.tile, v.group);
}

}  // namespace conv_transpose::flat_gemm

#endif
