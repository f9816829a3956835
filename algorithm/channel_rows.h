// Depthwise problems with channels innermost, on CPUs: the forward operation and the gradients from pictures as they lie, every
// attribute a run-time value, of any rank. Lanes are neighbouring channels.
//
// Along x a tile is of neighbouring cells of one phase (of the input gradient: positions) all of whose taps see the picture, so
// that no test is left in its sums; cells at the edges are computed one by one, from the taps that do. On the other axes tables
// tell which taps those are. The gather is that of gather.h and strided_axis.h.
#ifndef CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_H
#define CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_H

#include <functional>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/channel_rows_funcs.h"
#include "algorithm/gather.h"
#include "algorithm/per_axis.h"
#include "algorithm/strided_axis.h"

namespace conv_transpose::channel_rows {

using Halide::Expr;

inline Expr promised(const Expr &i, const Expr &extent) { return Halide::unsafe_promise_clamped(i, 0, extent - 1); }
inline Expr promised(const Expr &i, const Halide::Internal::Dimension &d) {
    return Halide::unsafe_promise_clamped(i, d.min(), d.max());
}

/// One axis: tap t of a cell of a phase is kernel position first + t * tap_step and sees cell * read_stride + shift + t * step.
struct Axis {
    struct Phase {
        Expr first, shift, taps;
    };
    Expr results, phases;
    Expr read_stride, tap_step, step;
    bool falls;  ///< `step` is negative
    Expr most_taps, kernel;
    Expr low, high;  ///< the first and last position of the picture
    Expr least_shift, most_shift;  ///< of any phase
    std::function<Phase(const Expr &phase)> phase;

    static Axis forward(const AxisArguments &a, const Halide::Internal::Dimension &picture, const Expr &results) {
        const GatherAxis axis = GatherAxis::run_time(a);
        return {.results = results, .phases = a.stride, .read_stride = 1, .tap_step = axis.tap_step(), .step = -axis.input_step(),
                .falls = true, .most_taps = axis.taps(), .kernel = a.kernel, .low = picture.min(), .high = picture.max(),
                .least_shift = -((axis.tap_step() - 1) * a.dilation / a.stride),
                .most_shift = (a.stride - 1 + a.padding_phase) / a.stride,
                .phase = [axis](const Expr &phase) {
                    const GatherAxis::Phase p = axis.run_time_phase(phase);
                    return Phase{p.first, p.shift, p.taps};
                }};
    }
    static Axis gradient(const StridedAxis &a, const Halide::Internal::Dimension &picture, const Expr &results) {
        return {.results = results, .phases = 1, .read_stride = a.stride, .tap_step = 1, .step = a.dilation, .falls = false,
                .most_taps = a.kernel, .kernel = a.kernel, .low = picture.min(), .high = picture.max(),
                .least_shift = 0, .most_shift = 0,
                .phase = [a](const Expr &) { return Phase{0, 0, a.kernel}; }};
    }

    Expr cells() const { return rounded_up(results, phases); }
    Expr cells_of(const Expr &phase) const { return (results - phase + phases - 1) / phases; }

    /// Of a cell: what its first tap inside of the picture sees and multiplies, and how many there are.
    Halide::Tuple seen(const Expr &cell, const Phase &p) const {
        const Expr at = cell * read_stride + p.shift, distance = falls ? -step : step;
        const Expr before = falls ? at - high : low - at, inside = falls ? at - low : high - at;
        const Expr first = max(rounded_up(before, distance), 0), last = Halide::min(inside / distance, p.taps - 1);
        return {at + first * step, p.first + first * tap_step, max(last + 1 - first, 0)};
    }
    /// The first cell of a phase all of whose taps are inside of the picture, and behind the last.
    std::pair<Expr, Expr> inside(const Phase &p, const Expr &cells) const {
        const Expr reach = max(p.taps - 1, 0) * step;
        return inside(falls ? p.shift + reach : p.shift, falls ? p.shift : p.shift + reach, cells);
    }
    /// Of no phase there are more cells that are not, where there are so many that are.
    Expr most_edges() const {
        const Expr reach = (most_taps - 1) * step;
        const Expr lowest = least_shift + (falls ? reach : Expr(0)), highest = most_shift + (falls ? Expr(0) : reach);
        const auto [first, last] = inside(lowest, highest, cells());
        return cells() - (last - first);
    }

  private:
    // What is seen lies between these from a cell on.
    std::pair<Expr, Expr> inside(const Expr &lowest, const Expr &highest, const Expr &cells) const {
        const Expr first = clamp(rounded_up(low - lowest, read_stride), 0, cells);
        return {first, clamp((high - highest) / read_stride + 1, first, cells)};
    }
};

/// The tasks of a tensor: so many tiles of a row.
struct Tasks {
    Expr tiles, segments, rows, planes, images;

    template <class Result>
    Tasks(const Expr &most_tiles, const Result &result)
        : tiles(clamp(most_tiles, 1, 16)), segments(rounded_up(max(most_tiles, 1), tiles)), rows(result.dim(1).extent()),
          planes(result.dim(2).extent()), images(result.dim(5).extent()) {}

    Expr count() const { return segments * rows * planes * images; }
    /// The first tile, y, z, image.
    Halide::Tuple task(const Expr &number) const {
        const PerAxis at = digits(number, {segments, rows, planes}, divide_plainly);
        return {at[0] * tiles, at[1], at[2], at[3]};
    }
};

template <class Picture, class Weights, class Result>
void define_sums(Funcs &f, Sums &s, const std::vector<Axis> &axes, const Picture &picture, const Weights &weights, Result &result,
                 const std::function<Expr(const Expr &group)> &initial, const std::function<Expr(const Expr &element)> &loaded,
                 const std::function<Expr(const Expr &sum)> &stored) {
    using namespace Halide;
    const Axis &x = axes[0];
    const std::string name = s.name();
    s.task = Func("task" + name), s.columns = Func("columns" + name), s.sum = Func("sum" + name);
    s.rows = Func("rows" + name), s.row_count = Func("row_count" + name);
    const int tile_places = f.places_of(s), places = s.is_edge ? 1 : tile_places;
    const Expr groups = result.dim(4).extent();
    const Expr edges = x.most_edges(), all_have_tiles = x.results / x.phases - edges >= tile_places;
    const Expr edge_cells = select(all_have_tiles, edges, min(edges + tile_places - 1, x.cells()));
    const Tasks tasks(s.is_edge ? edge_cells : rounded_up(x.cells(), tile_places), result);
    s.task(f.task) = tasks.task(f.task);
    const auto of_task = [&](const Expr &task, int i) -> Expr { return s.task(task)[i]; };

    const auto on_axis = [&](int d, int i) -> Expr { return f.seen[d - 1](promised(of_task(f.task, d), axes[d].results))[i]; };
    const Expr of_y = max(on_axis(1, 2), 1), tap_y = f.tap % of_y, tap_z = f.tap / of_y;
    s.rows(f.tap, f.task) = Tuple(on_axis(1, 0) + tap_y * axes[1].step, on_axis(1, 1) + tap_y * axes[1].tap_step,
                                  on_axis(2, 0) + tap_z * axes[2].step, on_axis(2, 1) + tap_z * axes[2].tap_step);
    s.row_count(f.task) = on_axis(1, 2) * on_axis(2, 2);

    const auto of_phase = [&](int i) -> Expr { return f.phases(promised(f.phase, x.phases))[i]; };
    const Expr begin = of_phase(3), end = of_phase(4), cells = x.cells_of(f.phase), has_tiles = end - begin >= tile_places;
    const Expr tile = of_task(f.task, 0) + f.tile;
    if (s.is_edge) {
        const Expr left = select(has_tiles, begin, cells), cell = select(tile < left, tile, tile - left + end);
        const Tuple seen = x.seen(cell, {of_phase(0), of_phase(1), of_phase(2)});
        s.columns(f.phase, f.tile, f.task) =
            Tuple(select(cell < cells, cell, -1), seen[0], seen[1], select(cell < cells, seen[2], 0));
    } else {
        const Expr first = begin + tile * places, cell = Halide::min(first, end - places), exists = has_tiles && first < end;
        s.columns(f.phase, f.tile, f.task) = Tuple(select(exists, cell, -1), cell * x.read_stride + of_phase(1), of_phase(0),
                                                   select(exists, of_phase(2) * s.row_count(f.task), 0));
    }
    const auto columns = [&](const Expr &phase, const Expr &tile, const Expr &task, int i) -> Expr {
        return s.columns(phase, tile, task)[i];
    };

    const Expr of_sum = f.panels.channel(s.is_narrow, f.panel, f.lane, groups), most_rows = axes[1].most_taps * axes[2].most_taps;
    const Expr column = promised(columns(f.phase, f.tile, f.task, 1), picture.dim(0));
    const Expr image = promised(of_task(f.task, 3), tasks.images);
    std::vector<Expr> from, of_weight;
    if (s.is_edge) {
        s.taps = RDom({{0, x.most_taps}, {0, most_rows}}, "taps" + name);
        const RDom &t = s.taps;
        s.taps.where(t[1] < s.row_count(f.task));
        s.taps.where(t[0] < columns(f.phase, f.tile, f.task, 3));
        const auto row = [&](int i) -> Expr { return s.rows(t[1], f.task)[i]; };
        from = {promised(column + t[0] * x.step, picture.dim(0)), promised(row(0), picture.dim(1)), promised(row(2), picture.dim(2)),
                0, of_sum, image};
        const Expr tap = columns(f.phase, f.tile, f.task, 2) + t[0] * x.tap_step;
        of_weight = {of_sum, promised(tap, x.kernel), promised(row(1), axes[1].kernel), promised(row(3), axes[2].kernel), 0, 0};
    } else {
        // All taps of a row as one, by where they read.
        const Expr of_x = max(of_phase(2), 1), tap_x = f.tap % of_x;
        const auto row = [&](int i) -> Expr { return s.rows(min(f.tap / of_x, most_rows - 1), f.task)[i]; };
        s.list = Func("list" + name);
        s.list(f.tap, f.phase, f.task) =
            Tuple(tap_x * (x.step * picture.dim(0).stride()) + (row(0) - picture.dim(1).min()) * picture.dim(1).stride() +
                      (row(2) - picture.dim(2).min()) * picture.dim(2).stride(),
                  (of_phase(0) + tap_x * x.tap_step) * weights.dim(1).stride() + row(1) * weights.dim(2).stride() +
                      row(3) * weights.dim(3).stride());
        s.taps = RDom({{0, x.most_taps * most_rows}}, "taps" + name);
        s.taps.where(s.taps.x < columns(f.phase, f.tile, f.task, 3));
        // Groups are neighbours in memory: a distance is one of groups, which costs no products of coordinates.
        const auto at = [&](int i) -> Expr { return of_sum + s.list(s.taps.x, f.phase, f.task)[i]; };
        const Expr step = x.read_stride * picture.dim(0).stride();
        from = {column, picture.dim(1).min(), picture.dim(2).min(), 0, promised(at(0) + f.place * step, groups), image};
        of_weight = {promised(at(1), groups), 0, 0, 0, 0, 0};
    }
    s.sum(f.lane, f.place, f.panel, f.phase, f.tile, f.task) = initial(of_sum);
    s.sum(f.lane, f.place, f.panel, f.phase, f.tile, f.task) += loaded(picture(from)) * weights(of_weight);

    const Expr panels = f.panels.count(s.is_narrow, groups);
    s.stored = RDom({{0, f.panels.lanes_of(s.is_narrow)}, {0, places}, {0, panels}, {0, x.phases}, {0, tasks.tiles},
                     {0, select(panels > 0, tasks.count(), 0)}}, "stored" + name);
    const RDom &r = s.stored;
    const RVar task = r[5];
    s.stored.where(columns(r[3], r[4], task, 0) >= 0);
    const Expr to = columns(r[3], r[4], task, 0) * x.phases + r[3], to_group = f.panels.channel(s.is_narrow, r[2], r[0], groups);
    result(promised(to, x.results), promised(of_task(task, 1), tasks.rows), promised(of_task(task, 2), tasks.planes), 0,
           promised(to_group + r[1] * (x.phases * result.dim(0).stride()), groups), promised(of_task(task, 3), tasks.images)) =
        stored(s.sum(r[0], r[1], r[2], r[3], r[4], task));
}

/// `picture`, `weights` (group, kernel positions) and `result` are (x, y, z, channel, group, image); `initial` begins a
/// group's sums, and `stored` makes an element of one.
template <class Picture, class Weights, class Result>
void define(Funcs &f, const std::vector<Axis> &axes, const Picture &picture, const Weights &weights, Result &result,
            const std::function<Expr(const Expr &group)> &initial, const std::function<Expr(const Expr &element)> &loaded,
            const std::function<Expr(const Expr &sum)> &stored) {
    using namespace Halide;
    const Axis &x = axes[0];
    const Axis::Phase phase = x.phase(f.phase);
    const auto [first, last] = x.inside(phase, x.cells_of(f.phase));
    f.phases(f.phase) = Tuple(phase.first, phase.shift, phase.taps, first, last);
    for (int d = 1; d < 3; d++) {
        const Expr at = f.position;
        f.seen.emplace_back(std::string("seen_") + "xyz"[d]);
        f.seen.back()(f.position) = axes[d].seen(at / axes[d].phases, axes[d].phase(at % axes[d].phases));
    }
    result(std::vector<Var>(6)) = undef(result.type());
    for (Sums &s : f.sums) define_sums(f, s, axes, picture, weights, result, initial, loaded, stored);
    f.result = result;
}

}  // namespace conv_transpose::channel_rows

#endif
