// The weight gradient as a matrix product for CPUs, every attribute a run-time value, of any rank, element type and layout. Its
// operands lie as those of flat_places.h, which numbers the places: what a tap sees of the output gradient is a constant number
// of places further. The input lies without gaps, and a table tells the places of its cells.
// What is computed for an input channel are `entries`, as they lie in memory: output channels and taps are one dimension, so
// that neither has to fill a register tile. In a depthwise problem groups are the channels, of which each has
// an entry a tap.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_WEIGHT_GRADIENT_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_WEIGHT_GRADIENT_H

#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"
#include "algorithm/flat_tables.h"

namespace conv_transpose::flat_gemm {

/// What a task computes: panels of input channels, output channels, and so many segments and tiles of a part.
struct GradientBlock {
    Expr inputs, outputs, segments, tiles;
};

/// How far apart the entries of neighbouring taps and of neighbouring output channels are. If the latter are neighbours, a task
/// has all of them.
struct EntryOrder {
    Expr tap, channel;
};

/// The table of entries; elements that lie together of a place and tables count of it.
inline void define_entries(FlatWeightGradientFuncs &f, const Expr &taps, const GradientBlock &block, const EntryOrder &order,
                           const Expr &of_place) {
    const Halide::Var entry = f.v.entry;
    const Expr tap = promised(entry / order.tap % taps, taps);
    tabulate(f.entries, {entry}, {f.taps(tap, 0)[0] * of_place, f.taps(tap, 0)[1], entry / order.channel % block.outputs});
}

/// Adds sums of tiles to those of their part; both have `sums` in front of segment and tile.
inline void sum_parts(FlatWeightGradientFuncs &f, const Places &places, const GradientBlock &block,
                      const std::vector<Halide::Var> &sums) {
    f.tiles = Halide::RDom({{0, block.segments}, {0, block.tiles}}, "tiles");
    const Expr segment = f.v.segment_part * block.segments + f.tiles.x, tile = f.v.part * block.tiles + f.tiles.y;
    f.tiles.where(segment < places.segments());
    f.tiles.where(tile < places.tiles());
    std::vector<Expr> of_part(sums.begin(), sums.end()), of_tile = of_part;
    of_part.insert(of_part.end(), {f.v.segment_part, f.v.part, f.v.group});
    of_tile.insert(of_tile.end(), {segment, tile, f.v.group});
    f.part_sum(of_part) = 0.f;
    f.part_sum(of_part) += f.tile_sum(of_tile);
}

template <class Tensor, class Partial>
class WeightGradientSum {
  public:
    WeightGradientSum(FlatWeightGradientFuncs &f, const Places &places, const Tensor &input, const Tensor &output_gradient,
                      Partial &partial, const PerAxis &kernel, const GradientBlock &block, const EntryOrder &order,
                      const Load &load)
        : f_(f), places_(places), input_(input), partial_(partial), block_(block), load_(load),
          rank_(static_cast<int>(kernel.size())), taps_(product(kernel)),
          out_channels_(f.size.depthwise ? Expr(1) : output_gradient.dim(rank_).extent()),
          of_place_(f.size.joined_terms ? out_channels_ : Expr(1)) {
        f.input_rows_are_dense = input.dim(0).stride() == 1, f.output_rows_are_dense = output_gradient.dim(0).stride() == 1;
        define_entries(f, taps_, block, order, of_place_ * of_pairs());
    }

    void define() {
        stage_input();
        if (f_.entries_in_vectors) {
            see_entries();
            store_entries();
            return;
        }
        sum_tile();
        sum_parts(f_, places_, block_, {f_.v.lane, f_.v.entry, f_.v.panel, f_.v.out_block});
        store();
    }

  protected:
    FlatWeightGradientFuncs &f_;
    const Places &places_;
    const Tensor &input_;
    Partial &partial_;
    const GradientBlock &block_;
    const Load &load_;
    const int rank_;
    const Expr taps_, out_channels_;
    const Expr of_place_;  ///< elements of the output gradient that lie together: all channels of a spot, or one's

    Expr channels() const { return input_.dim(rank_).extent(); }
    /// Elements that tables of places count of a place.
    int of_pairs() const { return f_.entries_in_vectors ? 1 : f_.size.cells_together(); }
    Expr block_entries() const { return block_.outputs * taps_; }

    // Rows of the input lie in their places, in whole panels of channels. A segment that begins early has only what is
    // its own.
    void stage_input() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const std::vector<FlatAxis> &axes = places_.axes();
        const int vector = f_.size.vector;
        const PerAxis cells = places_.row(v.tile * places_.rows() + v.row);
        PerAxis seen;
        Expr there_is = cells.back() < places_.images();
        for (int d = 1; d < rank_; d++) {
            there_is = there_is && cells[d - 1] < axes[d].cells;
            seen.push_back(cells[d - 1]);
        }
        f_.reads_input_vectors = input_.dim(rank_).stride() == 1;
        const Expr count = select(there_is, places_.own(v.segment), 0), run = run_from(cells, count);
        const Expr is_turned =
            f_.entries_in_vectors || f_.size.joins_rows() ? Internal::const_false() : run >= vector && !f_.reads_input_vectors;
        const Expr turned = select(is_turned, rounded_up(run, vector), 0);
        seen.insert(seen.end(), {cells.back(), turned, select(is_turned, 0, run), count, run});
        tabulate(f_.input_rows, {v.row, v.segment, v.tile}, seen);
        if (!f_.taps_see_runs()) place_cells();
        if (f_.size.tile_pairs == 0) clear_lanes();
        else f_.staged_input(v.place, v.lane, v.panel, v.segment, v.tile, v.group) = kept(f_.size, 0.f);
        if (!f_.entries_in_vectors && !f_.size.joins_rows()) turn_input();
        copy_input();
        if (f_.taps_see_runs()) pair_places();
        else if (f_.size.pairs_of_cells) pair_cells();
    }
    // Those beyond the last channel.
    void clear_lanes() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.staged_input(v.place, v.lane, v.panel, v.segment, v.tile, v.group) = undef(kept(f_.size, 0.f).type());
        f_.input_zeros = RDom({{0, f_.lanes}, {0, most_cells()}}, "input_zeros");
        f_.input_zeros.where((v.panel + 1) * f_.lanes > channels());
        f_.input_zeros.where(f_.input_zeros[1] < cells_before(places_.rows()));
        f_.staged_input(f_.input_zeros[1], f_.input_zeros[0], v.panel, v.segment, v.tile, v.group) = kept(f_.size, 0.f);
    }
    // Rows that lie one behind the other in the picture, as cells do, are copied with the first of a tile or an image.
    Expr run_from(const PerAxis &cells, const Expr &count) const {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const std::vector<FlatAxis> &axes = places_.axes();
        const Expr apart = f_.taps_see_runs() ? places_.pitch() : together(places_.length());
        const int inner = places_.outermost() - 1;
        const Expr planes_apart = f_.taps_see_runs() ? places_.pitch_of(inner) : places_.rows_within(inner);
        Expr dense = places_.length() == axes[0].cells && apart == places_.length() && planes_apart == places_.rows_within(inner),
             number = 0, all = 1;
        for (int d = 1; d < rank_; d++) {
            dense = dense && input_.dim(d).stride() == all * places_.length() * input_.dim(0).stride();
            number = number + cells[d - 1] * all, all = all * axes[d].cells;
        }
        const Expr first = v.tile * places_.rows(), row = first + v.row;
        const Expr begins = places_.real_rows(first, row) == 0 || number == 0;
        const Expr rows = Halide::min(places_.real_rows(row, first + places_.rows_of(v.tile)), all - number);
        return select(!dense, count, begins, rows * count, 0);
    }
    void pair_places() {
        const FlatGemmVars &v = f_.v;
        f_.input_pairs(v.pair, v.lane, v.place, v.panel, v.segment, v.tile, v.group) =
            f_.staged_input(v.place * 2 + v.pair, v.lane, v.panel, v.segment, v.tile, v.group);
    }
    // The last cell of a row may have no neighbour.
    void pair_cells() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.input_ends = RDom({{0, f_.lanes}, {0, places_.rows()}}, "input_ends");
        RDom &r = f_.input_ends;
        r.where(input_row(r[1], rank_ + 2) % 2 != 0);
        f_.staged_input(promised(cells_before(r[1] + 1) - 1, most_cells()), r[0], v.panel, v.segment, v.tile, v.group) =
            kept(f_.size, 0.f);
        pair_places();
        if (f_.entries_in_vectors) return;
        const Expr to_neighbour = places_.axes()[0].spots() * of_place_;
        f_.seen_pairs(v.element, v.summed, v.plane, v.segment, v.tile, v.group) =
            f_.staged(v.element / 2 + v.element % 2 * to_neighbour, v.summed, v.plane, v.segment, v.tile, v.group);
    }
    // Vectors go beyond a row's end, and the next row's are written after them. Cells beyond the last that are summed, with zeros,
    // see what it sees.
    void place_cells() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        f_.cells_before(v.row, v.segment, v.tile) = 0;
        f_.counted_rows = RDom(0, places_.rows(), "counted_rows");
        const RVar row = f_.counted_rows.x;
        f_.cells_before(row + 1, v.segment, v.tile) = cells_before(row) + together(input_row(row, rank_ + 2));
        f_.cell_places(v.place, v.segment, v.tile) = f_.size.joins_rows() ? Expr(0) : undef<int>();
        f_.placed = RDom({{0, vector}, {0, rounded_up(places_.length(), vector)}, {0, places_.rows()}}, "placed");
        RDom &r = f_.placed;
        r.where(r[1] * vector < input_row(r[2], rank_ + 2));
        const Expr cell = r[1] * vector + r[0];
        const Expr of_row = f_.size.joins_rows() ? min(cell, input_row(r[2], rank_ + 2) - 1) : cell;
        const Expr place = r[2] * places_.pitch() + places_.own_begin(v.segment) - places_.begin(v.segment) + of_row;
        f_.cell_places(promised(cells_before(r[2]) + cell, most_cells() + vector), v.segment, v.tile) =
            places_.seen(place, 0) * of_place_ * of_pairs();
    }
    Expr most_cells() const {
        return f_.taps_see_runs() ? places_.most_places() : places_.rows() * together(places_.length());
    }
    Expr together(const Expr &cells) const {
        const int count = f_.size.cells_together();
        return count == 1 ? cells : rounded_up(cells, count) * count;
    }
    Expr cells_before(const Expr &row) const {
        const Expr segment = f_.v.segment;
        if (f_.taps_see_runs()) return row * places_.pitch() + places_.own_begin(segment) - places_.begin(segment);
        return f_.cells_before(row, segment, f_.v.tile);
    }
    Expr input_row(const Expr &row, int i) const { return f_.input_rows(row, f_.v.segment, f_.v.tile)[i]; }

    // Vectors of cells become vectors of channels; the last one of a run begins early. Channels beyond the last repeat it, and
    // their sums are not stored.
    void turn_input() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector;
        const auto cell = [&](const Expr &row, const Expr &number, const Expr &element) -> Expr {
            return Halide::min(number * vector, input_row(row, rank_ + 3) - vector) + element;
        };
        const Expr channel = Halide::min(v.panel * f_.lanes + v.lane, channels() - 1);
        f_.turned_input(v.element, v.lane, v.vector, v.row, v.panel, v.segment, v.tile, v.group) =
            input_element(cell(v.row, v.vector, v.element), v.row, channel);
        f_.input_turn = RDom({{0, vector}, {0, rounded_up(most_cells(), vector)}, {0, places_.rows()}}, "turned_input");
        RDom &r = f_.input_turn;
        r.where(r[1] < input_row(r[2], rank_));
        stage_input_element(cell(r[2], r[1], r[0]), r[2], v.lane,
                            f_.turned_input(r[0], v.lane, r[1], r[2], v.panel, v.segment, v.tile, v.group));
    }

    // Runs of less than a vector, and channels that lie side by side.
    void copy_input() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int lanes = f_.lanes;
        f_.input_copy = RDom({{0, most_cells()}, {0, lanes}, {0, places_.rows()}}, "copied_input");
        RDom &r = f_.input_copy;
        r.where(r[0] < input_row(r[2], rank_ + 1));
        r.where(Halide::likely(r[1] < channels() - v.panel * lanes));  // most vectors are whole
        stage_input_element(r[0], r[2], r[1], input_element(r[0], r[2], v.panel * lanes + r[1]));
    }

    // `cell` counts those of a segment's own.
    Expr input_element(const Expr &cell, const Expr &row, const Expr &channel) const {
        const FlatGemmVars &v = f_.v;
        const std::vector<FlatAxis> &axes = places_.axes();
        std::vector<Expr> index{promised(places_.own_begin(v.segment) + cell, axes[0].cells)};
        for (int d = 1; d < rank_; d++) index.push_back(promised(input_row(row, d - 1), axes[d].cells));
        index.insert(index.end(), {promised(channel, channels()), v.group, promised(input_row(row, rank_ - 1), places_.images())});
        return load_(input_(index));
    }
    void stage_input_element(const Expr &cell, const Expr &row, const Expr &lane, const Expr &value) {
        const FlatGemmVars &v = f_.v;
        f_.staged_input(promised(cells_before(row) + cell, most_cells()), lane, v.panel, v.segment, v.tile, v.group) =
            kept(f_.size, value);
    }

    // Cells, or pairs of them.
    std::pair<Halide::RVar, Halide::RVar> cells_to_sum() {
        const int count = f_.size.cells_together();
        f_.summed_cells = Halide::RDom({{0, most_cells() / count}, {0, count}}, "summed_cells");
        f_.summed_cells.where(f_.summed_cells.x < cells_before(places_.rows()) / count);
        return {f_.summed_cells.x, f_.summed_cells.y};
    }

    void sum_tile() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int count = of_pairs();
        const auto [number, of_pair] = cells_to_sum();
        const Expr place = f_.cell_places(number * count, v.segment, v.tile);
        const auto entry = [&](int i) -> Expr { return f_.entries(v.entry)[i]; };
        const Expr out_channel = v.out_block * block_.outputs + promised(entry(2), block_.outputs);
        const Expr seen_channel =
            f_.size.depthwise ? v.panel * f_.lanes + v.lane : promised(Halide::min(out_channel, out_channels_ - 1), out_channels_);
        const bool of_spots = f_.size.joined_terms;
        const Expr seen = place + entry(0) + (of_spots ? seen_channel * count : Expr(0));
        f_.tile_sum(v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) = 0.f;
        const Expr at = promised(seen, places_.window() * of_place_ * count - count + 1);
        const Expr summed = of_spots ? Expr(0) : seen_channel;
        const Expr plane = promised(entry(1), places_.planes());
        f_.tile_sum(v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) +=
            f_.size.pairs_of_cells
                ? cast<float>(f_.input_pairs(of_pair, v.lane, number, v.panel, v.segment, v.tile, v.group)) *
                      cast<float>(f_.seen_pairs(at + of_pair, summed, plane, v.segment, v.tile, v.group))
                : f_.staged_input(number, v.lane, v.panel, v.segment, v.tile, v.group) *
                      f_.staged(at, summed, plane, v.segment, v.tile, v.group);
    }

    // Vectors of channels become vectors of entries, of which the last of a task begins early; where a task may have less than a
    // vector, entries are stored one by one.
    void store() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector, lanes = f_.lanes;
        const Expr panels = rounded_up(channels(), lanes), out_blocks = rounded_up(out_channels_, block_.outputs);
        const Expr segment_parts = rounded_up(places_.segments(), block_.segments);
        auto &s = f_.stored;
        s.domain = RDom({{0, vector}, {0, vector}, {0, rounded_up(block_entries(), vector)}, {0, lanes / vector},
                         {0, block_.inputs}, {0, rounded_up(panels, block_.inputs)}, {0, out_blocks},
                         {0, partial_.dim(2).extent()}, {0, segment_parts}, {0, partial_.dim(3).extent() / segment_parts}},
                        "stored");
        RDom &r = s.domain;
        s.element = r[0], s.lane = r[1], s.vector = r[2], s.lane_vector = r[3], s.panel = r[4], s.in_block = r[5];
        s.out_block = r[6], s.group = r[7], s.segment_part = r[8], s.part = r[9];
        const Expr panel = s.in_block * block_.inputs + s.panel, channel = panel * lanes + s.lane_vector * vector + s.lane;
        const Expr count = entries_of(s.out_block);
        f_.whole_vectors = entries_of(out_blocks - 1) >= vector;
        r.where(panel < panels);
        r.where(channel < channels());
        r.where(s.vector * vector < count);
        r.where(f_.whole_vectors || s.element < count);
        const auto begin = [&](const Expr &number, const Expr &out_block) { return early_begin(number, vector, out_block); };
        f_.turned_sums(v.element, v.lane, v.lane_vector, v.vector, v.panel, v.out_block, v.segment_part, v.part, v.group) =
            f_.part_sum(v.lane_vector * vector + v.lane,
                        promised(min(begin(v.vector, v.out_block) + v.element, entries_of(v.out_block) - 1), block_entries()),
                        promised(v.panel, panels), v.out_block, v.segment_part, v.part, v.group);
        const Expr entry = s.out_block * block_entries() + begin(s.vector, s.out_block) + s.element;
        partial_(Var(), Var(), Var(), Var()) = undef<float>();
        partial_(promised(entry, partial_.dim(0).extent()), promised(channel, channels()), s.group,
                 promised(s.part * segment_parts + s.segment_part, partial_.dim(3).extent())) =
            f_.turned_sums(s.element, s.lane, s.lane_vector, s.vector, panel, s.out_block, s.segment_part, s.part, s.group);
        f_.partial = partial_;
    }
    Expr entries_of(const Expr &out_block) const {
        return Halide::min(out_channels_ - out_block * block_.outputs, block_.outputs) * taps_;
    }
    /// The first entry of so many of a task, of which the last ones begin early.
    Expr early_begin(const Expr &number, int size, const Expr &out_block) const {
        return min(number * size, max(entries_of(out_block) - size, 0));
    }

    // Vectors of entries: what the taps of neighbouring entries see of each cell is put side by side, once for all input channels.
    void see_entries() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const Expr number = early_begin(v.register_tile, f_.outputs, v.out_block) + v.entry;
        const auto entry = [&](int i) -> Expr {
            return f_.entries(promised(min(number, entries_of(v.out_block) - 1), block_entries()))[i];
        };
        const Expr channel = v.out_block * block_.outputs + promised(entry(2), block_.outputs);
        f_.seen(v.entry, v.place, v.register_tile, v.out_block, v.segment, v.tile, v.group) = undef(kept(f_.size, 0.f).type());
        f_.seen_cells = RDom(0, most_cells(), "seen_cells");
        const RVar cell = f_.seen_cells.x;
        f_.seen_cells.where(cell < cells_before(places_.rows()));
        f_.seen(v.entry, cell, v.register_tile, v.out_block, v.segment, v.tile, v.group) =
            f_.staged(promised(f_.cell_places(cell, v.segment, v.tile) + entry(0), places_.window()),
                      promised(channel, out_channels_), promised(entry(1), places_.planes()), v.segment, v.tile, v.group);
        if (f_.size.pairs_of_cells)
            f_.entry_pairs(v.pair, v.entry, v.place, v.register_tile, v.out_block, v.segment, v.tile, v.group) =
                f_.seen(v.entry, v.place * 2 + v.pair, v.register_tile, v.out_block, v.segment, v.tile, v.group);
    }

    // A part is a tile, whose sums are complete in registers.
    void store_entries() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int lanes = f_.lanes, size = f_.outputs;
        const auto [number, of_pair] = cells_to_sum();
        f_.tile_sum(v.lane, v.entry, v.register_tile, v.panel, v.out_block, v.segment, v.tile, v.group) = 0.f;
        f_.tile_sum(v.lane, v.entry, v.register_tile, v.panel, v.out_block, v.segment, v.tile, v.group) +=
            f_.size.pairs_of_cells
                ? cast<float>(f_.input_pairs(of_pair, v.lane, number, v.panel, v.segment, v.tile, v.group)) *
                      cast<float>(f_.entry_pairs(of_pair, v.entry, number, v.register_tile, v.out_block, v.segment, v.tile,
                                                 v.group))
                : f_.staged_input(number, v.lane, v.panel, v.segment, v.tile, v.group) *
                      f_.seen(v.entry, number, v.register_tile, v.out_block, v.segment, v.tile, v.group);

        const Expr panels = rounded_up(channels(), lanes), out_blocks = rounded_up(out_channels_, block_.outputs);
        auto &s = f_.stored;
        s.domain = RDom({{0, size}, {0, lanes}, {0, f_.size.chunk}, {0, panels},
                         {0, rounded_up(block_entries(), size * f_.size.chunk)}, {0, out_blocks}, {0, partial_.dim(2).extent()},
                         {0, places_.segments()}, {0, places_.tiles()}},
                        "stored");
        RDom &r = s.domain;
        s.element = r[0], s.lane = r[1], s.vector = r[2], s.panel = r[3], s.chunk = r[4], s.out_block = r[5];
        s.group = r[6], s.segment_part = r[7], s.part = r[8];
        const Expr channel = s.panel * lanes + s.lane, count = entries_of(s.out_block);
        const Expr register_tile = s.chunk * f_.size.chunk + s.vector;
        r.where(channel < channels());
        r.where(register_tile * size < count);
        const Expr entry = s.out_block * block_entries() + early_begin(register_tile, size, s.out_block) + s.element;
        partial_(Var(), Var(), Var(), Var()) = undef<float>();
        partial_(promised(entry, partial_.dim(0).extent()), promised(channel, channels()), s.group,
                 promised(s.part * places_.segments() + s.segment_part, partial_.dim(3).extent())) =
            f_.tile_sum(s.lane, s.element, register_tile, s.panel, s.out_block, s.segment_part, s.part, s.group);
        f_.partial = partial_;
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
