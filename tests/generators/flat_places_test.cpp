// How far taps of flat products see: what is staged is no larger, so a tap that saw further would read behind it.
#include "algorithm/flat_places.h"

#include <gtest/gtest.h>

#include <numeric>

#include "algorithm/gather.h"

namespace conv_transpose::flat_gemm {
namespace {

int value(const Expr &e) {
    const auto constant = Halide::Internal::as_const_int(Halide::Internal::simplify(e));
    if (!constant) throw std::runtime_error("not a constant");
    return static_cast<int>(*constant);
}

int inverse(int a, int m) {
    for (int i = 0; i < m; i++)
        if (a * i % m == 1 % m) return i;
    throw std::runtime_error("no inverse");
}

struct Case {
    int kernel, stride, dilation, padding_phase, outputs;
    std::string str() const {
        return "kernel " + std::to_string(kernel) + ", stride " + std::to_string(stride) + ", dilation " +
               std::to_string(dilation) + ", padding phase " + std::to_string(padding_phase) + ", outputs " +
               std::to_string(outputs);
    }
};

/// Whole cells count as if there were no padding.
void expect_taps_within_reach(const Case &c, bool apart, bool whole_cells) {
    const int g = std::gcd(c.stride, c.dilation), round = c.stride / g;
    const AxisArguments arguments{c.kernel, c.stride, c.dilation, c.padding_phase, g, inverse(c.dilation / g % round, round)};
    AxisArguments of_cells = arguments;
    if (whole_cells) of_cells.padding_phase = 0;
    const GatherAxis gather = GatherAxis::run_time(of_cells);
    const Expr leaves_out = apart ? Halide::Internal::const_true() : Halide::Internal::const_false();
    const FlatAxis axis = (whole_cells ? whole_cells_axis : forward_axis)(arguments, 0, 7, c.outputs, leaves_out);
    const int low = value(axis.low), high = value(axis.high);
    for (int n = 0; n < value(axis.live_phases); n++) {
        const GatherAxis::Phase phase = gather.run_time_phase(value(axis.phase(n)));
        for (int tap = 0; tap < value(phase.taps); tap++) {
            const int seen = value(phase.shift - tap * gather.input_step());
            EXPECT_GE(seen, low) << c.str() << ", phase " << n << ", tap " << tap;
            EXPECT_LE(seen, high) << c.str() << ", phase " << n << ", tap " << tap;
        }
    }
}

// Phases without taps are left out or not; of few outputs some phases have no result, but are summed; and all phases of whole cells
// see from the same input on.
TEST(FlatPlaces, TapsOfPhasesThatAreSummedSeeNoFurtherThanAnAxisSays) {
    for (int kernel : {1, 2, 3, 5})
        for (int stride : {1, 2, 3, 4, 6})
            for (int dilation : {1, 2, 3})
                for (int padding_phase = 0; padding_phase < stride; padding_phase++)
                    for (int outputs : {1, 2, 5, 20})
                        for (bool apart : {false, true})
                            for (bool whole_cells : {false, true}) {
                                expect_taps_within_reach({kernel, stride, dilation, padding_phase, outputs}, apart, whole_cells);
                                if (HasFailure()) return;
                            }
}

}  // namespace
}  // namespace conv_transpose::flat_gemm
