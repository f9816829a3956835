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

std::vector<Transform> all_transforms() {
    std::vector<Transform> all{of_taps(1), of_taps(2), of_taps(3)};
    for (int taps = 2; taps <= 5; taps++)
        for (int beside : {1, 6, 8}) all.push_back(of_points(6, beside, taps));
    for (int taps = 2; taps <= 7; taps++) all.push_back(of_points(8, 6, taps));
    return all;
}
const std::vector<Transform> transforms = all_transforms();

Expr unit(int one, int i) { return Expr(i == one ? 1.f : 0.f); }

/// Both sides are bilinear, so they agree everywhere if they agree on unit vectors.
TEST(Winograd, IsTheCorrelationOfEveryInputWithEveryTap) {
    for (const Transform &transform : transforms)
        for (int input = 0; input < transform.points(); input++)
            for (int tap = 0; tap < transform.taps(); tap++)
                for (int output = 0; output < transform.outputs(); output++) {
                    const Expr sum = transformed(transform.output, output, [&](int point) {
                        return transformed(transform.input, point, [&](int i) { return unit(input, i); }) *
                               transformed(transform.weight, point, [&](int i) { return unit(tap, i); });
                    });
                    EXPECT_EQ(value(sum), output + tap == input ? transform.divisor : 0.f)
                        << "F(" << transform.outputs() << ", " << transform.taps() << "), input " << input << ", tap "
                        << tap << ", output " << output;
                }
}

/// Kernels have the matrices of most taps, or of most outputs.
TEST(Winograd, AnyNumberOfTapsIsThatOfMost) {
    for (const auto &[points, beside] : {std::pair{1, 6}, {6, 1}, {6, 6}, {6, 8}, {8, 6}})
        for (int taps = points > 1 ? 2 : 1; taps <= most_taps(points); taps++) {
            const Transform exact = of_points(points, beside, taps), of_most_taps = of_points(points, beside, most_taps(points)),
                            of_most_outputs = of_points(points, beside, points + 1 - most_taps(points));
            for (int i = 0; i < points; i++) {
                for (int tap = 0; tap < taps; tap++) {
                    const auto element = [&](int at) { return unit(tap, at); };
                    EXPECT_EQ(value(transformed_taps(of_most_taps, taps, i, element)),
                              value(transformed(exact.weight, i, element)));
                }
                for (int output = 0; output < exact.outputs(); output++) {
                    const auto element = [&](int at) { return unit(i, at); };
                    EXPECT_EQ(value(transformed_outputs(of_most_outputs, exact.outputs(), output, element)),
                              value(transformed(exact.output, output, element)));
                }
            }
        }
}

/// What makes integers exact: no coefficient needs rounding.
TEST(Winograd, CoefficientsAreMultiplesOfPowersOfHalf) {
    constexpr float part = 1 / 64.f;
    for (const Transform &transform : transforms)
        for (const Matrix &matrix : {transform.input, transform.weight, transform.output})
            for (const auto &row : matrix)
                for (float coefficient : row) EXPECT_EQ(coefficient / part, std::trunc(coefficient / part));
}

}  // namespace
}  // namespace conv_transpose::winograd
