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
#include <utility>
#include <vector>

#include "Halide.h"
#include "algorithm/channel_rows_funcs.h"
#include "algorithm/gather.h"
#include "algorithm/per_axis.h"
#include "algorithm/strided_axis.h"
#include "algorithm/table.h"

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

    /// What a cell's first tap inside of the picture sees and multiplies, and how many such taps there are.
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
    /// No phase has more cells at the edges, where as many lie inside.
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

/// Defines sums of one kind, their tables and their stores, by the names of Funcs.
template <class Picture, class Weights, class Result>
class SumsDefinition {
  public:
    SumsDefinition(Funcs &f, Sums &s, const std::vector<Axis> &axes, const Picture &picture, const Weights &weights, Result &result)
        : f_(f), s_(s), axes_(axes), x_(axes[0]), picture_(picture), weights_(weights), result_(result),
          tile_places_(f.places_of(s)), places_(s.is_edge ? 1 : tile_places_), groups_(result.dim(4).extent()),
          tasks_(most_tiles(), result) {
        const std::string name = s.name();
        s.task = Func("task" + name), s.columns = Func("columns" + name), s.sum = Func("sum" + name);
        s.rows = Func("rows" + name), s.row_count = Func("row_count" + name);
    }

    void define(const std::function<Expr(const Expr &group)> &initial, const std::function<Expr(const Expr &element)> &loaded,
                const std::function<Expr(const Expr &sum)> &stored) {
        tabulate(s_.task, {f_.task}, tasks_.task(f_.task).as_vector());
        define_rows();
        s_.is_edge ? define_columns_of_edges() : define_columns_of_tiles();
        const auto [from, of_weight] = s_.is_edge ? read_by_edges() : read_by_tiles();
        s_.sum(f_.lane, f_.place, f_.panel, f_.phase, f_.tile, f_.task) = initial(channel());
        s_.sum(f_.lane, f_.place, f_.panel, f_.phase, f_.tile, f_.task) += loaded(picture_(from)) * weights_(of_weight);
        store(stored);
    }

  private:
    using Func = Halide::Func;
    using Tuple = Halide::Tuple;
    /// Where a sum reads the picture, and the weights.
    using Read = std::pair<std::vector<Expr>, std::vector<Expr>>;

    Expr of_task(const Expr &task, int i) const { return s_.task(task)[i]; }
    Expr of_phase(int i) const { return f_.phases(promised(f_.phase, x_.phases))[i]; }
    Expr columns(int i) const { return s_.columns(f_.phase, f_.tile, f_.task)[i]; }
    Expr channel() const { return f_.panels.channel(s_.is_narrow, f_.panel, f_.lane, groups_); }
    Expr column() const { return promised(columns(1), picture_.dim(0)); }
    Expr image() const { return promised(of_task(f_.task, 3), tasks_.images); }
    Expr most_rows() const { return axes_[1].most_taps * axes_[2].most_taps; }

    Expr most_tiles() const {
        if (!s_.is_edge) return rounded_up(x_.cells(), tile_places_);
        const Expr edges = x_.most_edges(), all_have_tiles = x_.results / x_.phases - edges >= tile_places_;
        return select(all_have_tiles, edges, min(edges + tile_places_ - 1, x_.cells()));
    }

    void define_rows() {
        const auto on_axis = [&](int d, int i) -> Expr {
            return f_.seen[d - 1](promised(of_task(f_.task, d), axes_[d].results))[i];
        };
        const Expr of_y = max(on_axis(1, 2), 1), tap_y = f_.tap % of_y, tap_z = f_.tap / of_y;
        tabulate(s_.rows, {f_.tap, f_.task},
                 {on_axis(1, 0) + tap_y * axes_[1].step, on_axis(1, 1) + tap_y * axes_[1].tap_step,
                  on_axis(2, 0) + tap_z * axes_[2].step, on_axis(2, 1) + tap_z * axes_[2].tap_step});
        tabulate(s_.row_count, {f_.task}, {on_axis(1, 2) * on_axis(2, 2)});
    }

    void define_columns_of_edges() {
        const Expr begin = of_phase(3), end = of_phase(4), cells = x_.cells_of(f_.phase), has_tiles = end - begin >= tile_places_;
        const Expr tile = of_task(f_.task, 0) + f_.tile;
        const Expr left = select(has_tiles, begin, cells), cell = select(tile < left, tile, tile - left + end);
        const Tuple seen = x_.seen(cell, {of_phase(0), of_phase(1), of_phase(2)});
        tabulate(s_.columns, {f_.phase, f_.tile, f_.task},
                 {select(cell < cells, cell, -1), seen[0], seen[1], select(cell < cells, seen[2], 0)});
    }

    void define_columns_of_tiles() {
        const Expr begin = of_phase(3), end = of_phase(4), has_tiles = end - begin >= tile_places_;
        const Expr first = begin + (of_task(f_.task, 0) + f_.tile) * places_, cell = min(first, end - places_);
        const Expr exists = has_tiles && first < end;
        tabulate(s_.columns, {f_.phase, f_.tile, f_.task},
                 {select(exists, cell, -1), cell * x_.read_stride + of_phase(1), of_phase(0),
                  select(exists, of_phase(2) * s_.row_count(f_.task), 0)});
    }

    Read read_by_edges() {
        s_.taps = Halide::RDom({{0, x_.most_taps}, {0, most_rows()}}, "taps" + s_.name());
        const Halide::RDom &t = s_.taps;
        s_.taps.where(t[1] < s_.row_count(f_.task));
        s_.taps.where(t[0] < columns(3));
        const auto row = [&](int i) -> Expr { return s_.rows(t[1], f_.task)[i]; };
        const Expr tap = columns(2) + t[0] * x_.tap_step;
        return {{promised(column() + t[0] * x_.step, picture_.dim(0)), promised(row(0), picture_.dim(1)),
                 promised(row(2), picture_.dim(2)), 0, channel(), image()},
                {channel(), promised(tap, x_.kernel), promised(row(1), axes_[1].kernel), promised(row(3), axes_[2].kernel), 0, 0}};
    }

    /// All taps of a row as one, by where they read.
    Read read_by_tiles() {
        const Expr of_x = max(of_phase(2), 1), tap_x = f_.tap % of_x;
        const auto row = [&](int i) -> Expr { return s_.rows(min(f_.tap / of_x, most_rows() - 1), f_.task)[i]; };
        s_.list = Func("list" + s_.name());
        tabulate(s_.list, {f_.tap, f_.phase, f_.task},
                 {tap_x * (x_.step * picture_.dim(0).stride()) + (row(0) - picture_.dim(1).min()) * picture_.dim(1).stride() +
                      (row(2) - picture_.dim(2).min()) * picture_.dim(2).stride(),
                  (of_phase(0) + tap_x * x_.tap_step) * weights_.dim(1).stride() + row(1) * weights_.dim(2).stride() +
                      row(3) * weights_.dim(3).stride()});
        s_.taps = Halide::RDom({{0, x_.most_taps * most_rows()}}, "taps" + s_.name());
        s_.taps.where(s_.taps.x < columns(3));
        // Groups are neighbours in memory: a distance is one of groups, which costs no products of coordinates.
        const auto at = [&](int i) -> Expr { return channel() + s_.list(s_.taps.x, f_.phase, f_.task)[i]; };
        const Expr step = x_.read_stride * picture_.dim(0).stride();
        return {{column(), picture_.dim(1).min(), picture_.dim(2).min(), 0, promised(at(0) + f_.place * step, groups_), image()},
                {promised(at(1), groups_), 0, 0, 0, 0, 0}};
    }

    void store(const std::function<Expr(const Expr &sum)> &stored) {
        const Expr panels = f_.panels.count(s_.is_narrow, groups_);
        s_.stored = Halide::RDom({{0, f_.panels.lanes_of(s_.is_narrow)}, {0, places_}, {0, panels}, {0, x_.phases},
                                  {0, tasks_.tiles}, {0, select(panels > 0, tasks_.count(), 0)}}, "stored" + s_.name());
        const Halide::RDom &r = s_.stored;
        const Halide::RVar task = r[5];
        const Expr cell = s_.columns(r[3], r[4], task)[0];
        s_.stored.where(cell >= 0);
        const Expr to = cell * x_.phases + r[3], to_group = f_.panels.channel(s_.is_narrow, r[2], r[0], groups_);
        result_(promised(to, x_.results), promised(of_task(task, 1), tasks_.rows), promised(of_task(task, 2), tasks_.planes), 0,
                promised(to_group + r[1] * (x_.phases * result_.dim(0).stride()), groups_),
                promised(of_task(task, 3), tasks_.images)) = stored(s_.sum(r[0], r[1], r[2], r[3], r[4], task));
    }

    Funcs &f_;
    Sums &s_;
    const std::vector<Axis> &axes_;
    const Axis &x_;
    const Picture &picture_;
    const Weights &weights_;
    Result &result_;
    const int tile_places_, places_;
    const Expr groups_;
    const Tasks tasks_;
};

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
    tabulate(f.phases, {f.phase}, {phase.first, phase.shift, phase.taps, first, last});
    for (int d = 1; d < 3; d++) {
        const Expr at = f.position;
        f.seen.emplace_back(std::string("seen_") + "xyz"[d]);
        tabulate(f.seen.back(), {f.position}, axes[d].seen(at / axes[d].phases, axes[d].phase(at % axes[d].phases)).as_vector());
    }
    result(std::vector<Var>(6)) = undef(result.type());
    for (Sums &s : f.sums) SumsDefinition(f, s, axes, picture, weights, result).define(initial, loaded, stored);
    f.result = result;
}

}  // namespace conv_transpose::channel_rows

#endif
