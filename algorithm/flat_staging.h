// What taps of a tile's places see of a picture, copied as rows with their gaps (flat_places.h): in vectors of places, of
// channels, or of cells that are turned into channels. A schedule says how.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_STAGING_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_STAGING_H

#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"

namespace conv_transpose::flat_gemm {

/// Vectors that copy rows become narrower so, down to single elements.
inline int next_width(int width) { return width > 4 ? width / 2 : width > 1 ? 1 : 0; }

/// Defines f.span, and gives the columns of f.seen_rows: coordinates of rows that taps see, and how many cells they have.
/// `planes` are the digits of the plane's number.
inline std::vector<Expr> seen_rows(FlatGemmFuncs &f, const Places &places, const PerAxis &planes) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const std::vector<FlatAxis> &axes = places.axes();
    tabulate(f.span, {v.plane, v.segment}, places.span(planes[0], v.segment));

    const PerAxis cells = places.row(places.seen_row(v.tile, v.row) - places.first_row());
    std::vector<Expr> seen;
    Expr there_is = cells.back() >= 0 && cells.back() < places.images();
    for (std::size_t d = 1; d < axes.size(); d++) {
        const Expr cell = cells[d - 1] + axes[d].first_seen(), at = axes[d].coordinate(cell, planes[d]);
        there_is = there_is && cell <= axes[d].last_seen() && at >= axes[d].min && at < axes[d].min + axes[d].extent;
        seen.push_back(at);
    }
    seen.push_back(cells.back());
    seen.push_back(select(there_is, f.span(v.plane, v.segment)[1] - f.span(v.plane, v.segment)[0], 0));
    return seen;
}

/// What is copied: elements in float32.
using Load = std::function<Expr(const Expr &)>;

/// As it is staged: of a bfloat16 the upper half of its float32.
inline Expr kept(const FlatGemmSizes &size, const Expr &value) {
    using namespace Halide;
    return size.keeps_type() ? reinterpret(BFloat(16), cast<uint16_t>(reinterpret<uint32_t>(value) >> 16)) : value;
}

/// Copies of rows of the picture (x, y, z, channel, group, image), with their gaps: an update for each of several widths.
template <class Tensor>
class Staging {
  public:
    Staging(FlatGemmFuncs &f, const Places &places, const Tensor &picture, const Load &load)
        : f_(f), places_(places), picture_(picture), load_(load), rank_(static_cast<int>(places.axes().size())) {
        f.read_stride = x().has_spots ? Expr(1) : x().read_stride;
        PerAxis plane_counts;
        for (const FlatAxis &a : places.axes()) plane_counts.push_back(a.planes);
        planes_ = digits(f.v.plane, plane_counts, divide_plainly);
    }

    /// Copies in vectors along a row, of which the last begins early; rows of less than a vector are copied by smaller ones. Where
    /// channels lie side by side, it copies cell by cell, if that is wanted.
    void copy_places(bool any_layout) {
        find_places(any_layout);
        copy_found_places([&](const Expr &cell, const Expr &row) { return element(cell, row); });
        if (any_layout) add_cells();
    }

    /// The same in any layout; where a vector of channels and more lie side by side, blocks of those are turned into vectors of
    /// cells.
    void copy_turned_places() {
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        const Expr channels = picture_.dim(rank_).extent();
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr by_cells = seen.back(), by_places = joined(seen);
        const Expr turns = f_.reads_vectors && channels >= vector && by_cells >= vector;
        seen.pop_back();
        add_widths(seen, select(turns, 0, by_places));
        seen.push_back(select(turns, rounded_up(by_cells, vector), 0));
        begin(seen, select(turns, by_cells, by_places), by_cells);
        copy_found_places([&](const Expr &cell, const Expr &row) { return element(cell, row); });
        // The last block of channels begins early, as the last vector of cells does.
        const auto channel = [&](const Expr &block, const Expr &lane) -> Expr {
            return promised(min(block * vector, channels - vector) + lane, channels);
        };
        f_.turned_cells(v.element, v.lane, v.chunk, v.vector, v.row, v.plane, v.segment, v.tile, v.group) =
            element_of(cell_of_vector(v.vector, vector, v.row) + v.element, v.row, channel(v.chunk, v.lane));
        const Halide::RDom r({{0, vector}, {0, vector}, {0, rounded_up(most_cells(), vector)}, {0, rounded_up(channels, vector)},
                              {0, places_.seen_rows()}}, "copied_channels");
        const Expr cell = cell_of_vector(r[2], vector, r[4]) + r[0];
        add_at(promised(place(cell, r[4]), places_.window()), channel(r[3], r[1]), vector, r, r[2], r[4],
               f_.turned_cells(r[0], r[1], r[3], r[2], r[4], v.plane, v.segment, v.tile, v.group));
    }

    /// These are its two steps: what is copied may depend on the rows that are found.
    void find_places(bool any_layout) {
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr by_cells = seen.back(), by_places = f_.size.entries > 0 ? by_cells : joined(seen);
        const Expr count = any_layout ? select(f_.reads_vectors, 0, by_places) : by_places;
        seen.pop_back();
        add_widths(seen, count);
        if (any_layout) seen.push_back(select(f_.reads_vectors, by_cells, 0));
        begin(seen, by_places, by_cells);
    }
    void copy_found_places(const std::function<Expr(const Expr &cell, const Expr &row)> &copied) {
        for (int width = f_.size.vector; width > 0; width = next_width(width)) {
            const Halide::RDom r({{0, width}, {0, rounded_up(most_cells(), width)}, {0, places_.seen_rows()}}, "copied");
            const Expr cell = cell_of_vector(r[1], width, r[2]) + r[0];
            add(width, r, r[1], r[2], cell, copied(cell, r[2]));
        }
    }
    /// The number of a cell, of a row that was found, among the tile's positions, where those are counted.
    Expr position(const Expr &cell, const Expr &row) const { return of_row(row, count_column_ + 1) + cell - span(0); }
    /// How many cells a row has.
    Expr cells(const Expr &row) const { return of_row(row, count_column_); }
    Expr coordinate(const Expr &row, int d) const { return of_row(row, d - 1); }
    Expr first_cell() const { return span(0); }

    /// Vectors of cells are turned into vectors of channels; rows of less than a vector are copied cell by cell, and in any
    /// layout those whose channels lie side by side.
    void copy_turned() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr by_cells = seen.back(), by_places = joined(seen);
        const Expr count = f_.size.channels_of_any_layout() ? select(f_.reads_vectors, by_cells, by_places) : by_places;
        const Expr turns = f_.size.channels_of_any_layout() ? count >= vector && !f_.reads_vectors : count >= vector;
        seen.back() = select(turns, rounded_up(count, vector), 0);
        seen.push_back(select(turns, 0, count));
        begin(seen, count, by_cells);
        add_turned(element(cell_of_vector(v.vector, vector, v.row) + v.element, v.row, true));
        const Expr most = f_.size.channels_of_any_layout() ? most_cells() : Halide::min(most_cells(), vector - 1);
        const RDom rest({{0, most}, {0, places_.seen_rows()}}, "copied_rest");
        add(1, rest, rest[0], rest[1], span(0) + rest[0], element(span(0) + rest[0], rest[1]));
    }

    /// Copies cell by cell; a schedule makes vectors of channels.
    void copy_channels() {
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr count = seen.back();
        begin(seen, count, count, true);
        add_cells();
    }

    /// All channels of a spot lie side by side: rows that lie so in the picture, too, in vectors, others spot by spot.
    void copy_spots() {
        const int vector = f_.size.vector;
        const Expr channels = picture_.dim(rank_).extent();
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr count = seen.back();
        const Expr dense = f_.reads_vectors && picture_.dim(0).stride() == channels && count * channels >= vector;
        seen.back() = select(dense, rounded_up(count * channels, vector), 0);
        seen.push_back(select(dense, 0, count));
        begin(seen, count, count);
        const Halide::RDom r({{0, vector}, {0, rounded_up(most_cells() * channels, vector)}, {0, places_.seen_rows()}}, "copied");
        const Expr at = Halide::min(r[1] * vector, of_row(r[2], count_column_) * channels - vector) + r[0];
        add_of_spots(vector, r, r[1], r[2], span(0), at);
        const Halide::RDom rest({{0, channels}, {0, most_cells()}, {0, places_.seen_rows()}}, "copied_rest");
        add_of_spots(1, rest, rest[1], rest[2], span(0) + rest[1], rest[0]);
    }

  private:
    FlatGemmFuncs &f_;
    const Places &places_;
    const Tensor &picture_;
    const Load &load_;
    const int rank_;
    PerAxis planes_;
    int count_column_ = 0;  ///< of f_.seen_rows

    const FlatAxis &x() const { return places_.axes()[0]; }
    Expr span(int i) const { return f_.span(f_.v.plane, f_.v.segment)[i]; }
    Expr most_cells() const { return places_.seen_rows() * places_.seen_pitch(); }
    // Counts how many cells are copied of a row. Rows without gaps, in the picture as among places, are one row with the first of
    // a tile or an image.
    Expr joined(const std::vector<Expr> &seen) const {
        using namespace Halide;
        const Expr count = seen.back(), row = f_.v.row;
        Expr dense = count == places_.seen_pitch() && count == x().extent && f_.read_stride == 1, number = 0, all = 1;
        for (int d = 1; d < rank_; d++) {
            const FlatAxis &a = places_.axes()[d];
            dense = dense && a.read_stride == 1 && a.first_seen() == a.min && a.last_seen() == a.min + a.extent - 1 &&
                    a.pitch() == a.extent && picture_.dim(d).stride() == all * x().extent;
            number = number + (seen[d - 1] - a.min) * all;
            all = all * a.extent;
        }
        const Expr in_run = row % places_.run_rows();
        const Expr left = Halide::min(places_.run_rows() - in_run, all - number);
        const Expr of_all = select(in_run == 0 || number == 0, left * count, 0);
        return select(dense, of_all, count);
    }
    // Adds how many vectors of each width a row of so many is copied by.
    void add_widths(std::vector<Expr> &seen, const Expr &count) const {
        for (int width = f_.size.vector, above = 0; width > 0; above = width, width = next_width(width))
            seen.push_back(select(count >= width && (above == 0 || count < above), rounded_up(count, width), 0));
    }
    // The last one begins early.
    Expr cell_of_vector(const Expr &number, int width, const Expr &row) const {
        return span(0) + Halide::min(number * width, of_row(row, count_column_) - width);
    }
    // Writes zeros, and what is known of rows: how many cells are copied from a row on, and how many it has.
    void begin(std::vector<Expr> seen, const Expr &count, const Expr &of_row, bool channels_inside = false) {
        const FlatGemmVars &v = f_.v;
        count_column_ = static_cast<int>(seen.size());
        seen.push_back(count);
        if (f_.size.only_seen) seen.push_back(max(of_row, 0));
        if (f_.size.entries > 0) seen.push_back(places_.positions_before(v.row, v.segment, v.tile));
        tabulate(f_.seen_rows, {v.row, v.plane, v.segment, v.tile}, seen);
        f_.staged(v.place, v.summed, v.plane, v.segment, v.tile, v.group) = 
            f_.size.only_seen ? Halide::undef(kept(f_.size, 0.f).type()) : kept(f_.size, 0.f);
        if (f_.size.only_seen) zero_gaps(f_.size.depthwise || channels_inside ? 1 : f_.size.vector);
    }
    // Vectors go beyond a gap, where rows are copied later, and the last begins early. Where some lanes of a vector of channels are
    // not copied, all is one gap. `width` is 1 where channels are in vectors.
    void zero_gaps(int width) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const Expr window = places_.window(), pitch = places_.seen_pitch(), rows = places_.seen_rows();
        const Expr of_place = f_.size.joined_terms && f_.size.channels_of_any_layout() ? picture_.dim(rank_).extent() : Expr(1);
        const Expr first = clamp(span(0) - span(2), 0, pitch);
        const Expr whole = f_.size.depthwise ? picture_.dim(rank_).extent() % f_.size.vector == 0 : Internal::const_true();
        const Expr behind_row = (v.row - 1) * pitch + first + of_row(max(v.row - 1, 0), count_column_ + 1);
        tabulate(f_.gaps, {v.row, v.plane, v.segment, v.tile},
                 {select(v.row == 0, 0, whole, behind_row, window),
                  select(v.row == rows || !whole, window, Halide::min(v.row * pitch + first, window))});
        f_.zeroed = RDom({{0, width}, {0, rounded_up(window * of_place, width)}, {0, rows + 1}}, "zeroed");
        RDom &r = f_.zeroed;
        const auto gap = [&](int i) -> Expr { return f_.gaps(r[2], v.plane, v.segment, v.tile)[i]; };
        r.where(gap(0) < gap(1));  // outside of the loop over channels
        r.where(r[1] * width < (gap(1) - gap(0)) * of_place);
        const Expr all = window * of_place, at = Halide::min(gap(0) * of_place + r[1] * width, all - width) + r[0];
        f_.staged(promised(at, all), v.summed, v.plane, v.segment, v.tile, v.group) = kept(f_.size, 0.f);
    }
    Expr of_row(const Expr &number, int i) const {
        const FlatGemmVars &v = f_.v;
        return f_.seen_rows(number, v.plane, v.segment, v.tile)[i];
    }
    // Coordinates in the picture. Vectors of channels may go beyond the last one, which nothing reads: if they are turned, they
    // repeat it, or are filled up with zeros.
    Expr element(const Expr &cell, const Expr &row, bool turned = false) const {
        const Expr summed = f_.v.summed, channels = picture_.dim(rank_).extent();
        if (turned || (f_.size.turned && !f_.size.taps_inside())) {
            const Expr value = element_of(cell, row, promised(Halide::min(summed, channels - 1), channels));
            return f_.size.fills_tiles ? select(summed < channels, value, 0.f) : value;
        }
        const bool stops_at_last = f_.size.depthwise || f_.size.fills_tiles;  // as add_at() does
        return element_of(cell, row, stops_at_last ? promised(summed, channels) : summed);
    }
    Expr element_of(const Expr &cell, const Expr &row, const Expr &channel) const {
        using namespace Halide;
        const std::vector<FlatAxis> &axes = places_.axes();
        std::vector<Expr> index{unsafe_promise_clamped(x().coordinate(cell, planes_[0]), x().min, x().min + x().extent - 1)};
        for (int d = 1; d < rank_; d++)
            index.push_back(unsafe_promise_clamped(of_row(row, d - 1), axes[d].min, axes[d].min + axes[d].extent - 1));
        index.insert(index.end(), {channel, f_.v.group, promised(of_row(row, rank_ - 1), places_.images())});
        return load_(picture_(index));
    }
    // Vectors of cells of a row, which are turned in registers: `value` is that of an element of a vector.
    void add_turned(const Expr &value) {
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        f_.turned_cells(v.element, v.summed, v.vector, v.row, v.plane, v.segment, v.tile, v.group) = value;
        const Halide::RDom r({{0, vector}, {0, rounded_up(most_cells(), vector)}, {0, places_.seen_rows()}}, "copied");
        add(vector, r, r[1], r[2], cell_of_vector(r[1], vector, r[2]) + r[0],
            f_.turned_cells(r[0], v.summed, r[1], r[2], v.plane, v.segment, v.tile, v.group));
    }
    void add_cells() {
        const Halide::RDom r({{0, most_cells()}, {0, places_.seen_rows()}}, "copied");
        add(1, r, r[0], r[1], span(0) + r[0], element(span(0) + r[0], r[1]));
    }
    void add(int width, Halide::RDom r, const Expr &number, const Expr &row, const Expr &cell, const Expr &value) {
        add_at(promised(place(cell, row), places_.window()), f_.v.summed, width, r, number, row, value);
    }
    void add_of_spots(int width, Halide::RDom r, const Expr &number, const Expr &row, const Expr &cell, const Expr &channel) {
        const Expr channels = picture_.dim(rank_).extent();
        add_at(promised(place(cell, row) * channels + channel, places_.window() * channels), 0, width, r, number, row,
               element_of(cell, row, promised(channel, channels)));
    }
    Expr place(const Expr &cell, const Expr &row) const { return row * places_.seen_pitch() + cell - span(2); }
    // While `number` is below what the row has of the width.
    void add_at(const Expr &place, const Expr &summed, int width, Halide::RDom r, const Expr &number, const Expr &row,
                const Expr &value) {
        const FlatGemmVars &v = f_.v;
        const Expr of_width = of_row(row, rank_ + static_cast<int>(f_.copies.size()));
        r.where(of_width > 0);  // outside of the loop over channels
        r.where(number < of_width);
        const bool stops_at_last = f_.size.channels_of_any_layout() && (f_.size.depthwise || f_.size.fills_tiles) &&
                                   !f_.size.joined_terms;
        if (stops_at_last && width == 1)  // most vectors are whole
            r.where(Halide::likely(v.summed < picture_.dim(rank_).extent()));
        f_.staged(place, summed, v.plane, v.segment, v.tile, v.group) = kept(f_.size, value);
        f_.copies.push_back({width, f_.staged.num_update_definitions() - 1, r});
    }
};

/// `places_inside`: in vectors of places whatever the picture's layout is.
template <class Tensor>
void define_staged(FlatGemmFuncs &f, const Places &places, const Tensor &picture, const Load &load, bool places_inside = false) {
    f.reads_vectors = picture.dim(static_cast<int>(places.axes().size())).stride() == 1;
    f.reads_rows = picture.dim(0).stride() == 1;
    Staging<Tensor> staging(f, places, picture, load);
    if (f.size.places_of_any_layout) staging.copy_turned_places();
    else if (f.size.taps_inside()) staging.copy_places(false);
    else if (f.size.joined_terms && f.size.channels_of_any_layout()) staging.copy_spots();
    else if (f.size.turned || f.size.turns_copies) staging.copy_turned();
    else if (f.size.channels_in_vectors && !places_inside) staging.copy_channels();
    else if (f.size.tile_pairs > 0) staging.copy_turned_places();
    else staging.copy_places(places_inside);
}

}  // namespace conv_transpose::flat_gemm

#endif
