// The map of the gradients: input position i and kernel position k meet at output position
//     o = i * stride + k * dilation - padding.
// Padding does not appear: the caller lets the output gradient's coordinates begin at `padding`.
#ifndef CONV_TRANSPOSE_GENERATORS_STRIDED_AXIS_H
#define CONV_TRANSPOSE_GENERATORS_STRIDED_AXIS_H

#include "Halide.h"

namespace conv_transpose {

/// One axis, with attributes that are constants or run-time values.
struct StridedAxis {
    Halide::Expr kernel, stride, dilation;

    /// o + padding.
    Halide::Expr output(const Halide::Expr &i, const Halide::Expr &k) const { return i * stride + k * dilation; }

    /// Output positions that `inputs` neighbours and all kernel positions reach together (constant attributes only).
    int reach(int inputs) const {
        return (inputs - 1) * constant(stride) + (constant(kernel) - 1) * constant(dilation) + 1;
    }

    static int constant(const Halide::Expr &e) { return static_cast<int>(*Halide::Internal::as_const_int(e)); }
};

}  // namespace conv_transpose

#endif
