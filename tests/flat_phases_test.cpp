// What products of all phases at once multiply, zeros for lanes without a tap among it.
#include <gtest/gtest.h>

#include "runtime/src/choice/flat_phases.h"

namespace conv_transpose::testing {
namespace {

double products(const char *problem, int64_t block_channels = 1) {
    KernelTraits four_lanes;
    four_lanes.phase_lanes = 4;
    return products_of_phases(four_lanes, Problem::parse(problem), block_channels);
}

TEST(FlatPhases, AllLanesSeeTheSameOfWholeStrides) {
    EXPECT_EQ(products("ic8oc1ih9iw9kh4kw4sh2sw2ph1pw1"), 16);
    EXPECT_EQ(products("ic8oc1iw9kw8sw4"), 8);
    EXPECT_EQ(products("ic8oc3iw9kw4sw4", 3), 12);
}

// Of nine taps at a stride of four, the first phase has three, the others two. A panel is a row of phases.
TEST(FlatPhases, LanesGoThroughWhatAnyOfThemSees) {
    EXPECT_EQ(products("ic8oc1ih9iw9kh9kw9sh4sw4"), 4 * (3 * 3 + 3 * (3 * 2)));
    EXPECT_EQ(products("ic8oc2iw9kw3sw2", 2), 4 * 2);
    EXPECT_EQ(products("ic8oc4iw9kw3sw2", 4), 4 * (2 + 1));
    EXPECT_EQ(products("ic8oc5iw9kw3sw2", 5), 4 * (2 + 2 + 1));  // lanes 4 to 7 are of both phases
}

TEST(FlatPhases, LanesBeyondTheLastAreMultipliedToo) { EXPECT_EQ(products("ic8oc1iw9kw3sw1"), 4 * 3); }

// Taps of a phase lie three inputs apart; and phases of one tap each see different inputs.
TEST(FlatPhases, DilationWidensWindows) {
    EXPECT_EQ(products("ic8oc1iw9kw3sw2dw3"), 4 * 4);
    EXPECT_EQ(products("ic8oc1iw9kw2sw2dw3"), 4 * 2);
}

TEST(FlatPhases, ManyPhasesAreNotCounted) { EXPECT_EQ(products("ic8oc1ih2iw2kh3kw3sh1000000sw1000000"), 9); }

}  // namespace
}  // namespace conv_transpose::testing
