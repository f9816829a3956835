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
        const Trace trace(p.str());
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto output_gradient = random.integers(p.output_elements());
        const Gradients expected = gradients(p, input, weight, output_gradient);
        const auto run = [&](Operation operation, const std::vector<double> &result) {
            PlanOptions wanted = options();
            wanted.operation = operation;
            const auto all = for_every_kernel(p, wanted);
            EXPECT_FALSE(all.empty());
            for (const PlanOptions &forced : all) {
                const Trace trace(forced.kernel);
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

// What a flat matrix product must get right (algorithm/flat_gemm.h): gaps that rows, planes and images share, data that no tap
// sees, phases without taps, rows of less and of more than a vector, segments of long rows, panels that are not full, rows
// that are computed as one (with_long_rows()), products of sizes beyond an int, which Halide's bounds must not have.
TEST_P(Rank, OfThreeAxesForwardAndInputGradient) {
    const char *problems[] = {
        "n2ic3oc5id4ih6iw7kd2kh3kw4sd2sh2sw1", "n1ic1oc1id1ih1iw1kd3kh3kw3", "n3ic7oc11id2ih3iw2kd1kh2kw2sd1sh2sw2",
        "n1g2ic6oc10id3ih2iw5kd3kh3kw3sd2sh2sw2pd1ph1pw1opd1oph1opw1", "n2ic5oc9id3ih3iw3kd1kh1kw1sd2sh3sw2",
        "n2ic4oc17id2ih5iw4kd3kh2kw5sd2sh3sw4pd2ph1pw3dd2dh3dw1", "n1g4ic4oc4id5ih4iw6kd5kh5kw5sd2sh2sw2pd2ph2pw2",
        "n2ic13oc3id1ih2iw300kd1kh3kw3sw2ph1pw1", "n1ic2oc2iw1700kw7sw3pw5dw2", "n5ic3oc19iw1kw9sw4", "n0ic3oc5id4ih6iw7kd2kh3kw4",
        "n2ic5oc9id3ih4iw5kd1kh1kw1", "n2g2ic6oc10id2ih5iw7kd1kh3kw1ph1dh2", "n1ic3oc5id4ih3iw5kd3kh1kw1pd2dd3",
        "n2ic9oc6iw11kw3sw7pw1opw2", "n2ic3oc5id6ih7iw8kd2kh2kw2pd3ph4pw2dd6dh8dw4", "n1ic33oc150id2ih2iw2kd2kh2kw2sd2sh2sw2",
        "n1ic2oc2ih40000iw2kh2kw2sh2sw2"};
    for (const char *text : problems) {
        const Problem p = Problem::parse(text);
        const Trace trace(text);
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto output_gradient = random.integers(p.output_elements());
        for (Operation operation : {Operation::forward, Operation::input_gradient}) {
            PlanOptions wanted = options();
            wanted.operation = operation;
            const bool is_forward = operation == Operation::forward;
            for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
                const Trace trace(forced.kernel);
                const Plan plan(p, forced);
                expect_equal(is_forward ? run_forward(plan, input, weight, {}) : run_gradient(plan, input, weight, output_gradient),
                             is_forward ? forward(p, input, weight, {}) : input_gradient(p, weight, output_gradient));
            }
        }
    }
}

TEST_P(Rank, OfThreeAxesAtRandom) {
    const int count = std::min(random_problem_count(GetParam()), 60);
    for (int i = 0; i < count && !HasFailure(); i++) {
        const Problem p = random.next_of_rank(3);
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto output_gradient = random.integers(p.output_elements());
        const Trace trace(p.str());
        PlanOptions wanted = options();
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            const Trace trace(forced.kernel);
            expect_equal(run_forward(Plan(p, forced), input, weight, {}), forward(p, input, weight, {}));
        }
        wanted.operation = Operation::input_gradient;
        const auto expected = input_gradient(p, weight, output_gradient);
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            const Trace trace(forced.kernel);
            expect_equal(run_gradient(Plan(p, forced), input, weight, output_gradient), expected);
        }
    }
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
