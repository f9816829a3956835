// The gather at one position of one axis, where attributes are run-time values: which taps an output position sees, and
// where their inputs lie. The same map as that of gather.h, for kernels whose threads take any position.
#ifndef CONV_TRANSPOSE_ALGORITHM_TAP_WALK_H
#define CONV_TRANSPOSE_ALGORITHM_TAP_WALK_H

#include <vector>

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/gather.h"

namespace conv_transpose {

/// Tap t is kernel position first + t * step, as long as that lies inside of the kernel, and sees input position
/// input - t * input_step. Where no tap is live, `first` is the kernel's size.
struct TapWalk {
    Halide::Expr first, input, step, input_step, kernel;

    Halide::Expr tap(const Halide::Expr &t) const { return first + t * step; }
    Halide::Expr live(const Halide::Expr &t) const { return tap(t) < kernel; }
    Halide::Expr input_of(const Halide::Expr &t) const { return input - t * input_step; }
    /// This walk keeps what depends on the position in a Func.
    TapWalk kept_in(Halide::Func &kept, const std::vector<Halide::Var> &loops) const {
        kept(loops) = Halide::Tuple(first, input);
        const std::vector<Halide::Expr> at(loops.begin(), loops.end());
        return {kept(at)[0], kept(at)[1], step, input_step, kernel};
    }
    /// The most taps that any position has.
    Halide::Expr most() const { return (kernel + step - 1) / step; }
};

/// Division of numbers from 0 on, on either device.
inline Division divide(const Halide::Expr &number, const Halide::Expr &divisor, bool on_gpu) {
    using namespace Halide;
    if (on_gpu) return divide(number, divisor);
    const Expr quotient = unsigned_quotient(number, divisor);
    return {quotient, number - quotient * divisor};
}

/// `position` is one of the output, counted from 0 on.
inline TapWalk tap_walk(const Halide::Expr &position, const AxisArguments &a, bool on_gpu) {
    using namespace Halide;
    const auto by = [&](const Expr &number, const Expr &divisor) { return divide(number, divisor, on_gpu); };
    const Expr step = a.stride / a.gcd;
    const Division cell = by(position + a.padding_phase, a.stride), of_gcd = by(cell.rest, a.gcd);
    const Expr solution = by(of_gcd.quotient * a.inverse, step).rest;
    // solution * dilation is cell.rest and whole strides.
    const Expr strides = by(max(solution * a.dilation - cell.rest, 0), a.stride).quotient;
    return {select(of_gcd.rest == 0, solution, a.kernel), cell.quotient - strides, step, a.dilation / a.gcd, a.kernel};
}

}  // namespace conv_transpose

#endif
