// The forward operation against the scatter oracle. Integer data makes every sum exact, so results must be equal.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Forward : public DeviceTest {};

// By every kernel that accepts the problem, not only by the one that a plan would choose.
void expect_exact(const Problem &problem, Device device, RandomProblems &random) {
    PlanOptions options;
    options.device = device;
    options.epilogue.bias = random.one_in(2);
    const auto input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
    const auto bias = options.epilogue.bias ? random.integers(problem.out_channels) : std::vector<float>();
    const auto expected = forward(problem, input, weight, bias);
    for (const PlanOptions &forced : for_every_kernel(problem, options)) {
        const Trace trace(problem.str() + " by " + forced.kernel);
        expect_equal(run_forward(Plan(problem, forced), input, weight, bias), expected);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_P(Forward, RandomProblemsOnEveryKernelThatAcceptsThem) {
    RandomProblems random(1);
    for (int i = 0; i < random_problem_count(GetParam()) && !HasFatalFailure(); i++)
        expect_exact(random.next(), GetParam(), random);
}

TEST_P(Forward, RandomProblemsOfManyChannels) {
    RandomProblems random(4);
    for (int i = 0; i < std::max(random_problem_count(GetParam()) / 20, 1) && !HasFatalFailure(); i++)
        expect_exact(random.next_with_many_channels(), GetParam(), random);
}

// Random problems seldom have the attributes that exact and family kernels are for: these do.
TEST_P(Forward, AttributesOfExactAndFamilyKernels) {
    const char *attributes[] = {
        "ic64oc64kh3kw3", "ic64oc64kh3kw7", "ic64oc128kh3kw5", "ic32oc32kh3kw3", "ic32oc32kh3kw7",
        "g2ic16oc32kh3kw5sh2sw3ph1pw2dh2",
        "ic32oc64kh3kw3sh5sw5ph1pw1dh2dw2", "g5ic5oc5kh4kw4sh2sw2ph1pw1", "ic7oc70kh3kw3", "g2ic26oc18kh3kw3",
        "ic33oc37kh3kw3", "g2ic34oc66kh3kw3", "ic35oc41kh3kw7",
        "ic11oc65kh2kw2sh2sw2", "ic9oc5kh4kw4sh2sw2ph1pw1", "ic21oc130kh4kw4sh2sw2ph1pw1",
        "ic70oc32kh4kw4sh2sw2ph1pw1", "ic17oc3kh4kw4sh2sw2ph1pw1",
        "ic9oc40kh3kw3sh2sw2ph1pw1", "ic20oc3kh3kw3sh2sw2ph1pw1", "ic18oc2kh3kw3", "ic17oc4kh2kw2sh2sw2",
        "ic5oc1kh9kw9sh2sw2ph4pw4", "ic5oc1kh9kw9sh3sw3ph4pw4", "ic5oc1kh9kw9sh4sw4ph4pw4",
        "g3ic3oc3kh1kw11sh1sw3pw5", "g3ic3oc3kh24kw1sh4sw1ph10",
    };
    RandomProblems random(2);
    const int sizes = std::clamp(random_problem_count(GetParam()) / 200, 1, 40);
    for (const char *text : attributes)
        for (int i = 0; i < sizes && !HasFatalFailure(); i++)
            expect_exact(random.resized(Problem::parse(std::string("n1ih1iw1") + text)), GetParam(), random);
}

// So few outputs of so many channels that their sums are cut into parts.
TEST_P(Forward, ManyChannelsOfSmallPictures) {
    RandomProblems random(7);
    for (const char *text : {"n1ic256oc64ih4iw4kh4kw4sh2sw2ph1pw1", "n2ic128oc70ih2iw3kh3kw5",
                             "n3ic192oc33ih2iw3kh3kw3sh2sw2", "n1ic320oc20ih2iw2kh4kw3sh1sw3dh2",
                             "n2g2ic200oc6ih3iw4kh5kw4sh2sw3ph2pw1", "n2g3ic150oc18id2ih2iw3kd3kh3kw2sd2sh1sw2pd1ph1pw1"})
        for (int i = 0; i < 2 && !HasFatalFailure(); i++)  // with and without a bias
            expect_exact(Problem::parse(text), GetParam(), random);
}

// Products of all taps fill tiles, and are added afterwards: more than are added at once, outputs that see none or few, one axis to
// three.
TEST_P(Forward, FewChannelsOfManyTaps) {
    RandomProblems random(8);
    for (const char *text : {"n2ic24oc3ih9iw12kh7kw7sh2sw2ph2pw3oph1", "n3ic20oc2ih5iw7kh9kw9sh3sw3ph4pw4dh3dw2",
                             "ic17oc3iw50kw24sw6pw8", "n2ic70oc2id3ih4iw5kd3kh3kw3sh2sw3pd1ph1pw1dh2",
                             "n2ic33oc16ih4iw3kh2kw5sh4sw1pw2oph3"})
        for (int i = 0; i < 2 && !HasFatalFailure(); i++)  // with and without a bias
            expect_exact(Problem::parse(text), GetParam(), random);
}

// Each position of the output is one tap's.
TEST_P(Forward, PicturesOfOnePixel) {
    RandomProblems random(6);
    for (const char *text : {"n5ic12oc9ih1iw1kh4kw3", "n3g2ic40oc34ih1iw1kh2kw4sh2sw3", "n2ic5oc7ih1iw1kh3kw3ph1pw1",
                             "n2ic5oc7ih1iw1kh3kw3dh2", "n130ic33oc20ih1iw1kh4kw4"})
        for (int i = 0; i < 2 && !HasFatalFailure(); i++)  // with and without a bias
            expect_exact(Problem::parse(text), GetParam(), random);
}

// Kernels store vectors as wide as the address allows.
TEST_P(Forward, TensorsAtAnyAddress) {
    RandomProblems random(3);
    for (const char *text : {"n2ic5oc9ih9iw14kh3kw3", "n1g5ic5oc5ih6iw10kh4kw4sh2sw2ph1pw1",
                             "n1g2ic16oc32ih7iw11kh3kw5sh2sw3ph1pw2dh2", "n1g2ic16oc32ih7iw12kh3kw5sh2sw3ph1pw2dh2",
                             "n1ic3oc4ih5iw6kh2kw2sh2sw2"}) {
        const Problem problem = Problem::parse(text);
        PlanOptions wanted = options();
        wanted.epilogue.bias = true;
        const auto input = random.integers(problem.input_elements()),
                   weight = random.integers(problem.weight_elements());
        const auto bias = random.integers(problem.out_channels);
        const auto expected = forward(problem, input, weight, bias);
        for (std::string_view kernel : kernels_for(problem, wanted))
            for (size_t offset = 1; offset < 4; offset++) {
                const Trace trace(problem.str() + " by " + std::string(kernel) + ", " + std::to_string(offset) +
                                  " floats off");
                wanted.kernel = kernel;
                const Plan plan(problem, wanted);
                const auto place = [&](std::vector<float> values) {
                    values.insert(values.begin(), offset, 0.f);
                    return on_device(GetParam(), values);
                };
                const DeviceMemory in = place(input), w = place(weight), b = place(bias);
                const DeviceMemory out = place(std::vector<float>(expected.size(), std::nanf("")));
                const DeviceMemory workspace(GetParam(), plan.workspace_bytes());
                Arguments arguments;
                arguments.input = in.floats() + offset;
                arguments.weight = w.floats() + offset;
                arguments.bias = b.floats() + offset;
                arguments.output = out.floats() + offset;
                const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
                ASSERT_TRUE(status.ok()) << status.message();
                synchronize(GetParam());
                std::vector<float> actual = to_host(out);
                actual.erase(actual.begin(), actual.begin() + offset);
                expect_equal(actual, expected);
            }
    }
}

INSTANTIATE_ON_DEVICES(Forward);

}  // namespace
}  // namespace conv_transpose::testing
