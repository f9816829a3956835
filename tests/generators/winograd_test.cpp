// Winograd's matrices against the definition of a correlation, in exact arithmetic.
#include "algorithm/winograd.h"

#include <gtest/gtest.h>

namespace conv_transpose::winograd {
namespace {

using Halide::Expr;

float value(const Expr &e) {
    const Expr constant = Halide::Internal::simplify(e);
    const auto *number = constant.as<Halide::Internal::FloatImm>();
    if (!number) throw std::runtime_error("not a constant");
    return static_cast<float>(number->value);
}

const std::vector<Transform> transforms{of_taps(1),         of_taps(2),         of_taps(3),         of_points(6, 6, 3), of_points(6, 6, 4),
                                        of_points(6, 8, 3), of_points(6, 8, 4), of_points(8, 6, 4), of_points(8, 6, 5)};

/// Both sides are bilinear, so they agree everywhere if they agree on unit vectors.
TEST(Winograd, IsTheCorrelationOfEveryInputWithEveryTap) {
    for (const Transform &transform : transforms)
        for (int input = 0; input < transform.points(); input++)
            for (int tap = 0; tap < transform.taps(); tap++)
                for (int output = 0; output < transform.outputs(); output++) {
                    const auto unit = [](int one, int i) { return Expr(i == one ? 1.f : 0.f); };
                    const Expr sum = transformed(transform.output, output, [&](int point) {
                        return transformed(transform.input, point, [&](int i) { return unit(input, i); }) *
                               transformed(transform.weight, point, [&](int i) { return unit(tap, i); });
                    });
                    EXPECT_EQ(value(sum), output + tap == input ? transform.divisor : 0.f)
                        << "F(" << transform.outputs() << ", " << transform.taps() << "), input " << input << ", tap "
                        << tap << ", output " << output;
                }
}

/// What makes integers exact: no coefficient needs rounding.
TEST(Winograd, CoefficientsAreMultiplesOfPowersOfHalf) {
    constexpr float part = 1 / 16.f;
    for (const Transform &transform : transforms)
        for (const Matrix &matrix : {transform.input, transform.weight, transform.output})
            for (const auto &row : matrix)
                for (float coefficient : row) EXPECT_EQ(coefficient / part, std::trunc(coefficient / part));
}

}  // namespace
}  // namespace conv_transpose::winograd
