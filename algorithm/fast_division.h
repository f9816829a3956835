// Division of numbers from 0 on, and comparisons without a sign.
#ifndef CONV_TRANSPOSE_ALGORITHM_FAST_DIVISION_H
#define CONV_TRANSPOSE_ALGORITHM_FAST_DIVISION_H

#include "Halide.h"

namespace conv_transpose {

struct Division {
    Halide::Expr quotient, rest;
};

/// On processors, which divide.
inline Division divide_plainly(const Halide::Expr &number, const Halide::Expr &divisor) {
    return {number / divisor, number % divisor};
}

/// On GPUs, by what changes with phases. A division takes some fifty instructions; its reciprocal does not change in the loop. What
/// the reciprocal gives is the quotient or one less. By numbers that the host knows plain divisions become products in any case
/// (compiler/passes/kernel_constants.h). The upper half of a product of 64 bits would be the same,
/// and is in tests/ptx_machine, but results on a GPU were wrong with it (ptxas 13.0).
inline Division divide(const Halide::Expr &number, const Halide::Expr &divisor) {
    using namespace Halide;
    const Expr reciprocal = Expr(0xffffffffu) / cast<uint32_t>(divisor);
    const Expr upper_half = Internal::Call::make(UInt(32), "llvm.nvvm.mulhi.ui", {cast<uint32_t>(number), reciprocal},
                                                 Internal::Call::PureExtern);
    const Expr estimate = cast<int>(upper_half), rest = number - estimate * divisor, one_more = rest >= divisor;
    return {estimate + select(one_more, 1, 0), rest - select(one_more, divisor, 0)};
}

/// This takes two instructions where number * divisor is below 2^31: the reciprocal, rounded up, gives the quotient itself.
inline Division divide_small(const Halide::Expr &number, const Halide::Expr &divisor) {
    using namespace Halide;
    const Expr unsigned_divisor = cast<uint32_t>(divisor);
    const Expr reciprocal = (Expr(0x80000000u) + (unsigned_divisor - 1)) / unsigned_divisor;
    const Expr quotient = cast<int>(Internal::Call::make(UInt(32), "llvm.nvvm.mulhi.ui",
                                                         {cast<uint32_t>(number * 2), reciprocal}, Internal::Call::PureExtern));
    return {quotient, number - quotient * divisor};
}

/// The compiler's division, without a sign, which a GPU's handles apart.
inline Halide::Expr unsigned_quotient(const Halide::Expr &number, const Halide::Expr &divisor) {
    using Halide::cast;
    return cast<int>(cast<uint32_t>(number) / cast<uint32_t>(divisor));
}

/// One comparison tells both ends: below the first, an unsigned distance is large.
inline Halide::Expr is_inside(const Halide::Expr &at, const Halide::Expr &min, const Halide::Expr &extent) {
    using Halide::cast;
    return cast<uint32_t>(at - min) < cast<uint32_t>(extent);
}

/// A number from 0 on that is divided so, for templates of arithmetic (tensor_layout.h).
struct FastNumber {
    Halide::Expr value;
    FastNumber(int value = 0) : value(value) {}
    FastNumber(const Halide::Expr &value) : value(value) {}

    friend FastNumber operator+(const FastNumber &a, const FastNumber &b) { return a.value + b.value; }
    friend FastNumber operator-(const FastNumber &a, const FastNumber &b) { return a.value - b.value; }
    friend FastNumber operator*(const FastNumber &a, const FastNumber &b) { return a.value * b.value; }
    friend FastNumber operator/(const FastNumber &a, const FastNumber &b) { return a.divided_by(b).quotient; }
    friend FastNumber operator%(const FastNumber &a, const FastNumber &b) { return a.divided_by(b).rest; }

  private:
    // The compiler knows better for constants.
    Division divided_by(const FastNumber &divisor) const {
        if (!Halide::Internal::as_const_int(divisor.value)) return divide(value, divisor.value);
        return {value / divisor.value, value % divisor.value};
    }
};

}  // namespace conv_transpose

#endif
