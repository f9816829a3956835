// The weight gradient of depthwise problems with channels innermost, on CPUs: see channel_rows.h. Neighbouring taps of a row of the
// kernel are summed together, over a segment of a row of the input; positions at which some of them see nothing come last.
#ifndef CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_WEIGHTS_H
#define CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_WEIGHTS_H

#include <functional>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/channel_rows.h"

namespace conv_transpose::channel_rows {

/// The first of neighbouring taps begins to see the picture last, and the last is the first that no longer sees it.
class WeightSums {
  public:
    using Loaded = std::function<Expr(const Expr &element)>;

    template <class Picture>
    WeightSums(WeightFuncs &f, const std::vector<StridedAxis> &axes, const Picture &input, const Picture &output_gradient)
        : f_(f), axes_(axes), columns_(input.dim(0).extent()), rows_(input.dim(1).extent()), planes_(input.dim(2).extent()),
          images_(input.dim(5).extent()), channels_(input.dim(3).extent()),
          low_(output_gradient.dim(0).min()), high_(output_gradient.dim(0).max()) {
        constexpr int floats = 8192, least = 32, most = 256;  // of a segment of the input
        segment_ = clamp(floats / max(channels_, 1), least, most);
    }

    template <class Picture, class Partial>
    void define(const Picture &input, const Picture &output_gradient, Partial &partial, const Loaded &loaded) {
        using namespace Halide;
        define_tables(output_gradient);
        f_.row_sum(f_.channel, f_.entry, f_.segment, f_.row) = 0.f;
        for (TapSums &s : f_.sums) define_sums(s, input, output_gradient, loaded);
        const Expr share = rounded_up(all_rows(), partial.dim(3).extent());
        f_.summed = RDom({{0, rounded_up(columns_, segment_)}, {0, share}}, "summed");
        const RVar row = f_.summed.y;
        f_.summed.where(f_.part * share + row < all_rows());
        f_.part_sum(f_.channel, f_.entry, f_.part) = 0.f;
        f_.part_sum(f_.channel, f_.entry, f_.part) += f_.row_sum(f_.channel, f_.entry, f_.summed.x, f_.part * share + row);
        partial(f_.entry, f_.channel, f_.group, f_.part) = f_.part_sum(f_.channel, f_.entry, f_.part);
        f_.partial = partial;
    }

  private:
    WeightFuncs &f_;
    const std::vector<StridedAxis> &axes_;
    const Expr columns_, rows_, planes_, images_, channels_, low_, high_;
    Expr segment_;

    Expr all_rows() const { return rows_ * planes_ * images_; }
    Expr of_row(int i) const { return f_.rows(f_.row)[i]; }

    template <class Picture>
    void define_tables(const Picture &output_gradient) {
        using namespace Halide;
        const StridedAxis &x = axes_[0];
        const Expr at = f_.tap * x.dilation, first = clamp(rounded_up(low_ - at, x.stride), 0, columns_);
        tabulate(f_.columns, {f_.tap}, {first, clamp((high_ - at) / x.stride + 1, first, columns_)});
        for (int d = 1; d < 3; d++) {
            const Axis axis = Axis::gradient(axes_[d], output_gradient.dim(d), 0);
            f_.seen.emplace_back(std::string("seen_") + "xyz"[d]);
            tabulate(f_.seen.back(), {f_.position}, axis.seen(f_.position, axis.phase(0)).as_vector());
        }
        const PerAxis row = digits(f_.row, {rows_, planes_}, divide_plainly);
        tabulate(f_.rows, {f_.row}, {row[0], row[1], row[2]});
        const auto on_axis = [&](int d, int i) -> Expr {
            return f_.seen[d - 1](promised(of_row(d - 1), d == 1 ? rows_ : planes_))[i];
        };
        const Expr of_y = max(on_axis(1, 2), 1), tap_y = f_.tap % of_y, tap_z = f_.tap / of_y;
        tabulate(f_.row_taps, {f_.tap, f_.row}, {on_axis(1, 0) + tap_y * axes_[1].dilation, on_axis(1, 1) + tap_y,
                                                 on_axis(2, 0) + tap_z * axes_[2].dilation, on_axis(2, 1) + tap_z});
        tabulate(f_.tap_count, {f_.row}, {on_axis(1, 2) * on_axis(2, 2)});
    }

    // So many taps at once, as often as there are; the rest by fewer.
    Expr blocks(const TapSums &s) const {
        const Expr rest = axes_[0].kernel % f_.taps;
        return s.taps == f_.taps ? axes_[0].kernel / f_.taps : select(rest == s.taps, 1, 0);
    }
    Expr first_tap(const TapSums &s, const Expr &block) const {
        return s.taps == f_.taps ? block * s.taps : axes_[0].kernel / f_.taps * f_.taps;
    }

    template <class Picture>
    void define_sums(TapSums &s, const Picture &input, const Picture &output_gradient, const Loaded &loaded) {
        using namespace Halide;
        const StridedAxis &x = axes_[0];
        const std::string name = s.name();
        s.span = Func("span" + name), s.sum = Func("sum" + name);
        const auto column = [&](const Expr &tap, int i) -> Expr { return f_.columns(promised(tap, x.kernel))[i]; };
        const Expr first = first_tap(s, f_.block), last = first + s.taps - 1;
        const Expr begin = f_.segment * segment_, end = min(begin + segment_, columns_);
        const auto in_segment = [&](const Expr &at) { return clamp(at, begin, end); };
        // Positions that all taps see the picture from; that some do, before and behind them.
        const Expr any_begin = column(last, 0), any_end = column(first, 1), there_is = column(first, 0) < column(last, 1);
        const Expr all_begin = in_segment(select(there_is, column(first, 0), any_end)),
                   all_end = in_segment(select(there_is, column(last, 1), any_end));
        const Expr left = in_segment(any_begin);
        tabulate(s.span, {f_.block, f_.segment},
                 {all_begin, all_end, left, max(all_begin - left, 0), max(in_segment(any_end) - all_end, 0)});
        const auto span = [&](int i) -> Expr { return s.span(f_.block, f_.segment)[i]; };

        const Expr live = select(f_.row_tap < f_.tap_count(f_.row), 1, 0);
        s.inside = RDom(0, segment_, "inside" + name);
        s.inside.where(s.inside.x < (span(1) - span(0)) * live);
        s.edges = RDom(0, segment_, "edges" + name);
        s.edges.where(s.edges.x < (span(3) + span(4)) * live);
        const auto product = [&](const Expr &position, bool is_edge) {
            const Expr at = promised(position, columns_), image = promised(of_row(2), images_);
            const Expr of_lane = f_.panels.channel(s.is_narrow, f_.panel, f_.lane, channels_);
            const Expr seen = at * x.stride + (first + f_.place) * x.dilation;
            const auto row_tap = [&](int i) -> Expr { return f_.row_taps(f_.row_tap, f_.row)[i]; };
            const Expr there = is_edge ? clamp(seen, low_, high_) : promised(seen, output_gradient.dim(0));
            const Expr gradient = loaded(output_gradient(std::vector<Expr>{there, promised(row_tap(0), output_gradient.dim(1)),
                                                                           promised(row_tap(2), output_gradient.dim(2)), of_lane, 0,
                                                                           image}));
            const Expr element = loaded(
                input(std::vector<Expr>{at, promised(of_row(0), rows_), promised(of_row(1), planes_), of_lane, 0, image}));
            return is_edge ? select(seen >= low_ && seen <= high_, element * gradient, 0.f) : element * gradient;
        };
        s.sum(f_.lane, f_.place, f_.block, f_.row_tap, f_.panel, f_.segment, f_.row) = 0.f;
        s.sum(f_.lane, f_.place, f_.block, f_.row_tap, f_.panel, f_.segment, f_.row) += product(span(0) + s.inside.x, false);
        const RVar edge = s.edges.x;
        s.sum(f_.lane, f_.place, f_.block, f_.row_tap, f_.panel, f_.segment, f_.row) +=
            product(select(edge < span(3), span(2) + edge, span(1) + edge - span(3)), true);

        s.stored = RDom({{0, f_.panels.lanes_of(s.is_narrow)}, {0, s.taps}, {0, blocks(s)},
                         {0, axes_[1].kernel * axes_[2].kernel}, {0, f_.panels.count(s.is_narrow, channels_)}}, "stored" + name);
        const RDom &r = s.stored;
        s.stored.where(r[3] < f_.tap_count(f_.row));
        const Expr row = f_.row_taps(r[3], f_.row)[1] + Expr(f_.row_taps(r[3], f_.row)[3]) * axes_[1].kernel;
        const Expr entry = first_tap(s, r[2]) + r[1] + row * x.kernel;
        const Expr of_entry = promised(entry, x.kernel * axes_[1].kernel * axes_[2].kernel);
        f_.row_sum(f_.panels.channel(s.is_narrow, r[4], r[0], channels_), of_entry, f_.segment, f_.row) =
            s.sum(r[0], r[1], r[2], r[3], r[4], f_.segment, f_.row);
    }
};

}  // namespace conv_transpose::channel_rows

#endif
