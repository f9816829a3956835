// The formula: a transposed convolution as a gather, written once for every schedule and device.
//
// On each axis an output position is o = stride * cell + phase, and the sum over kernel positions k of
//     input[(o + padding - k * dilation) / stride] * weight[k],   where that divides and lies inside the input,
// becomes, for each of the `stride` phases, a dense sum over its live taps k = first(phase) + t * tap_step:
//     input[cell + shift(phase) - t * input_step] * weight[k]
// with g = gcd(stride, dilation), tap_step = stride / g and input_step = dilation / g.
//
// Whole strides of padding do not appear: the caller lets the input's coordinates begin at -(padding / stride), and
// only padding % stride, the padding phase, is left. output_padding never enters; it only lengthens the output.
#ifndef CONV_TRANSPOSE_ALGORITHM_GATHER_H
#define CONV_TRANSPOSE_ALGORITHM_GATHER_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// The attributes of one axis as a kernel's arguments. `gcd` is g, and `inverse` the inverse of dilation / g modulo
/// stride / g: the caller computes both.
struct AxisArguments {
    Halide::Expr kernel, stride, dilation, padding_phase, gcd, inverse;
};

/// One axis of the map, with attributes that are either constants or run-time values.
class GatherAxis {
  public:
    /// Attributes known when the kernel is compiled: first() and shift() are tables, so that they fold to constants
    /// wherever a schedule unrolls the phase.
    static GatherAxis fixed(int kernel, int stride, int dilation, int padding_phase);

    static GatherAxis run_time(const AxisArguments &arguments);

    Halide::Expr stride() const { return stride_; }
    Halide::Expr kernel() const { return kernel_; }

    /// The most taps that any phase has: the extent of the reduction.
    Halide::Expr taps() const { return taps_; }

    /// Kernel position of tap t; it may lie outside the kernel where a phase has fewer taps.
    Halide::Expr tap(const Halide::Expr &phase, const Halide::Expr &t) const;

    /// Whether tap t of the phase exists.
    Halide::Expr live(const Halide::Expr &phase, const Halide::Expr &t) const;

    /// How many taps of the phase exist: the first ones.
    Halide::Expr live_taps(const Halide::Expr &phase) const;

    /// True if every tap of every phase exists, so that no test is needed.
    bool always_live() const { return always_live_; }

    /// Input position of tap t.
    Halide::Expr input(const Halide::Expr &cell, const Halide::Expr &phase, const Halide::Expr &t) const;

    /// What the above is made of, for kernels that compute one phase (run-time attributes only): tap t is
    /// kernel position first + t * tap_step and sees input position cell + shift - t * input_step.
    struct Phase {
        Halide::Expr first, shift, taps;  ///< `taps` may be 0
    };
    Phase run_time_phase(const Halide::Expr &phase) const;
    Halide::Expr tap_step() const { return tap_step_; }
    Halide::Expr input_step() const { return input_step_; }

    /// shift - t * input_step is never less, of no phase and live tap (run-time attributes only).
    Halide::Expr least_input() const { return -((kernel_ - 1) * dilation_ / stride_); }

    /// Input positions that `cells` consecutive cells, all phases and taps, reach together (fixed attributes only).
    int reach(int cells) const;

  private:
    Halide::Expr kernel_, stride_, taps_, tap_step_, input_step_;
    bool always_live_ = false;
    // Fixed attributes: one entry a phase in each table.
    std::vector<int> first_table_, shift_table_;
    int fixed_taps_ = 0, fixed_input_step_ = 0;
    // Run-time attributes.
    Halide::Expr dilation_, padding_phase_, gcd_, inverse_;

    Halide::Expr first(const Halide::Expr &phase) const;
    Halide::Expr shift(const Halide::Expr &phase) const;
};

/// Names of the dimensions. x runs along the width. Buffers are (x, y, channel in group, group, batch).
struct GatherVars {
    Halide::Var x{"x"}, y{"y"}, channel{"channel"}, group{"group"}, batch{"batch"};
    Halide::Var cell_x{"cell_x"}, cell_y{"cell_y"}, phase_x{"phase_x"}, phase_y{"phase_y"};
};

/// How the sum is indexed: the same formula in the form that a schedule can tile.
enum class SumIndex {
    /// sum(cell_x, cell_y, phase_x, phase_y, channel, group, batch): for schedules that compute one phase at a time.
    cells_and_phases,
    /// sum(x, y, channel, group, batch): for schedules whose lanes or registers hold neighbouring outputs. Where x is a
    /// multiple of the stride plus a constant, cell and phase fold.
    positions,
};

/// The gather's sum over taps and input channels of a group.
struct Gather {
    Halide::Func sum{"sum"};
    /// The weight of a phase's tap: (phase x, phase y, tap x, tap y, channel, input channel, group);
    /// positions of a phase may stand for it.
    Halide::Func phase_weight{"phase_weight"};
    /// taps.x, taps.y, input channel
    Halide::RDom taps;
};

/// `initial` is what every sum starts from (the bias). `input` gives zero outside of the picture;
/// `weight` is indexed (kx, ky, channel, input channel, group) and only ever inside the kernel.
Gather gather(const GatherVars &v, const GatherAxis &x_axis, const GatherAxis &y_axis,
              const Halide::Expr &in_channels, const Halide::Func &input, const Halide::Func &weight,
              const Halide::Expr &initial, SumIndex index);

}  // namespace conv_transpose

#endif
