// The weight gradient as products of rows, for CPUs: vectors are of cells, which both pictures have side by side in
// channels_first, so that nothing is turned and few channels, of either picture, leave no lanes empty. A sum has a vector of
// lanes, which are added up at the end. Tables and tiles are those of flat_weight_gradient.h, but that rows of the input have
// their gaps, as places of flat_places.h do, with zeros in them: then each tap sees a run of the output gradient.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_CELLS_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_CELLS_H

#include <vector>

#include "Halide.h"
#include "algorithm/flat_weight_gradient.h"

namespace conv_transpose::flat_gemm {

template <class Tensor, class Partial>
class WeightGradientOfCells {
  public:
    WeightGradientOfCells(FlatWeightGradientFuncs &f, const Places &places, const Tensor &input, const Tensor &output_gradient,
                          Partial &partial, const PerAxis &kernel, const GradientBlock &block, const EntryOrder &order,
                          const Load &load)
        : f_(f), places_(places), input_(input), partial_(partial), block_(block), load_(load),
          rank_(static_cast<int>(kernel.size())), taps_(product(kernel)), out_channels_(output_gradient.dim(rank_).extent()) {
        define_entries(f, taps_, block, order, 1);
    }

    void define() {
        stage_input();
        sum_tile();
        sum_part();
        store();
    }

  private:
    FlatWeightGradientFuncs &f_;
    const Places &places_;
    const Tensor &input_;
    Partial &partial_;
    const GradientBlock &block_;
    const Load &load_;
    const int rank_;
    const Expr taps_, out_channels_;

    Expr channels() const { return input_.dim(rank_).extent(); }
    Expr block_entries() const { return block_.outputs * taps_; }
    Expr vectors(const Expr &places) const { return places / f_.size.vector; }  // of whole register tiles
    Expr input_row(const Expr &row, int i) const { return f_.input_rows(row, f_.v.segment, f_.v.tile)[i]; }

    // Rows are copied by vectors, of which the last begins early; rows of less than a vector by smaller ones.
    void stage_input() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        std::vector<Expr> seen = places_.row(v.tile * places_.rows() + v.row);
        const Expr count = select(places_.is_row(v.tile * places_.rows() + v.row), places_.own(v.segment), 0);
        for (int width = f_.size.vector, above = 0; width > 0; above = width, width = next_width(width))
            seen.push_back(select(count >= width && (above == 0 || count < above), rounded_up(count, width), 0));
        tabulate(f_.input_rows, {v.row, v.segment, v.tile}, seen);
        f_.staged_input(v.place, v.lane, v.panel, v.segment, v.tile, v.group) = 0.f;
        for (int width = f_.size.vector; width > 0; width = next_width(width)) {
            const Expr most = rounded_up(places_.length(), width);
            copy_input(width, RDom({{0, width}, {0, most}, {0, places_.rows()}}, "copied_input"));
        }
    }
    void copy_input(int width, Halide::RDom r) {
        const FlatGemmVars &v = f_.v;
        r.where(r[1] < input_row(r[2], rank_ + static_cast<int>(f_.input_copies.size())));
        const Expr cell = Halide::min(r[1] * width, places_.own(v.segment) - width) + r[0];
        const Expr channel = Halide::min(v.panel * f_.lanes + v.lane, channels() - 1);  // sums beyond the last are not stored
        std::vector<Expr> index{promised(places_.own_begin(v.segment) + cell, places_.axes()[0].cells)};
        for (int d = 1; d < rank_; d++) index.push_back(promised(input_row(r[2], d - 1), places_.axes()[d].cells));
        index.insert(index.end(), {promised(channel, channels()), v.group, promised(input_row(r[2], rank_ - 1), places_.images())});
        const Expr place = r[2] * places_.pitch() + places_.own_begin(v.segment) - places_.begin(v.segment) + cell;
        f_.staged_input(promised(place, places_.most_places()), v.lane, v.panel, v.segment, v.tile, v.group) =
            load_(input_(index));
        f_.input_copies.push_back({width, f_.staged_input.num_update_definitions() - 1, r});
    }

    void sum_tile() {
        const FlatGemmVars &v = f_.v;
        tabulate(f_.cell_count, {v.tile}, {vectors(places_.places(v.tile))});
        f_.summed_cells = Halide::RDom(0, vectors(places_.most_places()), "summed_cells");
        f_.summed_cells.where(f_.summed_cells.x < f_.cell_count(v.tile));
        const auto entry = [&](int i) -> Expr { return f_.entries(v.entry)[i]; };
        const Expr channel = Halide::min(v.out_block * block_.outputs + promised(entry(2), block_.outputs), out_channels_ - 1);
        const Expr place = f_.summed_cells.x * f_.size.vector + v.element;
        f_.tile_sum(v.element, v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) = 0.f;
        f_.tile_sum(v.element, v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) +=
            f_.staged_input(promised(place, places_.most_places()), v.lane, v.panel, v.segment, v.tile, v.group) *
            f_.staged(promised(place + entry(0), places_.window()), promised(channel, out_channels_),
                      promised(entry(1), places_.planes()), v.segment, v.tile, v.group);
    }

    void sum_part() {
        const FlatGemmVars &v = f_.v;
        sum_parts(f_, places_, block_, {v.element, v.lane, v.entry, v.panel, v.out_block});
        f_.added_lanes = Halide::RDom(0, f_.size.vector, "added_lanes");
        f_.lane_sum(v.lane, v.entry, v.panel, v.out_block, v.segment_part, v.part, v.group) +=
            f_.part_sum(f_.added_lanes.x, v.lane, v.entry, v.panel, v.out_block, v.segment_part, v.part, v.group);
    }

    void store() {
        using namespace Halide;
        const Expr panels = rounded_up(channels(), f_.lanes), out_blocks = rounded_up(out_channels_, block_.outputs);
        const Expr segment_parts = rounded_up(places_.segments(), block_.segments);
        auto &s = f_.stored;
        s.domain = RDom({{0, block_entries()}, {0, f_.lanes}, {0, block_.inputs}, {0, rounded_up(panels, block_.inputs)},
                         {0, out_blocks}, {0, partial_.dim(2).extent()}, {0, segment_parts},
                         {0, partial_.dim(3).extent() / segment_parts}},
                        "stored");
        RDom &r = s.domain;
        s.element = r[0], s.lane = r[1], s.panel = r[2], s.in_block = r[3], s.out_block = r[4], s.group = r[5];
        s.segment_part = r[6], s.part = r[7];
        const Expr panel = s.in_block * block_.inputs + s.panel, channel = panel * f_.lanes + s.lane;
        r.where(panel < panels);
        r.where(channel < channels());
        r.where(s.element < Halide::min(out_channels_ - s.out_block * block_.outputs, block_.outputs) * taps_);
        partial_(Var(), Var(), Var(), Var()) = undef<float>();
        partial_(promised(s.out_block * block_entries() + s.element, partial_.dim(0).extent()), promised(channel, channels()),
                 s.group, promised(s.part * segment_parts + s.segment_part, partial_.dim(3).extent())) =
            f_.lane_sum(s.lane, s.element, panel, s.out_block, s.segment_part, s.part, s.group);
        f_.partial = partial_;
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
