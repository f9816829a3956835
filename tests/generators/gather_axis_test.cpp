// The map of one axis, with fixed and with run-time attributes, against the definition: output o of phase p takes input
// (o + padding - k * dilation) / stride for every kernel position k where that divides.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "algorithm/gather.h"

namespace conv_transpose {
namespace {

using Halide::Expr;

int value(const Expr &e) {
    const auto constant = Halide::Internal::as_const_int(Halide::Internal::simplify(e));
    if (!constant) throw std::runtime_error("not a constant");
    return static_cast<int>(*constant);
}

struct Attributes {
    int kernel, stride, dilation, padding_phase;
};

/// Kernel positions of a phase with the input that each takes, relative to the cell.
using Taps = std::map<int, int>;

Taps by_definition(const Attributes &a, int phase) {
    Taps taps;
    for (int k = 0; k < a.kernel; k++) {
        // A cell far enough from 0 that the division is of positive numbers.
        constexpr int cell = 1000;
        const int position = cell * a.stride + phase + a.padding_phase - k * a.dilation;
        if (position % a.stride == 0) taps[k] = position / a.stride - cell;
    }
    return taps;
}

Taps by_axis(const GatherAxis &axis, int phase) {
    Taps taps;
    for (int t = 0; t < value(axis.taps()); t++)
        if (value(Halide::cast<int>(axis.live(phase, t))))
            taps[value(axis.tap(phase, t))] = value(axis.input(0, phase, t));
    return taps;
}

int modular_inverse(int a, int m) {
    for (int i = 0; i < m; i++)
        if (a * i % m == 1 % m) return i;
    throw std::runtime_error("no inverse");
}

GatherAxis run_time_axis(const Attributes &a) {
    const int g = std::gcd(a.stride, a.dilation);
    return GatherAxis::run_time({a.kernel, a.stride, a.dilation, a.padding_phase, g,
                                 modular_inverse(a.dilation / g % (a.stride / g), a.stride / g)});
}

template <class Check>
void for_all_attributes(Check check) {
    for (int kernel : {1, 2, 3, 4, 5, 7, 9})
        for (int stride : {1, 2, 3, 4, 5, 6})
            for (int dilation : {1, 2, 3, 4, 6})
                for (int padding_phase = 0; padding_phase < stride; padding_phase++) {
                    SCOPED_TRACE("kernel " + std::to_string(kernel) + ", stride " + std::to_string(stride) +
                                 ", dilation " + std::to_string(dilation) + ", padding phase " +
                                 std::to_string(padding_phase));
                    check(Attributes{kernel, stride, dilation, padding_phase});
                    if (::testing::Test::HasFailure()) return;
                }
}

TEST(GatherAxis, FixedAttributesGiveTheTapsOfTheDefinition) {
    for_all_attributes([](const Attributes &a) {
        const auto axis = GatherAxis::fixed(a.kernel, a.stride, a.dilation, a.padding_phase);
        for (int phase = 0; phase < a.stride; phase++)
            EXPECT_EQ(by_axis(axis, phase), by_definition(a, phase)) << "phase " << phase;
    });
}

TEST(GatherAxis, RunTimeAttributesGiveTheTapsOfTheDefinition) {
    for_all_attributes([](const Attributes &a) {
        const auto axis = run_time_axis(a);
        for (int phase = 0; phase < a.stride; phase++)
            EXPECT_EQ(by_axis(axis, phase), by_definition(a, phase)) << "phase " << phase;
    });
}

// Schedules leave tests out where these say so.
TEST(GatherAxis, KnowsMissingTaps) {
    for_all_attributes([](const Attributes &a) {
        const auto axis = GatherAxis::fixed(a.kernel, a.stride, a.dilation, a.padding_phase);
        size_t most = 0, fewest = a.kernel;
        for (int phase = 0; phase < a.stride; phase++) {
            const size_t taps = by_definition(a, phase).size();
            most = std::max(most, taps), fewest = std::min(fewest, taps);
        }
        EXPECT_EQ(size_t(value(axis.taps())), most);
        EXPECT_EQ(axis.always_live(), fewest == most);
    });
}

// A tile of the input that is staged holds everything its outputs take, and not much more.
TEST(GatherAxis, ReachHoldsEveryInputOfTheCells) {
    for_all_attributes([](const Attributes &a) {
        const auto axis = GatherAxis::fixed(a.kernel, a.stride, a.dilation, a.padding_phase);
        int low = 1000, high = -1000;
        for (int phase = 0; phase < a.stride; phase++)
            for (const auto &[k, input] : by_definition(a, phase))
                low = std::min(low, input), high = std::max(high, input);
        for (int cells : {1, 2, 8}) {
            EXPECT_GE(axis.reach(cells), cells + high - low) << cells << " cells";
            // Taps that some phases lack may reach a little further.
            EXPECT_LE(axis.reach(cells), cells + high - low + (axis.always_live() ? 0 : a.dilation))
                << cells << " cells";
        }
    });
}

}  // namespace
}  // namespace conv_transpose
