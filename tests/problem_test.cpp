// Problem: which are rejected, and with which field named; unusual valid ones; problem strings.
#include <gtest/gtest.h>

#include "random_problems.h"

namespace conv_transpose {

void PrintTo(const Size2 &size, std::ostream *out) { *out << size.height << " x " << size.width; }

namespace testing {
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
        Rejected{"OutputPaddingHeight", [](Problem &p) { p.output_padding.height = 2; }, "output_padding.height", "2",
                 "smaller than either stride or dilation, which are 2 and 1"},
        Rejected{"OutputPaddingWidth", [](Problem &p) { p.output_padding.width = 7; }, "output_padding.width", "7",
                 "smaller than either stride or dilation"},
        Rejected{"OutputPaddingEqualToDilation",
                 [](Problem &p) { p.dilation.height = 3, p.output_padding.height = 3; }, "output_padding.height", "3",
                 "smaller than either stride or dilation, which are 2 and 3"},
        Rejected{"NegativePadding", [](Problem &p) { p.padding.width = -1; }, "padding.width", "-1", "at least 0"},
        Rejected{"NegativeOutputPadding", [](Problem &p) { p.output_padding.height = -1; }, "output_padding.height",
                 "-1", "at least 0"},
        Rejected{"StrideZero", [](Problem &p) { p.stride.height = 0; }, "stride.height", "0", "at least 1"},
        Rejected{"StrideNegative", [](Problem &p) { p.stride.width = -2; }, "stride.width", "-2", "at least 1"},
        Rejected{"DilationZero", [](Problem &p) { p.dilation.width = 0; }, "dilation.width", "0", "at least 1"},
        Rejected{"DilationNegative", [](Problem &p) { p.dilation.height = -1; }, "dilation.height", "-1", "at least 1"},
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
        Rejected{"KernelZero", [](Problem &p) { p.kernel.width = 0; }, "kernel.width", "0", "at least 1"},
        Rejected{"EmptyInput", [](Problem &p) { p.input.height = 0; }, "input.height", "0", "at least 1"},
        Rejected{"NegativeBatch", [](Problem &p) { p.batch = -1; }, "batch", "-1", "at least 0"},
        Rejected{"OutputTooSmall", [](Problem &p) { p.padding.height = 6; }, "padding.height", "6", "at most 5"},
        // Beyond PyTorch's: what 32-bit positions and 64-bit counts cannot hold.
        Rejected{"StrideBeyondPositions", [](Problem &p) { p.stride.width = int64_t{1} << 31; }, "stride.width",
                 "2147483648", "at most 1073741824"},
        Rejected{"ReachBeyondPositions", [](Problem &p) { p.stride.width = 1 << 29; }, "input.width", "6",
                 "that must be at most 1073741824"},
        Rejected{"ChannelsBeyondPositions", [](Problem &p) { p.in_channels = int64_t{1} << 40; }, "in_channels",
                 "1099511627776", "at most 1073741824"},
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
        EXPECT_GE(problem.output().height, 1) << text;
        EXPECT_GE(problem.output().width, 1) << text;
    }
}

TEST(Problem, OutputSize) {
    const auto output = [](const char *text) { return Problem::parse(text).output(); };
    EXPECT_EQ(output("n16ic32oc64g4ih128iw256kh3kw5sh2sw3ph1pw2dh2dw1"), (Size2{257, 766}));
    EXPECT_EQ(output("n16ic32oc64ih64iw128kh3kw3sh5sw5ph1pw1dh2dw2"), (Size2{318, 638}));
    EXPECT_EQ(output("n2g2ic4oc8ih4iw4kh4kw5sh3sw2ph1pw2oph2opw3dh4dw4"), (Size2{22, 22}));
    EXPECT_EQ(output("n1ic56oc1ih256iw256kh9kw9sh3sw3ph4pw4oph2opw2"), (Size2{768, 768}));
}

TEST(Problem, CountsAre64Bit) {
    const Problem problem = Problem::parse("n64ic64oc128ih1024iw1024kh3kw3ph1pw1");
    EXPECT_EQ(problem.input_elements(), int64_t{1} << 32);
    EXPECT_EQ(problem.output_elements(), int64_t{1} << 33);
    EXPECT_EQ(problem.weight_elements(), 64 * 128 * 9);
}

TEST(ProblemString, HasEveryField) {
    Problem problem = valid_problem();
    problem.output_padding = {0, 1};
    EXPECT_EQ(problem.str(), "n2g2ic8oc4ih5iw6kh3kw4sh2sw2ph1pw1dh1dw1oph0opw1");
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
    EXPECT_EQ(Problem::parse("").str(), Problem().str());
}

TEST(ProblemString, NumbersMayBeNegativeAndAreRejectedLater) {
    const Problem problem = Problem::parse("n1ic3oc3ih4iw4kh3kw3ph-1");
    EXPECT_EQ(problem.padding.height, -1);
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
}  // namespace testing
}  // namespace conv_transpose
