// The weight gradient as products of matrix instructions, which sum over 32 cells at once. Rows of the input have gaps, as places
// of flat_places.h do, with zeros in them, so that a tap sees a run of the output gradient. What the taps of a register tile's
// entries see is put one below the other, for all input channels: so rows of a product are any output channels and taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_TILES_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GRADIENT_TILES_H

#include "Halide.h"
#include "algorithm/flat_weight_gradient.h"

namespace conv_transpose::flat_gemm {

template <class Tensor, class Partial>
class WeightGradientOfTiles : public WeightGradientSum<Tensor, Partial> {
    using Base = WeightGradientSum<Tensor, Partial>;
    using Base::block_, Base::f_, Base::out_channels_, Base::places_;

  public:
    WeightGradientOfTiles(FlatWeightGradientFuncs &f, const Places &places, const Tensor &input, const Tensor &output_gradient,
                          Partial &partial, const PerAxis &kernel, const GradientBlock &block, const EntryOrder &order,
                          const Load &load)
        : Base(f, places, input, output_gradient, partial, kernel, block, order, load) {}

    void define() {
        this->stage_input();
        see_runs();
        sum_tile();
        sum_parts(f_, places_, block_, {f_.v.lane, f_.v.entry, f_.v.panel, f_.v.out_block});
        this->store();
    }

  private:
    int places_at_once() const { return 2 * f_.size.tile_pairs; }

    void see_runs() {
        const auto &v = f_.v;
        const auto entry = [&](int i) -> Expr { return f_.entries(v.entry)[i]; };
        const Expr channel = min(v.out_block * block_.outputs + promised(entry(2), block_.outputs), out_channels_ - 1);
        const Expr seen = promised(v.chunk * places_at_once() + v.place + entry(0), places_.window());
        f_.seen_runs(v.place, v.entry, v.chunk, v.out_block, v.segment, v.tile, v.group) =
            f_.staged(seen, promised(channel, out_channels_), promised(entry(1), places_.planes()), v.segment, v.tile, v.group);
    }

    // Places beyond those of the last tile are zeros, too.
    void sum_tile() {
        const auto &v = f_.v;
        const int pairs = f_.size.tile_pairs;
        Halide::RDom &r = f_.summed_cells;
        r = Halide::RDom({{0, 2}, {0, pairs}, {0, places_.most_places() / places_at_once()}}, "summed_cells");
        f_.tile_sum(v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) = 0.f;
        f_.tile_sum(v.lane, v.entry, v.panel, v.out_block, v.segment, v.tile, v.group) +=
            cast<float>(f_.seen_runs(r[1] * 2 + r[0], v.entry, r[2], v.out_block, v.segment, v.tile, v.group)) *
            cast<float>(f_.input_pairs(r[0], v.lane, r[2] * pairs + r[1], v.panel, v.segment, v.tile, v.group));
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
