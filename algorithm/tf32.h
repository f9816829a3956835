// TF32: float32 with 10 bits of mantissa, what tensor cores multiply.
#ifndef CONV_TRANSPOSE_ALGORITHM_TF32_H
#define CONV_TRANSPOSE_ALGORITHM_TF32_H

#include "Halide.h"

namespace conv_transpose {

/// Rounds to nearest, ties away from zero, as the instruction cvt.rna.tf32 does; infinities and NaN stay what they are.
/// Without it tensor cores would cut the last bits off, which is a bias towards zero.
inline Halide::Expr round_to_tf32(const Halide::Expr &value, const Halide::Target &target) {
    using namespace Halide;
    if (target.has_feature(Target::CUDA)) {
        const Expr bits = Internal::Call::make(Int(32), "llvm.nvvm.f2tf32.rna", {value}, Internal::Call::PureExtern);
        return reinterpret<float>(bits);
    }
    const Expr bits = reinterpret<uint32_t>(value);
    const Expr is_finite = (bits & Expr(0x7f800000u)) != Expr(0x7f800000u);
    const Expr half_of_the_last_bit = Expr(0x1000u), dropped = Expr(0x1fffu);
    return select(is_finite, reinterpret<float>((bits + half_of_the_last_bit) & ~dropped), value);
}

/// Part 0 of an operand is its TF32 rounding; part 1, in tf32x3, the rounding of what part 0 leaves.
inline Halide::Expr tf32_part(const Halide::Expr &value, const Halide::Expr &part, const Halide::Target &target) {
    using namespace Halide;
    const Expr high = round_to_tf32(value, target);
    return select(part == 0, high, round_to_tf32(value - high, target));
}

}  // namespace conv_transpose

#endif
