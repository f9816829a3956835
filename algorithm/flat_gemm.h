// The forward operation and the input gradient as a matrix product for CPUs, every attribute a run-time value, of any
// rank. The gather is that of gather.h and strided_axis.h; this is where its operands lie.
//
// Cells of one phase are numbered through rows, planes, volumes and images, with gaps between rows (and between planes)
// that are as wide as taps reach beyond a row: a number is a `place`. What a tap sees of a place then lies a constant
// number of places further, whatever row it is in, and reads zeros in the gaps. So a tile is any run of places; the part of
// the picture that its taps see is copied once, as rows with their gaps, for all phases, taps and channels; and sums have
// no tests. What is summed for places in gaps is not stored. A picture that is read with a stride is copied as a plane for
// each remainder, so that neighbouring cells are neighbours there; along x not where channels are in vectors, since any place
// is a whole vector then: a cell is as many spots of what is copied as the stride says.
// Of depthwise problems groups are numbered as channels, so that a tile's tables serve many of them.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H

#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_gemm_funcs.h"
#include "algorithm/gather.h"

namespace conv_transpose::flat_gemm {

using Halide::Expr;
/// One value for each axis, x first.
using PerAxis = std::vector<Expr>;

inline Expr product(const PerAxis &factors) {
    Expr all = 1;
    for (const Expr &factor : factors) all = all * factor;
    return all;
}
inline Expr rounded_up(const Expr &a, const Expr &b) { return (a + b - 1) / b; }

/// Takes a number apart that counts through `extents`, the first fastest; the last entry is what is left.
inline PerAxis digits(const Expr &number, const PerAxis &extents) {
    PerAxis all;
    Expr rest = number;
    for (const Expr &extent : extents) {
        all.push_back(rest % extent);
        rest = rest / extent;
    }
    all.push_back(rest);
    return all;
}

/// One axis, in cells.
struct FlatAxis {
    Expr cells, phases, stride;  ///< of the result: of a phase, how many phases, how far apart
    Expr low, high;              ///< what taps see, from a cell on
    Expr read_stride, planes;    ///< of the picture, which has a plane for each remainder that taps see
    Expr remainder_step;         ///< the n-th plane has remainder n * remainder_step
    Expr min, extent;            ///< of the picture
    bool has_spots = false;      ///< a cell is a spot for each remainder, in place of planes

    /// Spots from a cell to the next.
    Expr spots() const { return has_spots ? read_stride : Expr(1); }

    /// Spots that the picture has data in: of a plane; and cells, of all.
    Expr first(const Expr &plane) const {
        return reads_all() ? min : (min - remainder(plane) + read_stride - 1) / read_stride;
    }
    Expr last(const Expr &plane) const {
        return reads_all() ? min + extent - 1 : (min + extent - 1 - remainder(plane)) / read_stride;
    }
    Expr first() const { return reads_cells() ? min : min / read_stride; }
    Expr last() const { return reads_cells() ? min + extent - 1 : (min + extent - 1) / read_stride; }
    /// Those that some tap sees.
    Expr first_seen() const { return max(first(), low); }
    Expr last_seen() const { return Halide::min(last(), cells - 1 + high); }
    /// From a row to the next: gaps are shared by both.
    Expr pitch() const { return max(max(cells + high - first_seen(), last_seen() + 1 - low), cells); }
    Expr coordinate(const Expr &spot, const Expr &plane) const {
        return reads_all() ? spot : spot * read_stride + remainder(plane);
    }

  private:
    bool reads_cells() const { return Halide::Internal::is_const_one(read_stride); }
    bool reads_all() const { return reads_cells() || has_spots; }
    Expr remainder(const Expr &plane) const { return plane * remainder_step % read_stride; }
};

/// Of the forward operation.
inline FlatAxis forward_axis(const AxisArguments &a, const Expr &input_min, const Expr &input_extent, const Expr &outputs) {
    const Expr phases = min(a.stride, outputs);
    return {.cells = rounded_up(outputs, a.stride), .phases = phases, .stride = a.stride,
            .low = -(((a.kernel - 1) * a.dilation - a.padding_phase) / a.stride),
            .high = (phases - 1 + a.padding_phase) / a.stride,
            .read_stride = 1, .planes = 1, .remainder_step = 0, .min = input_min, .extent = input_extent};
}

/// Of the input gradient, which reads the output gradient with the stride.
inline FlatAxis strided_axis(const Expr &kernel, const Expr &stride, const Expr &dilation, const Expr &output_min,
                             const Expr &output_extent, const Expr &inputs, bool has_spots) {
    return {.cells = inputs, .phases = 1, .stride = 1, .low = 0, .high = (kernel - 1) * dilation / stride,
            .read_stride = stride, .planes = has_spots ? Expr(1) : min(kernel, stride), .remainder_step = dilation,
            .min = output_min, .extent = output_extent, .has_spots = has_spots};
}

/// What a tap reads and multiplies, a value an axis.
struct Tap {
    PerAxis shift;  ///< from FlatAxis::low on; along x in spots
    PerAxis plane, kernel;
};

/// A tap of such an axis.
inline void add_strided(Tap &tap, const FlatAxis &axis, const Expr &stride, const Expr &dilation) {
    const Expr kernel = tap.kernel[tap.shift.size()];
    tap.shift.push_back(kernel * dilation / (axis.has_spots ? Expr(1) : stride));
    tap.plane.push_back(kernel % axis.planes);
}

/// A tile: some rows of cells of a segment along x, as the runtime cuts them (choice/flat_tiles.h). So many panels share what
/// is copied.
struct TileShape {
    Expr segment, rows, panels;
};

/// Places of a tile, and where they are in the result and in the picture.
class Places {
  public:
    Places(const std::vector<FlatAxis> &axes, const Expr &images, const Expr &outputs, const TileShape &shape,
           const FlatGemmSizes &size)
        : axes_(axes), images_(images), rows_(shape.rows), panels_(shape.panels) {
        using Halide::Internal::is_const_one;
        const FlatAxis &x = axes[0];
        const Expr whole = shape.segment >= x.cells;
        // Segments are of the result, and the last begins early; so a segment may begin and end within a cell.
        length_ = min(shape.segment * x.stride, outputs);
        segments_ = rounded_up(outputs, length_);
        last_begin_ = outputs - length_;
        cells_ = select(whole, x.cells, shape.segment + 1);
        // Segments have gaps of their own, whole rows share them with their neighbours.
        pitch_ = select(whole, x.pitch(), shape.segment + 1 + x.high - x.low);
        Expr pitch = 1, last = 0;
        for (std::size_t d = 1; d < axes.size(); d++) {
            const FlatAxis &a = axes[d];
            row_pitches_.push_back(pitch);
            last = last + (a.cells - 1) * pitch;
            low_row_ = low_row_ + a.low * pitch;
            reach_ = reach_ + (a.high - a.low) * pitch;
            pitch = pitch * a.pitch();
        }
        all_rows_ = last + (images - 1) * pitch + 1;
        tiles_ = rounded_up(all_rows_, rows_);
        for (const FlatAxis &a : axes) planes_ = planes_ * a.planes;
        row_places_ = rounded_up(cells_, size.places_in_vector()) * size.places_in_vector(), positions_ = size.positions;
        // Not a power of two: the channels of a place would meet in one set of the cache.
        const int line = 16;
        window_ = (rounded_up(places_of(rows_) + reach_ * pitch_ + x.high - x.low, line) / 2 * 2 + 1) * line;
    }

    const std::vector<FlatAxis> &axes() const { return axes_; }
    Expr images() const { return images_; }
    Expr planes() const { return planes_; }
    Expr block_panels() const { return panels_; }

    // Along x: so many results of a segment, from this one on.
    Expr length() const { return length_; }
    Expr segments() const { return segments_; }
    Expr begin(const Expr &segment) const { return min(segment * length_, last_begin_); }
    Expr first_cell(const Expr &segment) const { return begin(segment) / axes_[0].stride; }
    Expr cells() const { return cells_; }

    // Rows of cells, counted through all images; of those that taps see, the first is `reach` below the last one's.
    Expr rows() const { return rows_; }
    Expr tiles() const { return tiles_; }
    Expr seen_rows() const { return rows_ + reach_; }
    Expr first_seen_row(const Expr &tile) const { return tile * rows_ + low_row_; }
    /// Coordinates of a row behind x: the last one is the image.
    PerAxis row(const Expr &number) const {
        PerAxis pitches;
        for (std::size_t d = 1; d < axes_.size(); d++) pitches.push_back(axes_[d].pitch());
        return digits(number, pitches);
    }
    /// The number of the first row that has data, seen by a tap.
    Expr first_row() const {
        Expr all = 0;
        for (std::size_t d = 1; d < axes_.size(); d++) all = all + axes_[d].first_seen() * row_pitches_[d - 1];
        return all;
    }

    /// Of a row's results, from a row to the next; the places of a tile, and those that its taps see.
    Expr pitch() const { return pitch_; }
    Expr rows_of(const Expr &tile) const { return min(rows_, all_rows_ - tile * rows_); }
    Expr places(const Expr &tile) const { return places_of(rows_of(tile)); }
    Expr most_places() const { return places_of(rows_); }
    /// Of what is copied, in spots.
    Expr window() const { return window_ * spots(); }
    Expr seen_pitch() const { return pitch_ * spots(); }
    Expr shift(const Tap &tap) const {
        Expr rows = 0;
        for (std::size_t d = 1; d < axes_.size(); d++) rows = rows + tap.shift[d] * row_pitches_[d - 1];
        return tap.shift[0] + rows * seen_pitch();
    }
    /// The spot that a place sees by a tap.
    Expr seen(const Expr &place, const Expr &shift) const { return place * spots() + shift; }

  private:
    std::vector<FlatAxis> axes_;
    Expr images_, rows_, panels_, length_, segments_, last_begin_, cells_, pitch_, tiles_, all_rows_, row_places_, window_;
    PerAxis row_pitches_;
    Expr low_row_ = 0, reach_ = 0, planes_ = 1;
    int positions_ = 1;

    Expr spots() const { return axes_[0].spots(); }

    // Of so many rows, in whole register tiles.
    Expr places_of(const Expr &rows) const {
        return rounded_up((rows - 1) * pitch_ + row_places_, positions_) * positions_;
    }
};

inline Expr promised(const Expr &at, const Expr &extent) { return Halide::unsafe_promise_clamped(at, 0, extent - 1); }

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

/// Of the vectors that copy rows: down to single elements.
inline int next_width(int width) { return width > 4 ? width / 2 : width > 1 ? 1 : 0; }

/// Defines f.span, and gives the columns of f.seen_rows: coordinates of rows that taps see, and how many cells they have.
/// `planes` are the digits of the plane's number.
inline std::vector<Expr> seen_rows(FlatGemmFuncs &f, const Places &places, const PerAxis &planes) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const std::vector<FlatAxis> &axes = places.axes();
    const FlatAxis &x = axes[0];
    const Expr low = (places.first_cell(v.segment) + x.low) * x.spots();
    const Expr first = max(x.first(planes[0]), low);
    const Expr behind = Halide::min(x.last(planes[0]) + 1, low + (places.cells() + x.high - x.low) * x.spots());
    f.span(v.plane, v.segment) = Tuple(first, behind, low);

    const PerAxis cells = places.row(places.first_seen_row(v.tile) + v.row - places.first_row());
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

/// Copies of rows of the picture (x, y, z, channel, group, image), with their gaps: an update for each of several widths.
template <class Tensor>
class Staging {
  public:
    Staging(FlatGemmFuncs &f, const Places &places, const Tensor &picture, const Load &load)
        : f_(f), places_(places), picture_(picture), load_(load), rank_(static_cast<int>(places.axes().size())) {
        PerAxis plane_counts;
        for (const FlatAxis &a : places.axes()) plane_counts.push_back(a.planes);
        planes_ = digits(f.v.plane, plane_counts);
    }

    /// In vectors along a row, of which the last begins early; rows of less than a vector are copied by smaller ones. Where
    /// channels lie side by side, cell by cell, if that is wanted.
    void copy_places(bool any_layout) {
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr by_cells = seen.back(), count = any_layout ? select(f_.reads_vectors, 0, by_cells) : by_cells;
        seen.pop_back();
        for (int width = f_.size.vector, above = 0; width > 0; above = width, width = next_width(width))
            seen.push_back(select(count >= width && (above == 0 || count < above), rounded_up(count, width), 0));
        if (any_layout) seen.push_back(select(f_.reads_vectors, by_cells, 0));
        begin(seen);
        for (int width = f_.size.vector; width > 0; width = next_width(width)) {
            const Halide::RDom r({{0, width}, {0, rounded_up(most_cells(), width)}, {0, places_.seen_rows()}}, "copied");
            const Expr cell = Halide::min(span(0) + r[1] * width, span(1) - width) + r[0];
            add(width, r, r[1], r[2], cell, element(cell, r[2]));
        }
        if (any_layout) add_cells();
    }

    /// Vectors of cells are turned into vectors of channels; rows of less than a vector are copied cell by cell.
    void copy_turned() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        std::vector<Expr> seen = seen_rows(f_, places_, planes_);
        const Expr count = seen.back();
        seen.back() = select(count >= vector, rounded_up(count, vector), 0);
        seen.push_back(select(count < vector, count, 0));
        begin(seen);
        const auto cell = [&](const Expr &number, const Expr &element) -> Expr {
            return Halide::min(span(0) + number * vector, span(1) - vector) + element;
        };
        f_.turned_cells(v.element, v.summed, v.vector, v.row, v.plane, v.segment, v.tile, v.group) =
            element(cell(v.vector, v.element), v.row);
        const RDom r({{0, vector}, {0, rounded_up(most_cells(), vector)}, {0, places_.seen_rows()}}, "copied");
        add(vector, r, r[1], r[2], cell(r[1], r[0]),
            f_.turned_cells(r[0], v.summed, r[1], r[2], v.plane, v.segment, v.tile, v.group));
        const RDom rest({{0, Halide::min(most_cells(), vector - 1)}, {0, places_.seen_rows()}}, "copied_rest");
        add(1, rest, rest[0], rest[1], span(0) + rest[0], element(span(0) + rest[0], rest[1]));
    }

    /// Cell by cell; a schedule makes vectors of channels.
    void copy_channels() {
        begin(seen_rows(f_, places_, planes_));
        add_cells();
    }

  private:
    FlatGemmFuncs &f_;
    const Places &places_;
    const Tensor &picture_;
    const Load &load_;
    const int rank_;
    PerAxis planes_;

    const FlatAxis &x() const { return places_.axes()[0]; }
    Expr span(int i) const { return f_.span(f_.v.plane, f_.v.segment)[i]; }
    Expr most_cells() const {
        return Halide::min(x().last() - x().first() + 1, places_.cells() + x().high - x().low) * x().spots();
    }
    // Zeros, and what is known of rows.
    void begin(const std::vector<Expr> &seen) {
        const FlatGemmVars &v = f_.v;
        f_.seen_rows(v.row, v.plane, v.segment, v.tile) = Halide::Tuple(seen);
        f_.staged(v.place, v.summed, v.plane, v.segment, v.tile, v.group) = 0.f;
    }
    Expr of_row(const Expr &number, int i) const {
        const FlatGemmVars &v = f_.v;
        return f_.seen_rows(number, v.plane, v.segment, v.tile)[i];
    }
    // Coordinates in the picture. Vectors of channels may go beyond the last one, which nothing reads.
    Expr element(const Expr &cell, const Expr &row) const {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const std::vector<FlatAxis> &axes = places_.axes();
        std::vector<Expr> index{unsafe_promise_clamped(x().coordinate(cell, planes_[0]), x().min, x().min + x().extent - 1)};
        for (int d = 1; d < rank_; d++)
            index.push_back(unsafe_promise_clamped(of_row(row, d - 1), axes[d].min, axes[d].min + axes[d].extent - 1));
        const Expr channels = picture_.dim(rank_).extent();
        const Expr channel = f_.size.turned      ? promised(Halide::min(v.summed, channels - 1), channels)
                             : f_.size.depthwise ? promised(v.summed, channels)
                                                 : Expr(v.summed);
        index.insert(index.end(), {channel, v.group, promised(of_row(row, rank_ - 1), places_.images())});
        return load_(picture_(index));
    }
    void add_cells() {
        const Halide::RDom r({{0, most_cells()}, {0, places_.seen_rows()}}, "copied");
        add(1, r, r[0], r[1], span(0) + r[0], element(span(0) + r[0], r[1]));
    }
    // While `number` is below what the row has of the width.
    void add(int width, Halide::RDom r, const Expr &number, const Expr &row, const Expr &cell, const Expr &value) {
        const FlatGemmVars &v = f_.v;
        r.where(number < of_row(row, rank_ + static_cast<int>(f_.copies.size())));
        if (f_.size.depthwise && f_.size.any_layout()) r.where(v.summed < picture_.dim(rank_).extent());
        f_.staged(promised(row * places_.seen_pitch() + cell - span(2), places_.window()), v.summed, v.plane, v.segment, v.tile,
                  v.group) = value;
        f_.copies.push_back({width, r});
    }
};

/// `places_inside`: in vectors of places whatever the picture's layout is.
template <class Tensor>
void define_staged(FlatGemmFuncs &f, const Places &places, const Tensor &picture, const Load &load, bool places_inside = false) {
    f.read_stride = places.axes()[0].read_stride;
    f.reads_vectors = picture.dim(static_cast<int>(places.axes().size())).stride() == 1;
    Staging<Tensor> staging(f, places, picture, load);
    if (f.size.turned) staging.copy_turned();
    else if (f.size.channels_in_vectors && !places_inside) staging.copy_channels();
    else staging.copy_places(places_inside);
}

/// The sum over summed channels and live taps; where a channel sees itself alone, over taps. Panels (lane, summed, kx, ky, kz,
/// panel + panels * group) are of `channels` channels of a group.
template <class Tensor>
void define_sum(FlatGemmFuncs &f, const Places &places, const Tensor &panels, const Expr &most_taps, const Expr &summed,
                const Expr &channels, const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int rank = static_cast<int>(places.axes().size());
    f.reduced.domain = RDom({{0, summed}, {0, most_taps}}, "reduced");
    RDom &r = f.reduced.domain;
    f.reduced.summed = r[0], f.reduced.tap = r[1];
    r.where(r[1] < f.live_taps(v.phase));
    const auto tap = [&](int i) -> Expr { return f.taps(r[1], v.phase)[i]; };
    const Expr panel = v.panel + rounded_up(channels, f.size.channels) * v.group;
    const Expr seen_channel = f.size.depthwise ? v.panel * f.size.channels + v.lane : Expr(r[0]);
    std::vector<Expr> index{v.lane, r[0]};
    for (int d = 0; d < rank; d++) index.push_back(promised(tap(2 + d), panels.dim(2 + d).extent()));
    index.push_back(promised(panel, panels.dim(rank + 2).extent()));
    f.sum(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
        initial(promised(min(v.panel * f.size.channels + v.lane, channels - 1), channels), v.group);
    f.sum(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) +=
        f.staged(promised(places.seen(v.place, tap(0)), places.window()), seen_channel, promised(tap(1), places.planes()),
                 v.segment, v.tile, v.group) *
        panels(index);
    f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
        f.sum(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group);
}

/// What is stored of a sum.
using Finish = std::function<Expr(const Expr &)>;

/// The stores of output(x, y, z, channel, group, image): row by row, the phases of a row together.
template <class Tensor>
class Storing {
  public:
    Storing(FlatGemmFuncs &f, Tensor &output, const Places &places, const Finish &finish)
        : f_(f), output_(output), places_(places), finish_(finish), rank_(static_cast<int>(places.axes().size())) {
        f.writes_vectors = output.dim(rank_).stride() == 1;
        const std::vector<FlatAxis> &axes = places.axes();
        const FlatGemmVars &v = f.v;
        const PerAxis cells = places.row(v.tile * places.rows() + v.row);
        PerAxis stored;
        Expr there_is = cells.back() < places.images();
        for (int d = 1; d < rank_; d++) {
            stored.push_back(cells[d - 1] * axes[d].stride + (d == 1 ? v.phase_y : v.phase_z));
            there_is = there_is && stored.back() < extent(d);
        }
        stored.insert(stored.end(), {cells.back(), Halide::cast<int>(there_is)});
        f.stored_rows(v.row, v.phase_y, v.phase_z, v.tile) = Halide::Tuple(stored);
    }

    /// In vectors along a row, whose phases are interleaved before.
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
        interleave();
        const Expr element = promised(at + places_.begin(s.segment) % x().stride, vectors() * vector * x().stride);
        store(at, s.lane, f_.interleaved(element, s.row, s.phase_y, s.phase_z, s.lane, panel(), s.segment, s.tile, s.group));
    }

    /// The results of a vector of cells of a row, for a vector of channels, are turned, interleaved and stored together.
    void store_turned() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        auto &s = f_.stored;
        s.domain = domain({{0, vector}, {0, x().stride}, {0, vector}, {0, vectors()}}, {{0, f_.size.channels / vector}});
        RDom &r = s.domain;
        s.element = r[0], s.phase_x = r[1], s.lane = r[2], s.vector = r[3], s.phase_y = r[4], s.row = r[5], s.phase_z = r[6];
        s.lane_vector = r[7];
        name_outer(8);
        const Expr lane = s.lane_vector * vector + s.lane, early = places_.begin(s.segment) % x().stride;
        // The last vectors of cells and of results begin early, too. Rows of less than a vector are stored one by one.
        f_.whole_vectors = places_.length() >= vector;
        const Expr before = first_cell(s.vector, s.segment) * x().stride - early;
        const Expr at = clamp(before + s.phase_x * vector, 0, max(places_.length() - vector, 0)) + s.element;
        r.where(s.vector * vector < used_cells(s.segment));
        r.where(before + s.phase_x * vector < places_.length());
        only_what_there_is(lane);
        r.where(f_.whole_vectors || at < places_.length());
        f_.stride_x = x().stride;
        f_.interleaving = RDom({{0, vector}, {0, x().stride}}, "interleaving");
        const RDom &i = f_.interleaving;
        f_.turned_results(v.element, v.lane, v.vector, v.row, v.panel, v.phase, v.segment, v.tile, v.group) =
            result(first_cell(v.vector, v.segment) + v.element, v.phase);
        f_.interleaved(v.element, v.vector, v.row, v.phase_y, v.phase_z, v.lane, v.panel, v.segment, v.tile, v.group) =
            undef<float>();
        f_.interleaved(i[0] * x().stride + i[1], v.vector, v.row, v.phase_y, v.phase_z, v.lane, v.panel, v.segment, v.tile,
                       v.group) =
            f_.turned_results(i[0], v.lane, v.vector, v.row, v.panel, phase(i[1], v.phase_y, v.phase_z, v.panel), v.segment,
                              v.tile, v.group);
        const Expr element = promised(at - before, vector * x().stride);
        store(at, lane,
              f_.interleaved(element, s.vector, s.row, s.phase_y, s.phase_z, lane, panel(), s.segment, s.tile, s.group));
    }

    /// In vectors of channels, cell by cell, the phases of a cell together.
    void store_channels() {
        using namespace Halide;
        const int vector = f_.size.vector;
        auto &s = f_.stored;
        s.domain = domain({{0, vector}, {0, f_.size.channels / vector}, {0, x().phases}, {0, places_.cells()}}, {});
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.phase_x = r[2], s.cell = r[3], s.phase_y = r[4], s.row = r[5], s.phase_z = r[6];
        name_outer(7);
        const Expr lane = s.vector * vector + s.element;
        const Expr at = s.cell * x().stride + s.phase_x - places_.begin(s.segment) % x().stride;
        r.where(at >= 0 && at < places_.length());
        only_what_there_is(lane);
        const Expr place = promised(s.row * places_.pitch() + s.cell, places_.places(s.tile));
        store(at, lane,
              f_.result(place, lane, panel(), phase(s.phase_x, s.phase_y, s.phase_z, panel()), s.segment,
                        s.tile, s.group));
    }

  private:
    FlatGemmFuncs &f_;
    Tensor &output_;
    const Places &places_;
    const Finish &finish_;
    const int rank_;

    const FlatAxis &x() const { return places_.axes()[0]; }
    Expr extent(int d) const { return output_.dim(d).extent(); }
    Expr channels() const { return extent(rank_); }
    Expr phases_of(int d) const { return d < rank_ ? places_.axes()[d].phases : Expr(1); }
    Expr vectors() const { return rounded_up(places_.cells(), f_.size.vector); }
    Expr panel() const { return f_.stored.block * places_.block_panels() + f_.stored.panel; }

    using Ranges = std::vector<std::pair<Expr, Expr>>;
    // Of what a row has, rows one after the other as they lie in memory, what lies between, and the loops of all schedules.
    Halide::RDom domain(Ranges ranges, const Ranges &inner) const {
        const Expr blocks = rounded_up(rounded_up(channels(), f_.size.channels), places_.block_panels());
        ranges.insert(ranges.end(), {{0, phases_of(1)}, {0, places_.rows()}, {0, phases_of(2)}});
        ranges.insert(ranges.end(), inner.begin(), inner.end());
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
        return f_.stored_rows(s.row, s.phase_y, s.phase_z, s.tile)[i];
    }
    void only_what_there_is(const Expr &lane) {
        Halide::RDom &r = f_.stored.domain;
        r.where(panel() * f_.size.channels < channels());
        r.where(panel() * f_.size.channels + lane < channels());
        r.where(row(rank_) != 0);
    }

    // The number of a phase; there is none of panels beyond the last, so that nothing is computed for them.
    Expr phase(const Expr &phase_x, const Expr &phase_y, const Expr &phase_z, const Expr &panel) const {
        Expr number = min(phase_x, x().phases - 1), all = 1;
        if (rank_ > 1) number = number + phases_of(0) * phase_y;
        if (rank_ > 2) number = number + phases_of(0) * phases_of(1) * phase_z;
        for (const FlatAxis &a : places_.axes()) all = all * a.phases;
        return promised(number, Halide::select(panel * f_.size.channels < channels(), all, 0));
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
                       v.group) = result(cell, phase(f_.interleaving[1], v.phase_y, v.phase_z, v.panel));
    }

    // The cells of a segment that have results; and the first of a vector of them.
    Expr used_cells(const Expr &segment) const {
        return rounded_up(places_.length() + places_.begin(segment) % x().stride, x().stride);
    }
    Expr first_cell(const Expr &number, const Expr &segment) const {
        const int vector = f_.size.vector;
        return max(min(number * vector, used_cells(segment) - vector), 0);
    }

    // Coordinates of a cell of a row. In place of rows beyond the last, which are not stored, the last one is read.
    Expr result(const Expr &cell, const Expr &phase) const {
        const FlatGemmVars &v = f_.v;
        const Expr row_of_tile = min(v.row, places_.rows_of(v.tile) - 1);
        return f_.result(promised(row_of_tile * places_.pitch() + cell, places_.places(v.tile)), v.lane, v.panel, phase,
                         v.segment, v.tile, v.group);
    }

    // `at` counts the results of a segment.
    void store(const Expr &at, const Expr &lane, const Expr &sum) {
        const auto &s = f_.stored;
        std::vector<Expr> index{promised(places_.begin(s.segment) + at, extent(0))};
        for (int d = 1; d < rank_; d++) index.push_back(promised(row(d - 1), extent(d)));
        index.insert(index.end(), {promised(panel() * f_.size.channels + lane, channels()), s.group,
                                   promised(row(rank_ - 1), places_.images())});
        const std::vector<Halide::Var> any(rank_ + 3);
        const Expr stored = finish_(sum);
        output_(any) = Halide::undef(stored.type());
        output_(index) = stored;
        f_.output = output_;
    }
};

template <class Tensor>
void define_stores(FlatGemmFuncs &f, Tensor &output, const Places &places, const Finish &finish) {
    Storing<Tensor> storing(f, output, places, finish);
    if (f.size.turned) storing.store_turned();
    else f.size.channels_in_vectors ? storing.store_channels() : storing.store_places();
}

}  // namespace conv_transpose::flat_gemm

#endif
