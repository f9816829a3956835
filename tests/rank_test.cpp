// Problems of one and of three axes.
#include <gtest/gtest.h>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Rank : public DeviceTest {
  protected:
    RandomProblems random{12};

    // Every operation, by every kernel that accepts the problem.
    void expect_exact(const Problem &p) {
        SCOPED_TRACE(p.str());
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto output_gradient = random.integers(p.output_elements());
        const Gradients expected = gradients(p, input, weight, output_gradient);
        const auto run = [&](Operation operation, const std::vector<double> &result) {
            PlanOptions wanted = options();
            wanted.operation = operation;
            const auto all = for_every_kernel(p, wanted);
            EXPECT_FALSE(all.empty());
            for (const PlanOptions &forced : all) {
                SCOPED_TRACE(forced.kernel);
                const Plan plan(p, forced);
                expect_equal(operation == Operation::forward ? run_forward(plan, input, weight, {})
                                                             : run_gradient(plan, input, weight, output_gradient),
                             result);
            }
        };
        run(Operation::forward, forward(p, input, weight, {}));
        run(Operation::input_gradient, expected.input);
        run(Operation::weight_gradient, expected.weight);
        run(Operation::bias_gradient, expected.bias);
    }
};

TEST_P(Rank, OfOneAxisOnEveryKernel) {
    const int count = std::min(random_problem_count(GetParam()), 80);
    for (int i = 0; i < count && !HasFailure(); i++) expect_exact(random.next_of_rank(1));
}

// Layers of audio: strides as large as 8, many channels.
TEST_P(Rank, OfOneAxisInFamilies) {
    for (const char *text : {"n2ic32oc24iw20kw16sw8pw4", "n1ic33oc18iw31kw4sw2pw1", "n3g2ic8oc6iw9kw3sw1dw2opw1"})
        expect_exact(Problem::parse(text));
}

// A depth of one position is none, whatever its stride and dilation are.
TEST_P(Rank, OfThreeAxesWithoutDepth) {
    expect_exact(Problem::parse("n2ic3oc5id1ih6iw7kd1kh3kw4sd3sh2sw1pd0ph1pw2dd2"));
}

TEST_P(Rank, OfThreeAxesOnEveryKernel) {
    const int count = std::min(random_problem_count(GetParam()), 80);
    for (int i = 0; i < count && !HasFailure(); i++) expect_exact(random.next_of_rank(3));
}

INSTANTIATE_ON_DEVICES(Rank);

// Without channels, planes of a kernel without depth are images.
TEST(Oracle, OfThreeAxesHasPlanesAsImages) {
    RandomProblems random(13);
    const Problem volume = Problem::parse("n2ic1oc1id5ih6iw7kd1kh3kw4sd1sh2sw1pd0ph1pw2"),
                  planes = Problem::parse("n10ic1oc1ih6iw7kh3kw4sh2sw1ph1pw2");
    const auto input = random.integers(volume.input_elements()), weight = random.integers(volume.weight_elements());
    EXPECT_EQ(forward(volume, input, weight, {3}), forward(planes, input, weight, {3}));
}

// The axes are alike: what a kernel does along the depth, it does along the width of a transposed picture.
TEST(Oracle, TreatsAxesAlike) {
    RandomProblems random(14);
    const Problem deep = Problem::parse("ic2oc3id7ih1iw1kd4kh1kw1sd3sh1sw1pd2ph0pw0dd2dh1dw1opd1"),
                  wide = Problem::parse("ic2oc3iw7kw4sw3pw2dw2opw1");
    const auto input = random.integers(deep.input_elements()), weight = random.integers(deep.weight_elements());
    EXPECT_EQ(forward(deep, input, weight, {}), forward(wide, input, weight, {}));
}

}  // namespace
}  // namespace conv_transpose::testing
