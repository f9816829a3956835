// Problem: which are rejected, and with which field named; unusual valid ones; problem strings.
#include <gtest/gtest.h>

#include "random_problems.h"

namespace conv_transpose::testing {
namespace {

/// A valid problem for the tests to spoil: 8 to 4 channels in 2 groups, 5 x 6 to 9 x 12, k3 s2.
Problem valid_problem() { return Problem::parse("n2g2ic8oc4ih5iw6kh3kw4sh2sw2ph1pw1"); }

struct Rejected {
    const char *name;
    void (*spoil)(Problem &);
    const char *field;
    /// What the message must mention beside the field: the value and the rule.
    const char *value, *rule;
};

void PrintTo(const Rejected &rejected, std::ostream *out) { *out << rejected.name; }

class RejectedProblem : public ::testing::TestWithParam<Rejected> {};

TEST_P(RejectedProblem, NamesFieldValueAndRule) {
    Problem problem = valid_problem();
    ASSERT_NO_THROW(problem.validate());
    GetParam().spoil(problem);
    try {
        problem.validate();
        FAIL() << problem.str() << " was accepted";
    } catch (const InvalidProblem &error) {
        const std::string message = error.what();
        EXPECT_EQ(error.field(), GetParam().field);
        EXPECT_NE(message.find(std::string(GetParam().field) + " is " + GetParam().value), std::string::npos)
            << message;
        EXPECT_NE(message.find(GetParam().rule), std::string::npos) << message;
    }
    // Planning rejects what validate() does.
    EXPECT_THROW(Plan{problem}, InvalidProblem);
}

// PyTorch's conditions, in the order in which user documentation lists them.
INSTANTIATE_TEST_SUITE_P(
    , RejectedProblem,
    ::testing::Values(
        Rejected{"OutputPaddingHeight", [](Problem &p) { p.height().output_padding = 2; }, "output_padding.height", "2",
                 "smaller than either stride or dilation, which are 2 and 1"},
        Rejected{"OutputPaddingWidth", [](Problem &p) { p.width().output_padding = 7; }, "output_padding.width", "7",
                 "smaller than either stride or dilation"},
        Rejected{"OutputPaddingEqualToDilation",
                 [](Problem &p) { p.height().dilation = 3, p.height().output_padding = 3; }, "output_padding.height", "3",
                 "smaller than either stride or dilation, which are 2 and 3"},
        Rejected{"NegativePadding", [](Problem &p) { p.width().padding = -1; }, "padding.width", "-1", "at least 0"},
        Rejected{"NegativeOutputPadding", [](Problem &p) { p.height().output_padding = -1; }, "output_padding.height",
                 "-1", "at least 0"},
        Rejected{"StrideZero", [](Problem &p) { p.height().stride = 0; }, "stride.height", "0", "at least 1"},
        Rejected{"StrideNegative", [](Problem &p) { p.width().stride = -2; }, "stride.width", "-2", "at least 1"},
        Rejected{"DilationZero", [](Problem &p) { p.width().dilation = 0; }, "dilation.width", "0", "at least 1"},
        Rejected{"DilationNegative", [](Problem &p) { p.height().dilation = -1; }, "dilation.height", "-1", "at least 1"},
        Rejected{"GroupsZero", [](Problem &p) { p.groups = 0; }, "groups", "0", "at least 1"},
        Rejected{"GroupsNegative", [](Problem &p) { p.groups = -2; }, "groups", "-2", "at least 1"},
        Rejected{"InChannelsNotDivisible", [](Problem &p) { p.in_channels = 7; }, "in_channels", "7",
                 "divisible by groups, which is 2"},
        Rejected{"OutChannelsNotDivisible", [](Problem &p) { p.out_channels = 3; }, "out_channels", "3",
                 "divisible by groups, which is 2"},
        Rejected{"MoreGroupsThanChannels", [](Problem &p) { p.groups = 16; }, "in_channels", "8",
                 "divisible by groups, which is 16"},
        Rejected{"NoInChannels", [](Problem &p) { p.in_channels = 0; }, "in_channels", "0", "at least 1"},
        Rejected{"NoOutChannels", [](Problem &p) { p.out_channels = 0; }, "out_channels", "0", "at least 1"},
        Rejected{"KernelZero", [](Problem &p) { p.width().kernel = 0; }, "kernel.width", "0", "at least 1"},
        Rejected{"EmptyInput", [](Problem &p) { p.height().input = 0; }, "input.height", "0", "at least 1"},
        Rejected{"NegativeBatch", [](Problem &p) { p.batch = -1; }, "batch", "-1", "at least 0"},
        Rejected{"OutputTooSmall", [](Problem &p) { p.height().padding = 6; }, "padding.height", "6", "at most 5"},
        // Beyond PyTorch's: what 32-bit positions and 64-bit counts cannot hold.
        Rejected{"StrideBeyondPositions", [](Problem &p) { p.width().stride = int64_t{1} << 31; }, "stride.width",
                 "2147483648", "at most 1073741824"},
        Rejected{"ReachBeyondPositions", [](Problem &p) { p.width().stride = 1 << 29; }, "input.width", "6",
                 "that must be at most 1073741824"},
        Rejected{"ChannelsBeyondPositions", [](Problem &p) { p.in_channels = int64_t{1} << 40; }, "in_channels",
                 "1099511627776", "at most 1073741824"},
        Rejected{"RankZero", [](Problem &p) { p.rank = 0; }, "rank", "0", "1, 2 or 3"},
        Rejected{"RankFour", [](Problem &p) { p.rank = 4; }, "rank", "4", "1, 2 or 3"},
        Rejected{"AxisThatTheRankLeavesOut", [](Problem &p) { p.rank = 1; }, "input.height", "5", "must be left 1"},
        Rejected{"DepthOfAPlane", [](Problem &p) { p.depth().stride = 2; }, "stride.depth", "2", "must be left 1"},
        Rejected{"DepthStride", [](Problem &p) { p.rank = 3, p.depth().stride = 0; }, "stride.depth", "0", "at least 1"},
        Rejected{"DepthPadding", [](Problem &p) { p.rank = 3, p.depth().padding = 1; }, "padding.depth", "1", "at most 0"},
        Rejected{"DepthOutputPadding", [](Problem &p) { p.rank = 3, p.depth().output_padding = 1; },
                 "output_padding.depth", "1", "smaller than either stride or dilation"},
        Rejected{"PicturesBeyondCounts",
                 [](Problem &p) { p.rank = 3, p.depth().input = p.height().input = p.width().input = 1 << 28; },
                 "input.width", "268435456", "2^60"},
        Rejected{"CountsBeyond64Bits", [](Problem &p) { p.batch = int64_t{1} << 60; }, "batch", "1152921504606846976",
                 "at most"}),
    [](const auto &info) { return info.param.name; });

TEST(Problem, UnusualButValid) {
    for (const char *text : {
             "n2g2ic4oc8ih4iw4kh4kw5sh3sw2ph1pw2oph2opw3dh4dw4",  // output_padding >= stride: PyTorch's own sample
             "n1ic1oc1ih9iw9kh3kw3ph4pw4",                        // padding > kernel
             "n0ic3oc5ih4iw4kh3kw3",                              // batch 0
             "n1ic3oc5ih7iw1kh1kw1",                              // 1x1 kernel, one column
             "n1ic1oc1ih1iw1kh1kw1",                              // one element
             "n1g7ic7oc14ih3iw3kh2kw2sh5sw5",                     // stride > kernel: outputs that no input reaches
         }) {
        const Problem problem = Problem::parse(text);
        EXPECT_NO_THROW(problem.validate()) << text;
        EXPECT_GE(problem.height().output(), 1) << text;
        EXPECT_GE(problem.width().output(), 1) << text;
    }
}

TEST(Problem, OutputSize) {
    const auto output = [](const char *text) {
        const Problem p = Problem::parse(text);
        return std::vector{p.depth().output(), p.height().output(), p.width().output()};
    };
    using Sizes = std::vector<int64_t>;
    EXPECT_EQ(output("n16ic32oc64g4ih128iw256kh3kw5sh2sw3ph1pw2dh2dw1"), (Sizes{1, 257, 766}));
    EXPECT_EQ(output("n16ic32oc64ih64iw128kh3kw3sh5sw5ph1pw1dh2dw2"), (Sizes{1, 318, 638}));
    EXPECT_EQ(output("n2g2ic4oc8ih4iw4kh4kw5sh3sw2ph1pw2oph2opw3dh4dw4"), (Sizes{1, 22, 22}));
    EXPECT_EQ(output("n1ic56oc1ih256iw256kh9kw9sh3sw3ph4pw4oph2opw2"), (Sizes{1, 768, 768}));
    EXPECT_EQ(output("n1ic256oc128iw86kw16sw8pw4"), (Sizes{1, 1, 688}));
    EXPECT_EQ(output("n3ic64oc32id20ih128iw112kd1kh2kw2sh2sw2"), (Sizes{20, 256, 224}));
    EXPECT_EQ(output("ic2oc2id5ih4iw3kd3kh4kw5sd2sh3sw4pd1ph2pw0dd2dh1dw3opd1oph2opw3"), (Sizes{12, 11, 24}));
}

TEST(Problem, CountsAre64Bit) {
    const Problem problem = Problem::parse("n64ic64oc128ih1024iw1024kh3kw3ph1pw1");
    EXPECT_EQ(problem.input_elements(), int64_t{1} << 32);
    EXPECT_EQ(problem.output_elements(), int64_t{1} << 33);
    EXPECT_EQ(problem.weight_elements(), 64 * 128 * 9);
}

TEST(ProblemString, HasEveryField) {
    Problem problem = valid_problem();
    problem.width().output_padding = 1;
    EXPECT_EQ(problem.str(), "n2g2ic8oc4ih5iw6kh3kw4sh2sw2ph1pw1dh1dw1oph0opw1");
}

// The axes that a string names are those of its rank; all of one attribute stand together, as benchdnn writes them.
TEST(ProblemString, HasTheAxesOfItsRank) {
    EXPECT_EQ(Problem::parse("ic3oc4iw100kw16sw8pw4").str(), "n1g1ic3oc4iw100kw16sw8pw4dw1opw0");
    EXPECT_EQ(Problem::parse("ic3oc4iw100kh2").rank, 2);
    const Problem volume = Problem::parse("ic3oc4ih5iw6kd3kh3kw3");
    EXPECT_EQ(volume.rank, 3);
    EXPECT_EQ(volume.str(), "n1g1ic3oc4id0ih5iw6kd3kh3kw3sd1sh1sw1pd0ph0pw0dd1dh1dw1opd0oph0opw0");
    EXPECT_EQ(Problem::parse(volume.str()).str(), volume.str());
}

TEST(ProblemString, RoundTrip) {
    RandomProblems random(7);
    for (int i = 0; i < 200; i++) {
        const std::string text = random.next().str();
        EXPECT_EQ(Problem::parse(text).str(), text);
    }
}

TEST(ProblemString, FieldsMayComeInAnyOrderAndBeLeftOut) {
    EXPECT_EQ(Problem::parse("kw4iw6ih5kh3oc4ic8").str(), "n1g1ic8oc4ih5iw6kh3kw4sh1sw1ph0pw0dh1dw1oph0opw0");
    EXPECT_EQ(Problem::parse("ic3iw2").str(), "n1g1ic3oc0iw2kw0sw1pw0dw1opw0");
    EXPECT_THROW(Problem::parse("ic3oc3ih4kh3kw3").validate(), InvalidProblem);  // no width
}

TEST(ProblemString, NumbersMayBeNegativeAndAreRejectedLater) {
    const Problem problem = Problem::parse("n1ic3oc3ih4iw4kh3kw3ph-1");
    EXPECT_EQ(problem.height().padding, -1);
    EXPECT_THROW(problem.validate(), InvalidProblem);
}

TEST(ProblemString, MalformedOnesShowWhere) {
    for (const auto &[text, where] : {std::pair{"n", "n"},
                                      {"n1q2", "q2"},
                                      {"n1ic", "ic"},
                                      {"12", "12"},
                                      {"n1,ic3", ",ic3"},
                                      {"N1", "N1"},
                                      {"n 1", "n 1"},
                                      {"n1.5", ".5"},
                                      {"n1ic3n2", "n2"},
                                      {"ic99999999999999999999", "ic99999999999999999999"},
                                      {"n1 ", " "}}) {
        try {
            Problem::parse(text);
            ADD_FAILURE() << "'" << text << "' was accepted";
        } catch (const InvalidProblem &error) {
            EXPECT_EQ(error.field(), "problem string");
            EXPECT_NE(std::string(error.what()).find("malformed at '" + std::string(where) + "'"), std::string::npos)
                << error.what();
        }
    }
}

}  // namespace
}  // namespace conv_transpose::testing
