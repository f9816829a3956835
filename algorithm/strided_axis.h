// The map of the gradients: input position i and kernel position k meet at output position
//     o = i * stride + k * dilation - padding.
// Padding does not appear: the caller lets the output gradient's coordinates begin at `padding`.
//
// With attributes that are constants there is a second form. Taps reach only some of the phases o mod stride, the live
// ones; the n-th has o mod stride = n * dilation mod stride, and tap k sees the live phase k mod (stride / g), with
// g = gcd(stride, dilation). Reading one live phase after the other, what a tap sees is dense whatever the stride.
#ifndef CONV_TRANSPOSE_ALGORITHM_STRIDED_AXIS_H
#define CONV_TRANSPOSE_ALGORITHM_STRIDED_AXIS_H

#include <algorithm>
#include <numeric>

#include "Halide.h"

namespace conv_transpose {

/// One axis, with attributes that are constants or run-time values. Positions of the output count from -padding.
struct StridedAxis {
    Halide::Expr kernel, stride, dilation;

    Halide::Expr output(const Halide::Expr &i, const Halide::Expr &k) const { return i * stride + k * dilation; }

    // The rest is for attributes that are constants. output(i, k) == position(cell(i, k), live_phase(k)).
    Halide::Expr cell(const Halide::Expr &i, const Halide::Expr &k) const { return i + k * dilation / stride; }
    Halide::Expr live_phase(const Halide::Expr &k) const {
        return constant(kernel) <= phase_period() ? k : k % phase_period();
    }
    Halide::Expr position(const Halide::Expr &cell, const Halide::Expr &live_phase) const {
        return cell * stride + live_phase * dilation % stride;
    }

    int live_phases() const { return std::min(constant(kernel), phase_period()); }
    /// Cells that `inputs` neighbours and all taps reach together.
    int reach(int inputs) const { return inputs + (constant(kernel) - 1) * constant(dilation) / constant(stride); }
    int taps() const { return constant(kernel); }

  private:
    int phase_period() const { return constant(stride) / std::gcd(constant(stride), constant(dilation)); }
    static int constant(const Halide::Expr &e) { return static_cast<int>(*Halide::Internal::as_const_int(e)); }
};

}  // namespace conv_transpose

#endif
