// What flat matrix products store of their sums (flat_places.h): row by row, the phases of a row together, in vectors of results
// of a row or of channels.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_STORING_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_STORING_H

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"

namespace conv_transpose::flat_gemm {

/// What is stored of a sum.
using Finish = std::function<Expr(const Expr &)>;

/// The stores of output(x, y, z, channel, group, image): row by row, the phases of a row together.
template <class Tensor>
class Storing {
  public:
    Storing(FlatGemmFuncs &f, Tensor &output, const Places &places, const Finish &finish)
        : f_(f), output_(output), places_(places), finish_(finish), rank_(static_cast<int>(places.axes().size())) {
        f.writes_vectors = output.dim(rank_).stride() == 1, f.writes_rows = output.dim(0).stride() == 1;
        const std::vector<FlatAxis> &axes = places.axes();
        const FlatGemmVars &v = f.v;
        const Expr first_row = v.row * rows_of_run();
        const PerAxis cells = places.row(v.tile * places.rows() + first_row);
        PerAxis stored;
        Expr there_is = cells.back() < places.images();
        for (int d = 1; d < rank_; d++) {
            stored.push_back(cells[d - 1] * axes[d].stride + axes[d].phase(d == 1 ? v.phase_y : v.phase_z) - axes[d].skipped);
            there_is = there_is && stored.back() < extent(d);
            if (!Halide::Internal::is_const_zero(axes[d].skipped)) there_is = there_is && stored.back() >= 0;
        }
        stored.insert(stored.end(), {cells.back(), Halide::cast<int>(there_is)});
        // In place of gaps, which are not stored, the first cells are read, of whatever phase.
        const Expr first_place = f.size.only_cells ? places.first_cell_of(first_row, v.tile) : first_row * places.pitch();
        stored.push_back(select(places.is_row(v.tile * places.rows() + first_row), first_place, 0));
        tabulate(f.stored_rows, {v.row, v.phase_y, v.phase_z, v.tile}, stored);
    }

    /// Stores in vectors along a row, whose phases are interleaved before.
    void store_places() {
        using namespace Halide;
        const int vector = f_.size.vector;
        auto &s = f_.stored;
        s.domain = domain({{0, vector}, {0, rounded_up(places_.length(), vector)}}, {{0, f_.size.channels}});
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.phase_y = r[2], s.row = r[3], s.phase_z = r[4], s.lane = r[5];
        name_outer(6);
        // The last vector of a row begins early. Rows of less than a vector are stored one by one.
        f_.whole_vectors = places_.length() >= vector;
        const Expr at = min(r[1] * vector, max(places_.length() - vector, 0)) + r[0];
        only_what_there_is(s.lane);
        r.where(f_.whole_vectors || r[0] < places_.length());
        if (Internal::is_const_one(x().stride)) {
            const Expr place = promised(places_.place(s.row, at), places_.places(s.tile));
            const Expr sum = f_.result(place, s.lane, panel(), phase_of_panel(0, panel()), s.segment, s.tile, s.group);
            return store(at, s.lane, finish_(sum));
        }
        interleave();
        const Expr element = promised(at + places_.early(s.segment), vectors() * vector * x().stride);
        const Expr sum = f_.interleaved(element, s.row, s.phase_y, s.phase_z, s.lane, panel(), s.segment, s.tile, s.group);
        store(at, s.lane, or_empty(s.lane, finish_(sum)));
    }

    /// Vectors of results of a run, of all phases, are turned for a vector of channels: a run is rows that lie one after the other,
    /// of whole planes or images, or a row.
    void store_turned() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        auto &s = f_.stored;
        s.domain = domain({{0, vector}, {0, vector}, {0, rounded_up(run(), vector)}}, {{0, f_.size.channels / vector}});
        RDom &r = s.domain;
        s.element = r[0], s.lane = r[1], s.vector = r[2], s.phase_y = r[3], s.row = r[4], s.phase_z = r[5], s.lane_vector = r[6];
        name_outer(7);
        const Expr lane = s.lane_vector * vector + s.lane;
        // The last vector of a run begins early. Runs of less than a vector are stored one by one.
        f_.whole_vectors = run() >= vector;
        const auto first = [&](const Expr &number) -> Expr { return max(min(number * vector, run() - vector), 0); };
        only_what_there_is(lane);
        r.where(s.vector * vector < run());
        r.where(f_.whole_vectors || s.element < run());
        f_.turned_results(v.element, v.lane, v.vector, v.row, v.panel, v.phase, v.segment, v.tile, v.group) =
            result_of_run(first(v.vector));
        const Expr sum = f_.turned_results(s.element, lane, s.vector, s.row, panel(), phase(0, s.phase_y, s.phase_z), s.segment,
                                           s.tile, s.group);
        store(first(s.vector) + s.element, lane, or_empty(lane, finish_(sum)));
    }

    /// Stores in vectors of channels, cell by cell, the phases of a cell together.
    void store_channels() {
        using namespace Halide;
        const int vector = f_.size.vector;
        auto &s = f_.stored;
        s.domain = domain({{0, vector}, {0, f_.size.channels / vector}, {0, x().phases}, {0, places_.cells()}}, {});
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.phase_x = r[2], s.cell = r[3], s.phase_y = r[4], s.row = r[5], s.phase_z = r[6];
        name_outer(7);
        const Expr lane = s.vector * vector + s.element;
        const Expr at = s.cell * x().stride + s.phase_x - places_.early(s.segment);
        r.where(at >= 0 && at < places_.length());
        only_what_there_is(lane);
        const Expr number = row(rank_ + 1) + s.cell * places_.cell_step(s.tile);
        const Expr place = f_.size.only_cells ? promised(number, places_.cells_of(s.tile))
                                              : promised(s.row * places_.pitch() + s.cell, places_.places(s.tile));
        const Expr sum = f_.result(place, lane, panel(), phase_of_panel(phase(s.phase_x, s.phase_y, s.phase_z), panel()), s.segment,
                                   s.tile, s.group);
        store(at, lane, or_empty(lane, finish_(sum)));
    }

    /// The same of each register tile as soon as its sums are complete, so that no results wait in a cache.
    void store_register_tiles() {
        using namespace Halide;
        const int vector = f_.size.vector, positions = f_.size.positions;
        auto &s = f_.stored;
        const Expr pitch = places_.pitch();
        s.domain = domain({{0, vector}, {0, f_.size.channels / vector}, {0, positions}, {0, rounded_up(positions - 1, pitch) + 1},
                           {0, places_.most_places() / positions}, {0, x().phases}, {0, phases_of(1)}, {0, phases_of(2)}});
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.cell = r[2], s.row = r[3], s.register_tile = r[4];
        s.phase_x = r[5], s.phase_y = r[6], s.phase_z = r[7];
        name_outer(8);
        const Expr lane = s.vector * vector + s.element, first_place = s.register_tile * positions;
        const Expr first_row = first_place / pitch;
        row_ = promised(first_row + s.row, places_.rows());
        const Expr first_cell = first_place % pitch - s.row * pitch;  // of the row, at the register tile's first place
        define_stored_cells();
        const auto stored_cell = [&](int i) -> Expr { return f_.stored_cells(s.phase_x, s.segment)[i]; };
        r.where(first_place < places_.places(s.tile));
        r.where(first_row + s.row < places_.rows_of(s.tile));
        r.where(s.cell >= stored_cell(0) - first_cell);
        r.where(s.cell <= stored_cell(1) - first_cell);
        only_what_there_is(lane);
        define_finished();
        const Expr at = (s.cell + first_cell) * x().stride + s.phase_x - places_.early(s.segment);
        store(at, lane, f_.finished(promised(first_place + s.cell, places_.places(s.tile)), lane, panel(),
                                    phase_of_panel(live_phase(), panel(), 1), s.segment, s.tile, s.group));
    }

    /// The same of each register tile from its registers: cells alone, of which a table tells where their results lie.
    void store_sums() {
        using namespace Halide;
        const int vector = f_.size.vector, positions = f_.size.positions;
        auto &s = f_.stored;
        define_cell_results();
        const Expr most_tiles = rounded_up(places_.rows() * places_.row_cells(), positions);
        s.domain = domain({{0, vector}, {0, f_.size.channels / vector}, {0, positions}, {0, most_tiles}, {0, x().phases},
                           {0, phases_of(1)}, {0, phases_of(2)}});
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.cell = r[2], s.register_tile = r[3];
        s.phase_x = r[4], s.phase_y = r[5], s.phase_z = r[6];
        name_outer(7);
        const Expr lane = s.vector * vector + s.element, first = s.register_tile * positions;
        // A table's count would spare the stores alone.
        r.where(first < places_.cells_before(places_.rows_of(s.tile), s.tile));
        only_channels_there_are(lane);
        const Expr number = first + s.cell;
        const Expr result = f_.cell_results(promised(number, places_.most_cells(vector)),
                                            number_among_all(s.phase_x, s.phase_y, s.phase_z), s.segment, s.tile);
        r.where(result >= 0);
        const Expr sum = f_.sum(number, lane, panel(), live_phase(), 0, s.segment, s.tile, s.group);
        std::vector<Expr> index(rank_ + 3, 0);
        index[rank_] = promised(result + panel() * f_.size.channels + lane, channels()), index[rank_ + 1] = s.group;
        store_at(index, or_empty(lane, finish_(sum)));
    }

  private:
    FlatGemmFuncs &f_;
    Tensor &output_;
    const Places &places_;
    const Finish &finish_;
    const int rank_;
    Expr row_;  ///< of a tile, that is stored; not defined: the loop's

    const FlatAxis &x() const { return places_.axes()[0]; }
    Expr extent(int d) const { return output_.dim(d).extent(); }
    Expr channels() const { return extent(rank_); }
    Expr phases_of(int d) const { return d < rank_ ? places_.axes()[d].phases : Expr(1); }
    Expr live_phases_of(int d) const { return d < rank_ ? places_.axes()[d].live_phases : Expr(1); }
    Expr phases_between_runs(int d) const {
        return f_.size.turned && d < rank_ ? Halide::select(joins_rows(d), 1, phases_of(d)) : phases_of(d);
    }
    // Whole rows of the axes up to this one lie one after the other.
    Expr rows_are_dense(int axis) const {
        Expr dense = places_.length() == extent(0), all = 1;
        for (int d = 1; d <= axis; d++) {
            all = all * extent(d - 1);
            dense = dense && output_.dim(d).stride() == all;
        }
        return dense;
    }
    // Planes, or images, of a tile that has whole ones are stored as one row each.
    Expr joins_rows(int axis) const {
        Expr joins = rows_are_dense(axis) && places_.rows() % places_.pitch_of(axis) == 0;
        for (int d = 1; d <= axis; d++) joins = joins && !places_.axes()[d].has_holes;
        return joins;
    }
    Expr rows_of_run() const {
        Expr rows = 1;
        if (!f_.size.turned) return rows;
        for (int d = 1; d < rank_; d++) rows = select(joins_rows(d), places_.pitch_of(d), rows);
        return rows;
    }
    /// So many results are in one.
    Expr run() const {
        Expr rows = 1;
        for (int d = 1; d < rank_; d++) rows = rows * of_run(d, extent(d));
        return places_.length() * rows;
    }
    /// What a run has of this axis, of so much.
    Expr of_run(int axis, const Expr &all) const { return axis == 0 ? all : Halide::select(joins_rows(axis), all, 1); }
    Expr vectors() const { return rounded_up(places_.cells(), f_.size.vector); }
    Expr panel() const { return f_.stored.block * places_.block_panels() + f_.stored.panel; }

    using Ranges = std::vector<std::pair<Expr, Expr>>;
    // It goes through what a row has, rows one after the other as they lie in memory, what lies between, and the loops
    // of all schedules.
    Halide::RDom domain(Ranges ranges, const Ranges &inner) const {
        const Expr runs = places_.rows() / rows_of_run();
        ranges.insert(ranges.end(), {{0, phases_between_runs(1)}, {0, runs}, {0, phases_between_runs(2)}});
        ranges.insert(ranges.end(), inner.begin(), inner.end());
        return domain(ranges);
    }
    Halide::RDom domain(Ranges ranges) const {
        const Expr blocks = rounded_up(rounded_up(channels(), f_.size.channels), places_.block_panels());
        ranges.insert(ranges.end(), {{0, places_.block_panels()}, {0, blocks}, {0, places_.segments()}, {0, places_.tiles()},
                                     {0, extent(rank_ + 1)}});
        Halide::Region region;
        for (const auto &[min, count] : ranges) region.emplace_back(min, count);
        return Halide::RDom(region, "stored");
    }
    void name_outer(int first) {
        auto &s = f_.stored;
        const Halide::RDom &r = s.domain;
        s.panel = r[first], s.block = r[first + 1], s.segment = r[first + 2], s.tile = r[first + 3], s.group = r[first + 4];
    }
    Expr row(int i) const {
        const auto &s = f_.stored;
        return f_.stored_rows(row_.defined() ? row_ : Expr(s.row), s.phase_y, s.phase_z, s.tile)[i];
    }
    void only_what_there_is(const Expr &lane) {
        Halide::RDom &r = f_.stored.domain;
        only_channels_there_are(lane);
        r.where(row(rank_) != 0);
    }
    void only_channels_there_are(const Expr &lane) {
        Halide::RDom &r = f_.stored.domain;
        r.where(panel() * f_.size.channels < channels());
        // Where lanes are in vectors, most vectors are whole; else each lane would be stored by itself.
        const Expr there_is = panel() * f_.size.channels + lane < channels();
        r.where(f_.size.channels_of_any_layout() ? Halide::likely(there_is) : there_is);
    }

    Expr phase(const Expr &phase_x, const Expr &phase_y, const Expr &phase_z) const {
        Expr number = min(phase_x, x().phases - 1);
        // In place of phases without taps, which are not stored, the last one is read.
        if (rank_ > 1) number = number + live_phases_of(0) * min(phase_y, live_phases_of(1) - 1);
        if (rank_ > 2) number = number + live_phases_of(0) * live_phases_of(1) * min(phase_z, live_phases_of(2) - 1);
        return number;
    }
    /// Those without taps are counted, too.
    Expr number_among_all(const Expr &phase_x, const Expr &phase_y, const Expr &phase_z) const {
        return phase_x + x().phases * (phase_y + phases_of(1) * phase_z);
    }
    Expr has_taps() const {
        const auto &s = f_.stored;
        return s.phase_y < live_phases_of(1) && s.phase_z < live_phases_of(2);
    }
    // Results of phases without taps are of one value a channel.
    Expr or_empty(const Expr &lane, const Expr &finished) const {
        const auto &s = f_.stored;
        return f_.empty.defined() ? select(has_taps(), finished, f_.empty(panel() * f_.size.channels + lane, s.group)) : finished;
    }
    // There is none of panels beyond the last, so that nothing is computed for them.
    Expr phase_of_panel(const Expr &number, const Expr &panel, int beyond = 0) const {
        return promised(number, Halide::select(panel * f_.size.channels < channels(), places_.live_phases() + beyond, 0));
    }
    // Of those without taps, the one beyond all others.
    Expr live_phase() const {
        const auto &s = f_.stored;
        return select(has_taps(), phase(s.phase_x, s.phase_y, s.phase_z), places_.live_phases());
    }
    void define_finished() {
        const FlatGemmVars &v = f_.v;
        f_.finished(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
            finish_(f_.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group));
    }
    // The cells of a row that have a result of a phase: a segment may begin and end within a cell.
    void define_stored_cells() {
        const FlatGemmVars &v = f_.v;
        const Expr before = places_.early(v.segment) - v.phase_x, stride = x().stride;
        tabulate(f_.stored_cells, {v.phase_x, v.segment}, {rounded_up(before, stride), (places_.length() - 1 + before) / stride});
    }

    // Where the results of cells lie, from the first image's first element on. Vectors of cells go beyond a row's end, where the
    // next row begins, and repeat its last cell.
    void define_cell_results() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        f_.cell_results(v.place, v.phase, v.segment, v.tile) = -1;
        f_.resulting = RDom({{0, vector}, {0, rounded_up(places_.row_cells(), vector)}, {0, places_.rows()}, {0, x().phases},
                             {0, phases_of(1)}, {0, phases_of(2)}}, "resulting");
        RDom &r = f_.resulting;
        const FuncRef row = f_.cell_rows(r[2], v.tile);
        const Expr first = row[rank_ - 1], image = places_.row(v.tile * places_.rows() + r[2]).back();
        r.where(first >= 0);
        const Expr cell = min(r[1] * vector + r[0], places_.row_cells() - 1);
        const Expr at = cell * x().stride + r[3] - places_.early(v.segment);
        Expr there_is = at >= 0 && at < places_.length();
        Expr result = (places_.begin(v.segment) + at) * output_.dim(0).stride() + image * output_.dim(rank_ + 2).stride();
        for (int d = 1; d < rank_; d++) {
            const FlatAxis &axis = places_.axes()[d];
            const Expr of_axis = row[d - 1] * axis.stride + axis.phase(r[3 + d]) - axis.skipped;
            there_is = there_is && of_axis >= 0 && of_axis < extent(d);
            result = result + of_axis * output_.dim(d).stride();
        }
        const Expr number = first + cell * places_.cell_step(v.tile);
        const Expr of_phase = promised(number_among_all(r[3], r[4], r[5]), x().phases * phases_of(1) * phases_of(2));
        f_.cell_results(promised(number, places_.most_cells(vector)), of_phase, v.segment, v.tile) = select(there_is, result, -1);
    }

    void interleave() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        f_.stride_x = x().stride;
        f_.interleaving = RDom({{0, vector}, {0, x().stride}, {0, vectors()}}, "interleaving");
        const Expr cell = f_.interleaving[2] * vector + f_.interleaving[0];
        f_.interleaved(v.element, v.row, v.phase_y, v.phase_z, v.lane, v.panel, v.segment, v.tile, v.group) = undef<float>();
        f_.interleaved(cell * x().stride + f_.interleaving[1], v.row, v.phase_y, v.phase_z, v.lane, v.panel, v.segment, v.tile,
                       v.group) = result(cell, phase_of_panel(phase(f_.interleaving[1], v.phase_y, v.phase_z), v.panel));
    }

    // A table tells where the results of a run lie: divisions would take longer than all else. It returns how many there are.
    Expr define_run_results() {
        using namespace Halide;
        const std::vector<FlatAxis> &axes = places_.axes();
        Region region;
        for (int d = 0; d < rank_; d++) {
            region.emplace_back(0, of_run(d, axes[d].live_phases));
            region.emplace_back(0, of_run(d, d == 0 ? places_.cells() : axes[d].cells));
        }
        f_.results_of_run = RDom(region, "results_of_run");
        RDom &r = f_.results_of_run;
        Expr element = 0, place = 0, phase = 0, all = 1;
        for (int d = rank_; d-- > 0;) {
            const FlatAxis &axis = axes[d];
            const Expr results = d == 0 ? select(joins_rows(1), extent(0), places_.cells() * x().stride) : of_run(d, extent(d));
            const Expr at = r[2 * d + 1] * axis.stride + r[2 * d];
            r.where(at < results);
            element = element * results + at, all = all * results;
            place = place * (d == 0 ? row_pitch() : of_run(d, f_.size.only_cells ? axis.cells : axis.pitch())) + r[2 * d + 1];
            phase = phase * of_run(d, axis.live_phases) + r[2 * d];
        }
        f_.run_results(f_.v.element) = Tuple(0, 0);
        f_.run_results(promised(element, all)) = Tuple(place, phase);
        return all;
    }
    // Vectors of short runs go beyond the last.
    Expr result_of_run(const Expr &number) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const Expr at = promised(number + v.element + places_.early(v.segment), define_run_results() + f_.size.vector);
        const Expr step = f_.size.only_cells ? places_.cell_step(v.tile) : Expr(1);
        const Expr place = f_.stored_rows(v.row, 0, 0, v.tile)[rank_ + 1] + f_.run_results(at)[0] * step;
        const Expr places = f_.size.only_cells ? places_.cells_of(v.tile) : places_.places(v.tile);
        const Expr phase = has_phases() ? v.phase + f_.run_results(at)[1] : v.phase;
        return f_.result(promised(place, places), v.lane, v.panel, phase_of_panel(phase, v.panel), v.segment, v.tile, v.group);
    }
    bool has_phases() const {
        const std::vector<FlatAxis> &axes = places_.axes();
        return std::any_of(axes.begin(), axes.end(), [](const FlatAxis &a) { return !Halide::Internal::is_const_one(a.phases); });
    }

    // Coordinates of a cell of a row. In place of rows beyond the last, which are not stored, the last one is read.
    Expr result(const Expr &cell, const Expr &phase) const {
        const FlatGemmVars &v = f_.v;
        const Expr row_of_tile = min(v.row, places_.rows_of(v.tile) - 1);
        const Expr place = promised(places_.place(row_of_tile, cell), places_.places(v.tile));
        return f_.result(place, v.lane, v.panel, phase, v.segment, v.tile, v.group);
    }

    // From a row to the next.
    Expr row_pitch() const { return f_.size.only_cells ? places_.row_cells() : places_.pitch(); }

    // `at` counts the results of a segment.
    void store(const Expr &at, const Expr &lane, const Expr &finished) {
        const auto &s = f_.stored;
        std::vector<Expr> index{promised(places_.begin(s.segment) + at, extent(0))};
        for (int d = 1; d < rank_; d++) index.push_back(promised(row(d - 1), extent(d)));
        index.insert(index.end(), {promised(panel() * f_.size.channels + lane, channels()), s.group,
                                   promised(row(rank_ - 1), places_.images())});
        store_at(index, finished);
    }
    void store_at(const std::vector<Expr> &index, const Expr &finished) {
        const std::vector<Halide::Var> any(rank_ + 3);
        output_(any) = Halide::undef(finished.type());
        output_(index) = finished;
        f_.output = output_;
    }
};

template <class Tensor>
void define_stores(FlatGemmFuncs &f, Tensor &output, const Places &places, const Finish &finish) {
    Storing<Tensor> storing(f, output, places, finish);
    if (f.size.turned) storing.store_turned();
    else if (f.size.stores_sums) storing.store_sums();
    else if (f.size.stores_register_tiles()) storing.store_register_tiles();
    else f.size.channels_in_vectors ? storing.store_channels() : storing.store_places();
}

}  // namespace conv_transpose::flat_gemm

#endif
