// What algorithms do with elements of a format (element_format.h): load them as float32, store them, and take the
// pieces of an operand that tensor cores multiply. The only place that knows how a format rounds.
#ifndef CONV_TRANSPOSE_ALGORITHM_ELEMENT_OPERATIONS_H
#define CONV_TRANSPOSE_ALGORITHM_ELEMENT_OPERATIONS_H

#include "Halide.h"
#include "algorithm/element_format.h"
#include "algorithm/tf32.h"

namespace conv_transpose {

inline Halide::Type halide_type(Storage storage) {
    switch (storage) {
        case Storage::f16: return Halide::Float(16);
        case Storage::bf16: return Halide::BFloat(16);
        case Storage::f32: break;
    }
    return Halide::Float(32);
}

inline Halide::Expr load(const Halide::Expr &element) {
    return element.type() == Halide::Float(32) ? element : Halide::cast<float>(element);
}

/// Rounds once, to nearest, ties to even. NaN stays NaN, which Halide's own conversion to bfloat16 does not promise.
inline Halide::Expr store(const Halide::Expr &value, Storage storage) {
    using namespace Halide;
    if (storage == Storage::f32) return value;
    if (storage == Storage::f16) return cast(Float(16), value);
    const Expr bits = reinterpret<uint32_t>(value);
    const Expr rounded = (bits + Expr(0x7fffu) + ((bits >> 16) & Expr(1u))) >> 16;
    const Expr is_nan = (bits & Expr(0x7fffffffu)) > Expr(0x7f800000u);
    return reinterpret(BFloat(16), cast<uint16_t>(select(is_nan, Expr(0x7fffu), rounded)));
}

/// In float32, on any target. Halide 21 cannot convert a single bfloat16 in CUDA code; its bits are the upper half of those of a
/// float32. Its conversion from float16 without instructions for it loses NaN; a product with 2^112 is exact.
inline Halide::Expr loaded(const Halide::Expr &element, const Halide::Target &target) {
    using namespace Halide;
    const auto bits = [&] { return cast<uint32_t>(reinterpret<uint16_t>(element)); };
    if (element.type() == BFloat(16)) return reinterpret<float>(bits() << 16);
    const bool converts = target.has_gpu_feature() || target.has_feature(Target::F16C);
    if (element.type() != Float(16) || converts) return load(element);
    const Expr magnitude = (bits() & 0x7fffu) << 13, sign = (bits() & 0x8000u) << 16;
    const Expr number = reinterpret<uint32_t>(strict_float(reinterpret<float>(magnitude) * 0x1p112f));
    return reinterpret<float>(sign | select(magnitude >= Expr(0x0f800000u), magnitude | 0x7f800000u, number));
}

/// Rounded once to an element, on any target; NaN stays NaN, which Halide's conversion to float16 without instructions for it
/// loses.
inline Halide::Expr stored(const Halide::Expr &value, Storage storage, const Halide::Target &target) {
    using namespace Halide;
    const bool converts = target.has_gpu_feature() || target.has_feature(Target::F16C);
    if (storage != Storage::f16 || converts) return store(value, storage);
    const Expr is_nan = (reinterpret<uint32_t>(value) & 0x7fffffffu) > Expr(0x7f800000u);
    return reinterpret(Float(16), select(is_nan, cast<uint16_t>(0x7e00), reinterpret<uint16_t>(store(value, storage))));
}

/// What tensor cores multiply: the piece of an element, as it lies in shared memory. In tf32x3 piece 0 is the TF32
/// rounding, and piece 1 that of what the first leaves.
inline Halide::Expr operand_piece(const ElementFormat &format, const Halide::Expr &element, const Halide::Expr &piece,
                                  const Halide::Target &target) {
    if (format.multiply == Multiply::tf32) return tf32_part(load(element), piece, target);
    // An element that lies in memory as it is multiplied is moved, not converted.
    return element.type() == halide_type(format.operand()) ? element : store(load(element), format.operand());
}

/// Which pieces of two operands the product of a term multiplies: the small products come first, while the sum is
/// small.
struct PiecesOfTerm {
    Halide::Expr first, second;
};
inline PiecesOfTerm pieces_of_term(const ElementFormat &format, const Halide::Expr &term) {
    if (format.terms == 1) return {0, 0};
    return {select(term == 1, 1, 0), select(term == 0, 1, 0)};
}

}  // namespace conv_transpose

#endif
