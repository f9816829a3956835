// The weight gradient as a matrix product for CPUs, every attribute a run-time value, of any rank, element type and layout. Its
// operands lie as those of flat_gemm.h, which numbers the places: what a tap sees of the output gradient is a constant number
// of places further. The input has zeros where places are gaps, so that they add nothing to the sum over places.
// Of a depthwise problem groups are the channels, of which each has a weight for each tap alone: taps take the place of output
// channels.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_WEIGHT_GRADIENT_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_WEIGHT_GRADIENT_H

#include <vector>

#include "Halide.h"
#include "algorithm/flat_gemm.h"

namespace conv_transpose::flat_gemm {

/// What a task computes: panels of channels of both pictures, and so many segments and tiles of a part.
struct GradientBlock {
    Expr inputs, outputs, segments, tiles;
};

template <class Tensor, class Partial>
class WeightGradientSum {
  public:
    WeightGradientSum(FlatWeightGradientFuncs &f, const Places &places, const Tensor &input, Partial &partial,
                      const PerAxis &kernel, const GradientBlock &block, const Load &load)
        : f_(f), places_(places), input_(input), partial_(partial), kernel_(kernel), block_(block), load_(load),
          rank_(static_cast<int>(kernel.size())), lanes_(f.lanes), outputs_(f.outputs) {}

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
    const PerAxis &kernel_;
    const GradientBlock &block_;
    const Load &load_;
    const int rank_, lanes_, outputs_;

    Expr channels() const { return input_.dim(rank_).extent(); }
    Expr out_channels() const { return f_.size.depthwise ? product(kernel_) : partial_.dim(rank_).extent(); }

    // Rows of the input in their places, whole tiles of channels. Of a segment that begins early, only what is its own.
    void stage_input() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const std::vector<FlatAxis> &axes = places_.axes();
        const PerAxis cells = places_.row(v.tile * places_.rows() + v.row);
        PerAxis seen;
        Expr there_is = cells.back() < places_.images();
        for (int d = 1; d < rank_; d++) {
            there_is = there_is && cells[d - 1] < axes[d].cells;
            seen.push_back(cells[d - 1]);
        }
        const Expr first = v.segment * places_.length(), begin = places_.begin(v.segment),
                   own = begin + places_.length() - first;
        seen.insert(seen.end(), {cells.back(), select(there_is, own, 0)});
        f_.input_rows(v.row, v.segment, v.tile) = Tuple(seen);

        f_.reads_input_vectors = input_.dim(rank_).stride() == 1;
        f_.staged_input(v.place, v.lane, v.panel, v.segment, v.tile, v.group) = 0.f;
        const Expr of_panel = Halide::min(channels() - v.panel * lanes_, lanes_);
        f_.input_copy = RDom({{0, places_.length()}, {0, lanes_}, {0, places_.rows()}}, "copied_input");
        RDom &r = f_.input_copy;
        const auto row = [&](int i) -> Expr { return f_.input_rows(r[2], v.segment, v.tile)[i]; };
        r.where(r[0] < row(rank_));
        r.where(r[1] < of_panel);
        std::vector<Expr> index{promised(first + r[0], axes[0].cells)};
        for (int d = 1; d < rank_; d++) index.push_back(promised(row(d - 1), axes[d].cells));
        index.insert(index.end(), {promised(v.panel * lanes_ + r[1], channels()), v.group,
                                   promised(row(rank_ - 1), places_.images())});
        const Expr place = r[2] * places_.pitch() + first + r[0] - begin;
        f_.staged_input(promised(place, places_.most_places()), r[1], v.panel, v.segment, v.tile, v.group) =
            load_(input_(index));
    }

    void sum_tile() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.summed_places = RDom(0, places_.most_places(), "summed_places");
        const RVar p = f_.summed_places.x;
        const Expr channel = promised(Halide::min(v.out_panel * outputs_ + v.out_lane, out_channels() - 1), out_channels());
        const Expr tap = f_.size.depthwise ? channel : Expr(v.tap);
        const Expr seen_channel = f_.size.depthwise ? v.panel * lanes_ + v.lane : channel;
        const Expr seen = promised(places_.seen(p, f_.taps(tap, 0)[0]), places_.window()),
                   plane = promised(f_.taps(tap, 0)[1], places_.planes());
        f_.tile_sum(v.lane, v.out_lane, v.panel, v.out_panel, v.tap, v.segment, v.tile, v.group) = 0.f;
        f_.tile_sum(v.lane, v.out_lane, v.panel, v.out_panel, v.tap, v.segment, v.tile, v.group) +=
            f_.staged_input(p, v.lane, v.panel, v.segment, v.tile, v.group) *
            f_.staged(seen, seen_channel, plane, v.segment, v.tile, v.group);
    }

    void sum_part() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.tiles = RDom({{0, block_.segments}, {0, block_.tiles}}, "tiles");
        const Expr segment = v.segment_part * block_.segments + f_.tiles.x, tile = v.part * block_.tiles + f_.tiles.y;
        f_.tiles.where(segment < places_.segments());
        f_.tiles.where(tile < places_.tiles());
        f_.part_sum(v.lane, v.out_lane, v.panel, v.out_panel, v.tap, v.segment_part, v.part, v.group) = 0.f;
        f_.part_sum(v.lane, v.out_lane, v.panel, v.out_panel, v.tap, v.segment_part, v.part, v.group) +=
            f_.tile_sum(v.lane, v.out_lane, v.panel, v.out_panel, v.tap, segment, tile, v.group);
    }

    void store() {
        using namespace Halide;
        const Expr in_panels = rounded_up(channels(), lanes_), out_panels = rounded_up(out_channels(), outputs_);
        const Expr segment_parts = rounded_up(places_.segments(), block_.segments);
        auto &s = f_.stored;
        Region region{{0, outputs_}};
        for (int d = 0; d < 3; d++) region.emplace_back(0, d < rank_ && !f_.size.depthwise ? kernel_[d] : Expr(1));
        for (const Expr &extent : PerAxis{lanes_, block_.inputs, block_.outputs, rounded_up(in_panels, block_.inputs),
                                          rounded_up(out_panels, block_.outputs), partial_.dim(rank_ + 2).extent(),
                                          segment_parts, partial_.dim(rank_ + 3).extent() / segment_parts})
            region.emplace_back(0, extent);
        s.domain = RDom(region, "stored");
        RDom &r = s.domain;
        s.out_lane = r[0], s.kx = r[1], s.ky = r[2], s.kz = r[3], s.lane = r[4], s.panel = r[5], s.out_panel = r[6];
        s.in_block = r[7], s.out_block = r[8], s.group = r[9], s.segment_part = r[10], s.part = r[11];
        const Expr panel = s.in_block * block_.inputs + s.panel, out_panel = s.out_block * block_.outputs + s.out_panel;
        const Expr channel = panel * lanes_ + s.lane, out_channel = out_panel * outputs_ + s.out_lane;
        r.where(panel < in_panels);
        r.where(out_channel < out_channels());
        r.where(channel < channels());
        Expr tap = 0, taps = 1;
        std::vector<Expr> to;
        for (int d = 0; d < rank_ && !f_.size.depthwise; d++) {
            tap = tap + taps * r[1 + d], taps = taps * kernel_[d];
            to.push_back(r[1 + d]);
        }
        for (int d = 0; d < rank_ && f_.size.depthwise; d++)
            to.push_back(promised(f_.taps(promised(out_channel, out_channels()), 0)[2 + d], kernel_[d]));
        to.insert(to.end(),
                  {f_.size.depthwise ? Expr(0) : promised(out_channel, out_channels()), promised(channel, channels()), s.group,
                   promised(s.part * segment_parts + s.segment_part, partial_.dim(rank_ + 3).extent())});
        partial_(std::vector<Var>(rank_ + 4)) = undef<float>();
        partial_(to) =
            f_.part_sum(s.lane, s.out_lane, promised(panel, in_panels), promised(out_panel, out_panels),
                        promised(tap, taps), s.segment_part, s.part, s.group);
        f_.partial = partial_;
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
