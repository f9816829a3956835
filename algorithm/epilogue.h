// What follows the sum before it is stored: the activation, chosen at run time.
#ifndef CONV_TRANSPOSE_ALGORITHM_EPILOGUE_H
#define CONV_TRANSPOSE_ALGORITHM_EPILOGUE_H

#include "Halide.h"
#include "algorithm/kernel_interface.h"

namespace conv_transpose {

/// Computes only the one that is asked for; a select computes both.
inline Halide::Expr branch(const Halide::Expr &condition, const Halide::Expr &then, const Halide::Expr &otherwise) {
    using Halide::Internal::Call;
    return Call::make(then.type(), Call::if_then_else, {condition, then, otherwise}, Call::PureIntrinsic);
}

/// `slope` multiplies negative sums: 1 is no activation, 0 is ReLU, anything else LeakyReLU.
inline Halide::Expr piecewise_linear(const Halide::Expr &sum, const Halide::Expr &slope) {
    // Strict: otherwise LLVM may assume that there is no NaN and make a maximum of the select, which loses NaN.
    // 0 * -inf would be NaN.
    return strict_float(select(sum < 0.f, select(slope == 0.f, 0.f, sum * slope), sum));
}

/// The slope of a channel: one of all, or its own, which lie behind as many biases. `bias(place)` reads one of `places` numbers.
template <class Bias>
Halide::Expr slope_of_channel(const Halide::Expr &has_bias, const Halide::Expr &slope, const Halide::Expr &channel,
                              const Halide::Expr &channels, const Halide::Expr &places, const Bias &bias) {
    const Halide::Expr of_channel = has_bias == static_cast<int>(BiasKind::biases_and_slopes);
    const Halide::Expr place = channel + select(of_channel, channels, 0);
    return select(of_channel, bias(Halide::unsafe_promise_clamped(place, 0, places - 1)), slope);
}

/// A piecewise linear or a smooth activation, chosen at run time. Smooth ones stand behind a branch that is the same for all
/// threads, so that they cost nothing where they are not asked for.
inline Halide::Expr activate(const Halide::Expr &sum, const Halide::Expr &activation, const Halide::Expr &slope) {
    // Halide's exp is a polynomial that knows neither NaN nor what lies outside of its range; below -88 the result is
    // no normal number.
    const Halide::Expr sigmoid = select(is_nan(sum), sum, sum < -88.f, 0.f, 1.f / (1.f + exp(-max(sum, -88.f))));
    const Halide::Expr smooth = branch(activation == static_cast<int>(EpilogueKind::tanh), tanh(sum), sigmoid);
    return branch(activation == static_cast<int>(EpilogueKind::piecewise_linear), piecewise_linear(sum, slope), smooth);
}

}  // namespace conv_transpose

#endif
