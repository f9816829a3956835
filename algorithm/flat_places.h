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
// Depthwise problems number groups as channels, so that a tile's tables serve many of them.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_PLACES_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_PLACES_H

#include <vector>

#include "Halide.h"
#include "algorithm/flat_gemm_funcs.h"
#include "algorithm/gather.h"
#include "algorithm/per_axis.h"
#include "algorithm/table.h"

namespace conv_transpose::flat_gemm {

using Halide::Expr;

/// One axis, in cells.
struct FlatAxis {
    Expr cells, phases, stride;  ///< of the result: of a phase, how many phases, how far apart
    Expr low, high;              ///< what taps see, from a cell on
    Expr read_stride, planes;    ///< of the picture, which has a plane for each remainder that taps see
    Expr remainder_step;         ///< the n-th plane has remainder n * remainder_step
    Expr min, extent;            ///< of the picture
    bool has_spots = false;      ///< a cell is a spot for each remainder, in place of planes
    Expr skipped = 0;            ///< of the first cell so many results are not there
    int tile = 1;                ///< rows are filled up to a multiple of it
    /// Rows and planes of phases without taps are left out of products: of a stride longer than the kernel, and of some dilations.
    /// Those are the last in an order of phases, which goes round so many times.
    Expr has_holes = Halide::Internal::const_false();
    Expr live_phases = phases, first_phase = 0, phase_step = 1, round = stride;

    Expr phase(const Expr &n) const {
        return Halide::Internal::is_const_zero(has_holes) ? n : (n % round * phase_step + n / round + first_phase) % stride;
    }

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
    Expr pitch() const { return filled_up(max(max(cells + high - first_seen(), last_seen() + 1 - low), cells)); }
    Expr filled_up(const Expr &count) const { return tile == 1 ? count : rounded_up(count, tile) * tile; }
    Expr coordinate(const Expr &spot, const Expr &plane) const {
        return reads_all() ? spot : spot * read_stride + remainder(plane);
    }

  private:
    bool reads_cells() const { return Halide::Internal::is_const_one(read_stride); }
    bool reads_all() const { return reads_cells() || has_spots; }
    Expr remainder(const Expr &plane) const { return plane * remainder_step % read_stride; }
};

/// This is an axis of the forward operation. Phases without taps are left out if they are `apart`, of vectors of their own.
inline FlatAxis forward_axis(const AxisArguments &a, const Expr &input_min, const Expr &input_extent, const Expr &outputs,
                             const Expr &apart) {
    const Expr phases = min(a.stride, outputs), round = a.stride / a.gcd, with_taps = min(a.kernel, round);
    FlatAxis axis{.cells = rounded_up(outputs, a.stride), .phases = phases, .stride = a.stride,
            .low = -(((a.kernel - 1) * a.dilation - a.padding_phase) / a.stride),
            .high = (phases - 1 + a.padding_phase) / a.stride,
            .read_stride = 1, .planes = 1, .remainder_step = 0, .min = input_min, .extent = input_extent};
    if (Halide::Internal::is_const_zero(apart)) return axis;
    axis.has_holes = apart && with_taps < a.stride;
    axis.phases = select(axis.has_holes, a.stride, phases), axis.live_phases = select(axis.has_holes, with_taps, phases);
    axis.high = (axis.phases - 1 + a.padding_phase) / a.stride;  // those that no result is of are summed, too
    axis.first_phase = select(axis.has_holes, a.stride - a.padding_phase, 0);
    axis.phase_step = select(axis.has_holes, a.dilation, 1), axis.round = select(axis.has_holes, round, a.stride);
    return axis;
}

/// The same where all phases of a cell see from its last input on: the first cell begins `padding_phase` results early.
inline FlatAxis whole_cells_axis(const AxisArguments &a, const Expr &input_min, const Expr &input_extent, const Expr &outputs,
                                 const Expr &apart) {
    AxisArguments unpadded = a;
    unpadded.padding_phase = 0;
    FlatAxis axis = forward_axis(unpadded, input_min, input_extent, outputs + a.padding_phase, apart);
    axis.skipped = a.padding_phase;
    return axis;
}

/// This is an axis of the input gradient, which reads the output gradient with the stride.
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

/// By a tap so many cells in front of the first and up to the last see data: values an axis.
inline Expr first_seeing(const FlatAxis &axis, const Expr &shift, const Expr &plane) {
    return rounded_up(axis.first(plane) - axis.low * axis.spots() - shift, axis.spots());
}
inline Expr last_seeing(const FlatAxis &axis, const Expr &shift, const Expr &plane) {
    return (axis.last(plane) - axis.low * axis.spots() - shift) / axis.spots();
}

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
        row_cells_ = is_const_one(x.stride) ? length_ : cells_;
        // Segments have gaps of their own, whole rows share them with their neighbours.
        pitch_ = select(whole, x.pitch(), x.filled_up(shape.segment + 1 + x.high - x.low));
        Expr pitch = 1, last = 0;
        seen_rows_ = run_rows_ = rows_;
        for (std::size_t d = 1; d < axes.size(); d++) {
            const FlatAxis &a = axes[d];
            const Expr seen_pitch = size.only_seen ? min(pitch, seen_rows_) : pitch;
            row_pitches_.push_back(pitch), seen_pitches_.push_back(seen_pitch);
            last = last + (a.cells - 1) * pitch;
            low_row_ = low_row_ + a.low * pitch;
            seen_rows_ = seen_rows_ + (a.high - a.low) * seen_pitch;
            run_rows_ = size.only_seen ? select(run_rows_ < pitch, run_rows_, seen_rows_) : seen_rows_;
            pitch = pitch * a.pitch();
        }
        all_rows_ = last + (images - 1) * pitch + 1;
        tiles_ = rounded_up(all_rows_, rows_);
        for (const FlatAxis &a : axes) planes_ = planes_ * a.planes;
        row_places_ = rounded_up(cells_, size.places_in_vector()) * size.places_in_vector(), positions_ = size.positions;
        vector_ = size.vector;
        // Not a power of two: the channels of a place would meet in one set of the cache.
        const int line = 16;
        Expr seen = tile_height() == 1 ? places_of(rows_) + (seen_rows_ - rows_) * pitch_ + x.high - x.low
                                             : seen_rows_ * pitch_ + vector_;
        if (size.pairs_of_cells) seen += axes[0].spots();  // behind the last cell, whose neighbour is zero
        window_ = (rounded_up(seen, line) / 2 * 2 + 1) * line;
    }

    const std::vector<FlatAxis> &axes() const { return axes_; }
    Expr images() const { return images_; }
    Expr planes() const { return planes_; }
    Expr live_phases() const {
        Expr all = 1;
        for (const FlatAxis &a : axes_) all = all * a.live_phases;
        return all;
    }
    Expr block_panels() const { return panels_; }

    // Along x: so many results of a segment, from this one on.
    Expr length() const { return length_; }
    Expr segments() const { return segments_; }
    Expr begin(const Expr &segment) const { return min(segment * length_, last_begin_); }
    /// A segment that begins early has from here on so many that are its own.
    Expr own_begin(const Expr &segment) const { return segment * length_; }
    Expr own(const Expr &segment) const { return begin(segment) + length_ - own_begin(segment); }
    Expr first_cell(const Expr &segment) const { return (begin(segment) + axes_[0].skipped) / axes_[0].stride; }
    /// So many results of its first cell lie before it.
    Expr early(const Expr &segment) const { return (begin(segment) + axes_[0].skipped) % axes_[0].stride; }
    Expr cells() const { return cells_; }

    /// Spots of the segment's rows that have data, of a plane: the first, and behind the last; the spot at place 0.
    PerAxis span(const Expr &plane, const Expr &segment) const {
        const FlatAxis &x = axes_[0];
        const Expr low = (first_cell(segment) + x.low) * x.spots();
        return {max(x.first(plane), low), Halide::min(x.last(plane) + 1, low + (cells_ + x.high - x.low) * x.spots()), low};
    }

    // Rows of cells, counted through all images. Those that taps see lie in one run, or in one for each plane that they reach.
    Expr rows() const { return rows_; }
    Expr tiles() const { return tiles_; }
    Expr seen_rows() const { return seen_rows_; }
    /// The numbers of the first and the n-th row that taps of a tile see.
    Expr first_seen_row(const Expr &tile) const { return tile * rows_ + low_row_; }
    Expr seen_row(const Expr &tile, Expr n) const {
        Expr row = first_seen_row(tile);
        for (std::size_t d = axes_.size() - 1; d > 1; d--) {
            const Expr plane = Halide::min(n / seen_pitches_[d - 1], axes_[d].high - axes_[d].low);
            row = row + plane * row_pitches_[d - 1], n = n - plane * seen_pitches_[d - 1];
        }
        return row + n;
    }
    /// So many of them, from a multiple on, are neighbours.
    Expr run_rows() const { return run_rows_; }
    /// Coordinates of a row behind x: the last one is the image.
    PerAxis row(const Expr &number) const {
        PerAxis pitches;
        for (std::size_t d = 1; d < axes_.size(); d++) pitches.push_back(axes_[d].pitch());
        return digits(number, pitches, divide_plainly);
    }
    /// The number of the first row that has data, seen by a tap.
    Expr first_row() const {
        Expr all = 0;
        for (std::size_t d = 1; d < axes_.size(); d++) all = all + axes_[d].first_seen() * row_pitches_[d - 1];
        return all;
    }

    /// Without gaps: of a row, of a tile (at least one), in front of a row.
    Expr row_cells() const { return row_cells_; }
    Expr cells_of(const Expr &tile) const {
        // Of the tile's rows, wherever it begins: bounds of what follows. Halide takes a quotient to be as large as the number, and
        // bounds of a product must not be beyond an int: there are no more rows of an axis than its cells, nor more images.
        Expr real = 0, pitch = 1, all = 1;
        for (std::size_t d = 1; d < axes_.size(); d++) {
            const Expr next = pitch * axes_[d].pitch();
            real = min(real + clamp(rows_ % next / pitch, 0, axes_[d].cells) * all, all * axes_[d].cells);
            pitch = next, all = all * axes_[d].cells;
        }
        const Expr most = min(real + clamp(rows_ / pitch, 0, images_) * all, rows_of(tile)) * row_cells_;
        return min(most, max(cells_before(rows_of(tile), tile), 1));
    }
    /// With vectors that go beyond the last one.
    Expr most_cells(int vector) const { return rounded_up(rows_ * row_cells_ + 2 * vector, positions_) * positions_; }
    Expr cells_before(const Expr &row, const Expr &tile) const {
        return min(real_rows(tile * rows_, tile * rows_ + row), row) * row_cells_;
    }
    /// Cells of a tile's images are counted together: first those that lie where the first one does, of each image, so that cells
    /// of a register tile are at the same edges, where taps see zeros alone. So much a cell's number is more than that of the one
    /// before.
    Expr cell_step(const Expr &tile) const {
        return select(has_whole_images(), rounded_up(rows_of(tile), pitch_of(outermost())), 1);
    }
    /// The number of a row's first cell.
    Expr first_cell_of(const Expr &row, const Expr &tile) const {
        const Expr before = cells_before(row, tile), of_image = max(rows_within(outermost()) * row_cells(), 1);
        return select(has_whole_images(), before % of_image * cell_step(tile) + before / of_image, before);
    }
    Expr is_row(const Expr &number) const {
        const PerAxis at = row(number);
        Expr is = at.back() < images_;
        for (std::size_t d = 1; d < axes_.size(); d++) is = is && at[d - 1] < axes_[d].cells;
        return is;
    }
    /// So many from a row up to another are no gaps. Halide's bounds of a number's image times an image's rows were beyond an int
    /// where rows are many, so images are subtracted first.
    Expr real_rows(const Expr &from, const Expr &to) const {
        const PerAxis first = row(from), last = row(to);
        const Expr images = clamp(last.back() - first.back(), 0, min(rows_ / pitch_of(outermost()) + 1, images_));
        return images * rows_within(outermost()) + real_rows_of_image(last) - real_rows_of_image(first);
    }
    int outermost() const { return static_cast<int>(axes_.size()) - 1; }
    /// Rows of all axes up to this one, with gaps and without: of a plane, of an image.
    Expr pitch_of(int axis) const {
        Expr pitch = 1;
        for (int d = 1; d <= axis; d++) pitch = pitch * axes_[d].pitch();
        return pitch;
    }
    Expr rows_within(int axis) const {
        Expr rows = 1;
        for (int d = 1; d <= axis; d++) rows = rows * axes_[d].cells;
        return rows;
    }

    // Positions are cells of the picture, which has no gaps, that taps of a tile see.
    Expr most_seen_cells() const { return Halide::min(cells_ + axes_[0].high - axes_[0].low, axes_[0].extent); }
    Expr seen_cells(const Expr &segment) const {
        const PerAxis of_row = span(0, segment);
        return max(of_row[1] - of_row[0], 0);
    }
    /// At most so many; and their room, apart like the channels of a place. Where taps see nothing, a register tile is computed all
    /// the same.
    Expr most_positions() const { return max(seen_rows() * most_seen_cells(), 1); }
    Expr room_of_positions() const { return (rounded_up(most_positions(), positions_) * positions_ + 15) / 32 * 32 + 16; }
    Expr seen_positions(const Expr &segment, const Expr &tile) const {
        return max(positions_before(seen_rows(), segment, tile), 1);
    }
    /// So many are in rows before a row that a tile's taps see.
    Expr positions_before(const Expr &row, const Expr &segment, const Expr &tile) const {
        const Expr first = first_seen_row(tile) - first_row();
        return (rows_before(first + row) - rows_before(first)) * seen_cells(segment);
    }

    /// The pitch leads from a row of results to the next; the others count a tile's rows and its places.
    Expr pitch() const { return pitch_; }
    Expr rows_of(const Expr &tile) const { return min(rows_, all_rows_ - tile * rows_); }
    Expr places(const Expr &tile) const { return places_of(rows_of(tile)); }
    Expr most_places() const { return places_of(rows_); }
    Expr place(const Expr &row, const Expr &cell) const {
        return tile_height() == 1 ? row * pitch_ + cell
                                  : row % tile_height() * places_of_tile_rows() + row / tile_height() * pitch_ + cell;
    }

    // Tiles of Winograd's algorithm (flat_winograd.h) are numbered through rows of them, and are as many as fill register tiles.
    // Results of the first rows of all tiles lie together, and so do those of other rows.
    Expr tile_rows(const Expr &tile) const { return rounded_up(rows_of(tile), tile_height()); }
    Expr register_tiles(const Expr &tile) const { return register_tiles_of(tile_rows(tile)); }
    Expr most_register_tiles() const { return register_tiles_of(most_tile_rows()); }
    Expr places_of_tile_rows() const { return most_register_tiles() * (positions_ * axes_[0].tile) + vector_; }
    /// Rows of tiles, one behind the other, whose columns are transformed: with what the last register tile sees.
    Expr transformed_rows(const Expr &register_tiles) const {
        return rounded_up(register_tiles * (positions_ * axes_[0].tile) + axes_[0].high - axes_[0].low, pitch_);
    }
    Expr transformed_places() const { return transformed_rows(most_register_tiles()) * pitch_ + vector_; }

    /// These measure what is copied, in spots.
    Expr window() const { return window_ * spots(); }
    Expr seen_pitch() const { return pitch_ * spots(); }
    Expr shift(const Tap &tap) const {
        Expr rows = 0;
        for (std::size_t d = 1; d < axes_.size(); d++) rows = rows + tap.shift[d] * seen_pitches_[d - 1];
        return tap.shift[0] + rows * seen_pitch();
    }
    /// The spot that a place sees by a tap.
    Expr seen(const Expr &place, const Expr &shift) const { return place * spots() + shift; }

  private:
    std::vector<FlatAxis> axes_;
    Expr images_, rows_, panels_, length_, segments_, last_begin_, cells_, row_cells_, pitch_, tiles_, all_rows_, row_places_;
    Expr window_;
    PerAxis row_pitches_, seen_pitches_;
    Expr low_row_ = 0, seen_rows_, run_rows_, planes_ = 1;
    int positions_ = 1, vector_ = 1;

    Expr has_whole_images() const { return rows_ % pitch_of(outermost()) == 0; }
    int tile_height() const { return axes_.size() > 1 ? axes_[1].tile : 1; }
    bool has_tiles() const { return tile_height() * axes_[0].tile > 1; }
    Expr most_tile_rows() const { return rounded_up(rows_, tile_height()); }
    Expr register_tiles_of(const Expr &tile_rows) const { return rounded_up(tile_rows * (pitch_ / axes_[0].tile), positions_); }

    Expr spots() const { return axes_[0].spots(); }

    // So many of the rows in front of one of its image are no gaps.
    Expr real_rows_of_image(const PerAxis &at) const {
        Expr real = 0, inside = Halide::Internal::const_true();
        for (std::size_t d = axes_.size(); d-- > 1;) {
            real = real * axes_[d].cells + select(inside, min(at[d - 1], axes_[d].cells), 0);
            inside = inside && at[d - 1] < axes_[d].cells;
        }
        return real;
    }

    // So many rows of the picture, without gaps, come before a number, which counts from first_row() on. What tells how large a
    // tile is has neither remainders nor choices, whose bounds Halide knows less closely.
    Expr rows_before(const Expr &number) const {
        Expr all_numbers = images_;
        for (std::size_t d = 1; d < axes_.size(); d++) all_numbers = all_numbers * axes_[d].pitch();
        Expr inner = clamp(number, 0, all_numbers), before = 0, all = 1;
        PerAxis at;
        for (std::size_t d = 1; d < axes_.size(); d++) {
            const Expr pitch = max(axes_[d].pitch(), 1), outer = inner / pitch;
            at.push_back(inner - outer * pitch), inner = outer;
        }
        for (std::size_t d = 1; d < axes_.size(); d++) {
            const Expr rows = max(axes_[d].last_seen() - axes_[d].first_seen() + 1, 0);
            before = Halide::min(before + at[d - 1] * all, rows * all), all = all * rows;
        }
        return before + inner * all;
    }

    // So many rows have these places, in whole register tiles.
    Expr places_of(const Expr &rows) const {
        if (has_tiles()) return tile_height() * places_of_tile_rows();
        return rounded_up((rows - 1) * pitch_ + row_places_, positions_) * positions_;
    }
};

/// What each axis has of a phase, which counts those that have products.
inline std::vector<GatherAxis::Phase> phase_of_axes(const Places &places, const std::vector<GatherAxis> &gather,
                                                    const Expr &phase) {
    PerAxis counts;
    for (const FlatAxis &axis : places.axes()) counts.push_back(axis.live_phases);
    const PerAxis number = digits(phase, counts, divide_plainly);
    std::vector<GatherAxis::Phase> all;
    for (std::size_t d = 0; d < gather.size(); d++) all.push_back(gather[d].run_time_phase(places.axes()[d].phase(number[d])));
    return all;
}

inline Expr promised(const Expr &at, const Expr &extent) { return Halide::unsafe_promise_clamped(at, 0, extent - 1); }

}  // namespace conv_transpose::flat_gemm

#endif
