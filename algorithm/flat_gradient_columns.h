// The weight gradient as products of matrix instructions of pictures whose channels lie side by side, where nothing but the input
// has to be turned. Rows of a product are input channels, whose cells lie side by side, 32 of which are summed at once. Its columns
// are a row of the kernel: what a cell sees of it lies side by side, too, all output channels of neighbouring taps, if those are
// not dilated, and so do its weights. Cells have no gaps, and a table tells their places.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_COLUMNS_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_COLUMNS_H

#include "Halide.h"
#include "algorithm/flat_weight_gradient.h"

namespace conv_transpose::flat_gemm {

template <class Tensor, class Partial>
class WeightGradientOfColumns : public WeightGradientSum<Tensor, Partial> {
    using Base = WeightGradientSum<Tensor, Partial>;
    using Base::block_, Base::f_, Base::load_, Base::of_place_, Base::out_channels_, Base::partial_, Base::places_, Base::taps_;

  public:
    WeightGradientOfColumns(FlatWeightGradientFuncs &f, const Places &places, const Tensor &input, const Tensor &output_gradient,
                            Partial &partial, const PerAxis &kernel, const GradientBlock &block, const EntryOrder &order,
                            const Load &load)
        : Base(f, places, input, output_gradient, partial, kernel, block, order, load), kernel_x_(kernel[0]), order_(order) {}

    void define() {
        this->stage_input();
        turn_cells();
        see_columns();
        sum_tile();
        sum_parts(f_, places_, block_, {f_.v.entry, f_.v.tap, f_.v.lane, f_.v.panel});
        store();
    }

  private:
    const Expr kernel_x_;
    const EntryOrder order_;

    int cells_at_once() const { return 2 * f_.size.tile_pairs; }
    Expr columns() const { return kernel_x_ * out_channels_; }
    Expr kernel_rows() const { return taps_ / kernel_x_; }

    // Cells beyond the last are zeros.
    void turn_cells() {
        using namespace Halide;
        const auto &v = f_.v;
        const int vector = f_.size.vector;
        f_.turned_input(v.element, v.lane, v.vector, v.panel, v.segment, v.tile, v.group) =
            load_(f_.staged_input(v.vector * vector + v.element, v.lane, v.panel, v.segment, v.tile, v.group));
        f_.input_runs(v.place, v.lane, v.chunk, v.panel, v.segment, v.tile, v.group) =
            kept(f_.size, f_.turned_input(v.place % vector, v.lane, (v.chunk * cells_at_once() + v.place) / vector, v.panel,
                                          v.segment, v.tile, v.group));
    }

    // Columns beyond the last see what follows, and are not stored.
    void see_columns() {
        const auto &v = f_.v;
        const Expr cell = v.chunk * cells_at_once() + v.place * 2 + v.pair, all = places_.window() * of_place_ + f_.outputs;
        const auto tap = [&](int i) -> Expr { return f_.taps(promised(v.tap * kernel_x_, taps_), 0)[i]; };
        const Expr seen = promised(f_.cell_places(cell, v.segment, v.tile) + tap(0) * of_place_ + v.entry, all);
        f_.seen_columns(v.pair, v.entry, v.place, v.chunk, v.tap, v.segment, v.tile, v.group) =
            f_.staged(seen, 0, promised(tap(1), places_.planes()), v.segment, v.tile, v.group);
    }

    void sum_tile() {
        const auto &v = f_.v;
        const Expr cells = this->cells_before(places_.rows());
        Halide::RDom &r = f_.summed_cells;
        r = Halide::RDom({{0, 2}, {0, f_.size.tile_pairs}, {0, rounded_up(this->most_cells(), cells_at_once())}}, "summed_cells");
        r.where(r[2] * cells_at_once() < cells);
        f_.tile_sum(v.entry, v.tap, v.lane, v.panel, v.segment, v.tile, v.group) = 0.f;
        f_.tile_sum(v.entry, v.tap, v.lane, v.panel, v.segment, v.tile, v.group) +=
            cast<float>(f_.input_runs(r[1] * 2 + r[0], v.lane, r[2], v.panel, v.segment, v.tile, v.group)) *
            cast<float>(f_.seen_columns(r[0], v.entry, r[1], r[2], v.tap, v.segment, v.tile, v.group));
    }

    // Vectors of columns, of which the last of a row of the kernel begins early; where it has less than a vector, one by one.
    void store() {
        using namespace Halide;
        const int vector = f_.size.vector, lanes = f_.lanes;
        const Expr panels = rounded_up(this->channels(), lanes), segment_parts = rounded_up(places_.segments(), block_.segments);
        auto &s = f_.stored;
        s.domain = RDom({{0, vector}, {0, rounded_up(columns(), vector)}, {0, kernel_rows()}, {0, lanes}, {0, block_.inputs},
                         {0, rounded_up(panels, block_.inputs)}, {0, partial_.dim(2).extent()}, {0, segment_parts},
                         {0, partial_.dim(3).extent() / segment_parts}},
                        "stored");
        RDom &r = s.domain;
        s.element = r[0], s.vector = r[1], s.row = r[2], s.lane = r[3], s.panel = r[4], s.in_block = r[5], s.group = r[6];
        s.segment_part = r[7], s.part = r[8];
        const Expr panel = s.in_block * block_.inputs + s.panel, channel = panel * lanes + s.lane;
        f_.whole_vectors = columns() >= vector;
        f_.columns_are_entries = order_.channel == 1 && order_.tap == out_channels_;
        r.where(panel < panels);
        r.where(channel < this->channels());
        r.where(f_.whole_vectors || s.element < columns());
        const Expr column = promised(min(s.vector * vector, max(columns() - vector, 0)) + s.element, columns());
        const Expr apart = (s.row * kernel_x_ + column / out_channels_) * order_.tap + column % out_channels_ * order_.channel;
        const Expr entry = select(f_.columns_are_entries, s.row * columns() + column, apart);
        partial_(Var(), Var(), Var(), Var()) = undef<float>();
        partial_(promised(entry, partial_.dim(0).extent()), promised(channel, this->channels()), s.group,
                 promised(s.part * segment_parts + s.segment_part, partial_.dim(3).extent())) =
            f_.part_sum(column, s.row, s.lane, promised(panel, panels), s.segment_part, s.part, s.group);
        f_.partial = partial_;
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
