// The sum of a flat matrix product of all phases at once (flat_places.h says what that is). Few channels would fill little of a
// register tile, phase by phase. So its lanes are entries: phases of the channels of a block. Lanes go together through what any of
// them sees of a place, a window of each axis; where the phase of a lane has no tap, its weight is zero.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_PHASES_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_PHASES_H

#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"

namespace conv_transpose::flat_gemm {

/// A panel of results, and of weights, is one channel: weights are (0, summed, kx, ky, kz, channel + channels * group).
class SumOfPhases {
  public:
    SumOfPhases(FlatGemmFuncs &f, const Places &places, const std::vector<GatherAxis> &gather, const Expr &summed,
                const Expr &channels)
        : f_(f), places_(places), gather_(gather), summed_(summed), channels_(channels), rank_(static_cast<int>(gather.size())) {}

    template <class Tensor>
    void define(const Tensor &weight, const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
        find_windows();
        find_terms();
        fill_panels(weight);
        multiply(initial);
    }

  private:
    FlatGemmFuncs &f_;
    const Places &places_;
    const std::vector<GatherAxis> &gather_;
    const Expr summed_, channels_;
    const int rank_;

    // Entries of a block: neighbouring channels of a phase, then those of the next.
    Expr entry(const Expr &lane) const { return f_.v.panel * f_.size.phase_lanes + lane; }
    Expr entries() const { return places_.live_phases() * places_.block_panels(); }
    Expr phase(const Expr &entry) const {
        return promised(min(entry / places_.block_panels(), places_.live_phases() - 1), places_.live_phases());
    }
    Expr channel(const Expr &entry) const {
        return promised(min(f_.v.out_block * places_.block_panels() + entry % places_.block_panels(), channels_ - 1), channels_);
    }

    // Tables of what a phase sees, and of what some lane of a panel does: the first and the last shift of each axis.
    void find_windows() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const std::vector<GatherAxis::Phase> of_phase = phase_of_axes(places_, gather_, v.phase);
        std::vector<Expr> seen, none, window;
        for (int d = 0; d < rank_; d++) {
            const Expr last = of_phase[d].shift - places_.axes()[d].low, has_taps = of_phase[d].taps > 0;
            seen.push_back(select(has_taps, last - (of_phase[d].taps - 1) * gather_[d].input_step(), Int(32).max()));
            seen.push_back(select(has_taps, last, -1));
            none.insert(none.end(), {Int(32).max(), -1});
        }
        tabulate(f_.phase_windows, {v.phase}, seen);
        f_.windows(v.panel) = Tuple(none);
        f_.window_lanes = RDom(0, f_.size.phase_lanes, "window_lanes");
        const Expr number = entry(f_.window_lanes.x);
        f_.window_lanes.where(number < entries());
        const FuncRef so_far = f_.windows(v.panel), of_lane = f_.phase_windows(phase(number));
        for (int d = 0; d < rank_; d++)
            window.insert(window.end(), {min(so_far[2 * d], of_lane[2 * d]), max(so_far[2 * d + 1], of_lane[2 * d + 1])});
        f_.windows(v.panel) = Tuple(window);
    }
    PerAxis window() const {
        PerAxis extents;
        for (int d = 0; d < rank_; d++)
            extents.push_back(max(f_.windows(f_.v.panel)[2 * d + 1] - f_.windows(f_.v.panel)[2 * d] + 1, 0));
        return extents;
    }
    Expr most_in_window() const {
        Expr all = 1;
        for (const FlatAxis &a : places_.axes()) all = all * (a.high - a.low + 1);
        return all;
    }
    // The shifts of a window, all of a summed channel before those of the next.
    PerAxis shifts(const Expr &number) const {
        PerAxis extents = window(), at;
        for (Expr &extent : extents) extent = max(extent, 1);
        const PerAxis counted = digits(number, extents, divide_plainly);
        for (int d = 0; d < rank_; d++) at.push_back(f_.windows(f_.v.panel)[2 * d] + counted[d]);
        return at;
    }
    Expr in_window() const { return max(product(window()), 1); }

    // Tables: where a term reads what is staged, and of a lane's tap the kernel position, or -1 where it has none.
    void find_terms() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.staged_channels = summed_, f_.staged_planes = 1;
        tabulate(f_.terms, {v.term, v.panel},
                 {places_.shift(Tap{shifts(v.term % in_window()), {}, {}}) + v.term / in_window() * places_.window()});
        const PerAxis at = shifts(v.tap);
        const std::vector<GatherAxis::Phase> of_phase = phase_of_axes(places_, gather_, phase(entry(v.lane)));
        Expr kernel = 0, there_is = entry(v.lane) < entries();
        for (int d = rank_; d-- > 0;) {
            const Expr step = gather_[d].input_step(), back = of_phase[d].shift - places_.axes()[d].low - at[d];
            const Expr number = back / step;
            there_is = there_is && back >= 0 && number * step == back && number < of_phase[d].taps;
            kernel = kernel * gather_[d].kernel() + of_phase[d].first + number * gather_[d].tap_step();
        }
        tabulate(f_.kernel_positions, {v.lane, v.tap, v.panel}, {select(there_is, kernel, -1)});
    }

    template <class Tensor>
    void fill_panels(const Tensor &weight) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const Expr position = f_.kernel_positions(v.lane, promised(v.term % in_window(), most_in_window()), v.panel);
        // Kernel positions of all axes lie one behind the other.
        std::vector<Expr> index(rank_ + 3, 0);
        index[1] = promised(min(v.term / in_window(), summed_ - 1), summed_);
        index[2] = promised(max(position, 0), gather_[0].kernel());
        index.back() = channel(entry(v.lane)) + channels_ * v.group;
        f_.filled_panel(v.lane, v.term, v.panel, v.out_block, v.group) = select(position >= 0, weight(index), 0.f);
    }

    void multiply(const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const Expr most = summed_ * most_in_window();
        RDom &r = f_.reduced.domain;
        r = RDom({{0, most}}, "reduced");
        f_.reduced.summed = r.x;
        r.where(r.x < product(window()) * summed_);
        const Expr term = promised(r.x, most);
        f_.product(v.place, v.lane, v.panel, v.out_block, v.segment, v.tile, v.group) = initial(channel(entry(v.lane)), v.group);
        f_.product(v.place, v.lane, v.panel, v.out_block, v.segment, v.tile, v.group) +=
            f_.staged(promised(v.place + f_.terms(term, v.panel), places_.window()), 0, 0, v.segment, v.tile, v.group) *
            f_.filled_panel(v.lane, term, v.panel, v.out_block, v.group);
        f_.products(v.place, v.lane, v.panel, v.out_block, v.segment, v.tile, v.group) =
            f_.product(v.place, v.lane, v.panel, v.out_block, v.segment, v.tile, v.group);
        const Expr of_block = v.phase * places_.block_panels() + v.panel % places_.block_panels();
        f_.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
            f_.products(v.place, of_block % f_.size.phase_lanes, of_block / f_.size.phase_lanes, v.panel / places_.block_panels(),
                        v.segment, v.tile, v.group);
    }
};

}  // namespace conv_transpose::flat_gemm

#endif
