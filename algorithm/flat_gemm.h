// The sums of flat matrix products (flat_places.h says what those are): tables of taps, and the sum over channels and taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H

#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"
#include "algorithm/flat_storing.h"

namespace conv_transpose::flat_gemm {

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

}  // namespace conv_transpose::flat_gemm

#endif
