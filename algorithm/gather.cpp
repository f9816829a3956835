// The formula: see gather.h.
#include "algorithm/gather.h"

#include <algorithm>
#include <numeric>

namespace conv_transpose {

using Halide::Expr;
using Halide::Internal::is_const_one;
using Halide::Internal::simplify;

namespace {

int floor_mod(int a, int b) { return ((a % b) + b) % b; }

// A table look-up that folds when `index` is a constant, and that is no look-up if all entries are equal.
Expr look_up(const Expr &index, const std::vector<int> &table) {
    const bool uniform = std::all_of(table.begin(), table.end(), [&](int v) { return v == table[0]; });
    if (uniform) return table[0];
    return Halide::mux(index, std::vector<Expr>(table.begin(), table.end()));
}

}  // namespace

GatherAxis GatherAxis::fixed(int kernel, int stride, int dilation, int padding_phase) {
    const int g = std::gcd(stride, dilation), tap_step = stride / g;
    GatherAxis axis;
    axis.kernel_ = kernel;
    axis.stride_ = stride;
    axis.tap_step_ = tap_step;
    axis.fixed_input_step_ = dilation / g;
    axis.input_step_ = axis.fixed_input_step_;
    axis.always_live_ = true;
    int last_shift = 0;
    for (int phase = 0; phase < stride; phase++) {
        int first = 0;
        while (first < kernel && floor_mod(phase + padding_phase - first * dilation, stride) != 0) first++;
        const bool dead = first == kernel;
        const int taps = dead ? 0 : (kernel - 1 - first) / tap_step + 1;
        axis.fixed_taps_ = std::max(axis.fixed_taps_, taps);
        // A dead phase takes its neighbour's shift, so that it does not widen what a tile of the input must hold.
        if (!dead) last_shift = (phase + padding_phase - first * dilation) / stride;
        axis.first_table_.push_back(first);
        axis.shift_table_.push_back(last_shift);
    }
    for (int first : axis.first_table_)
        axis.always_live_ &= first + (axis.fixed_taps_ - 1) * tap_step < kernel;
    // Dead phases before the first live one.
    const auto live = std::find_if(axis.first_table_.begin(), axis.first_table_.end(),
                                   [&](int first) { return first < kernel; });
    if (live != axis.first_table_.end()) {
        const auto n = live - axis.first_table_.begin();
        std::fill_n(axis.shift_table_.begin(), n, axis.shift_table_[n]);
    }
    axis.taps_ = axis.fixed_taps_;
    return axis;
}

GatherAxis GatherAxis::run_time(const AxisArguments &a) {
    GatherAxis axis;
    axis.kernel_ = a.kernel;
    axis.stride_ = a.stride;
    axis.dilation_ = a.dilation;
    axis.padding_phase_ = a.padding_phase;
    axis.gcd_ = a.gcd;
    axis.inverse_ = a.inverse;
    axis.tap_step_ = simplify(a.stride / a.gcd);
    axis.input_step_ = simplify(a.dilation / a.gcd);
    axis.taps_ = simplify((a.kernel + axis.tap_step_ - 1) / axis.tap_step_);
    axis.always_live_ = is_const_one(axis.tap_step_);
    return axis;
}

Expr GatherAxis::first(const Expr &phase) const {
    if (!first_table_.empty()) return look_up(phase, first_table_);
    // k * dilation == position (mod stride) has a solution if g divides position; then k is unique modulo stride / g.
    const Expr position = (phase + padding_phase_) % stride_;
    const Expr solvable = position % gcd_ == 0;
    return select(solvable, ((position / gcd_) * inverse_) % tap_step_, kernel_);
}

Expr GatherAxis::shift(const Expr &phase) const {
    if (!first_table_.empty()) return look_up(phase, shift_table_);
    return (phase + padding_phase_ - first(phase) * dilation_) / stride_;
}

Expr GatherAxis::tap(const Expr &phase, const Expr &t) const { return first(phase) + t * tap_step_; }

Expr GatherAxis::live(const Expr &phase, const Expr &t) const { return tap(phase, t) < kernel_; }

Expr GatherAxis::live_taps(const Expr &phase) const { return (kernel_ - first(phase) + tap_step_ - 1) / tap_step_; }

Expr GatherAxis::input(const Expr &cell, const Expr &phase, const Expr &t) const {
    return cell + shift(phase) - t * input_step_;
}

GatherAxis::Phase GatherAxis::run_time_phase(const Expr &phase) const {
    // Nothing here is negative, and unsigned division takes fewer instructions.
    const auto u = [](const Expr &e) { return Halide::cast<uint32_t>(e); };
    const auto i = [](const Expr &e) { return Halide::cast<int>(e); };
    const Expr position = u(phase + padding_phase_) % u(stride_);
    const Expr solvable = position % u(gcd_) == 0;
    const Expr first = i(((position / u(gcd_)) * u(inverse_)) % u(tap_step_));
    // Both terms have the same remainder where taps are live.
    const Expr shift = i(u(phase + padding_phase_) / u(stride_)) - i(u(first * dilation_) / u(stride_));
    return {first, shift, select(solvable, i(u(kernel_ + tap_step_ - 1 - first) / u(tap_step_)), 0)};
}

int GatherAxis::reach(int cells) const {
    const auto [low, high] = std::minmax_element(shift_table_.begin(), shift_table_.end());
    return cells + (*high - *low) + (fixed_taps_ - 1) * fixed_input_step_;
}

Gather gather(const GatherVars &v, const GatherAxis &x_axis, const GatherAxis &y_axis,
              const Expr &in_channels, const Halide::Func &input, const Halide::Func &weight,
              const Expr &initial, SumIndex index) {
    const bool positions = index == SumIndex::positions;
    const Expr sx = x_axis.stride(), sy = y_axis.stride();
    const Expr cell_x = positions ? v.x / sx : Expr(v.cell_x), cell_y = positions ? v.y / sy : Expr(v.cell_y);
    const Expr phase_x = positions ? v.x % sx : Expr(v.phase_x), phase_y = positions ? v.y % sy : Expr(v.phase_y);
    const std::vector<Halide::Var> at =
        positions ? std::vector<Halide::Var>{v.x, v.y, v.channel, v.group, v.batch}
                  : std::vector<Halide::Var>{v.cell_x, v.cell_y, v.phase_x, v.phase_y, v.channel, v.group, v.batch};

    Gather result;
    result.taps = Halide::RDom({{0, x_axis.taps()}, {0, y_axis.taps()}, {0, in_channels}}, "taps");
    const Halide::RDom &r = result.taps;
    if (!x_axis.always_live()) result.taps.where(x_axis.live(phase_x, r.x));
    if (!y_axis.always_live()) result.taps.where(y_axis.live(phase_y, r.y));

    // The tap depends on the phase alone, so any position of the phase may stand for it.
    Halide::Var px{"px"}, py{"py"}, tx{"tx"}, ty{"ty"}, in_channel{"in_channel"};
    const Expr kx = clamp(x_axis.tap(px % sx, tx), 0, x_axis.kernel() - 1);
    const Expr ky = clamp(y_axis.tap(py % sy, ty), 0, y_axis.kernel() - 1);
    result.phase_weight(px, py, tx, ty, v.channel, in_channel, v.group) =
        weight(kx, ky, v.channel, in_channel, v.group);

    result.sum(at) = initial;
    result.sum(at) +=
        input(x_axis.input(cell_x, phase_x, r.x), y_axis.input(cell_y, phase_y, r.y), r.z, v.group, v.batch) *
        result.phase_weight(positions ? v.x : v.phase_x, positions ? v.y : v.phase_y, r.x, r.y, v.channel,
                            r.z, v.group);
    return result;
}

}  // namespace conv_transpose
