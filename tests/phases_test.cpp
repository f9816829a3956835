// Phases as channels of a matrix product: of the output, where a kernel computes them so, and of the output gradient, which
// is packed by phases. Strides that do not divide the kernel, paddings that are no whole strides, any rank.
#include <gtest/gtest.h>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

/// Few output channels, most often, and axes of which one that has a stride has no dilation.
Problem draw(RandomProblems &random) {
    for (;;) {
        Problem p;
        p.batch = random.between(1, 3), p.groups = random.one_in(4) ? 2 : 1;
        p.in_channels = p.groups * (random.one_in(3) ? 32 * random.between(1, 2) : random.between(8, 50));
        p.out_channels = p.groups * (random.one_in(4) ? random.between(16, 40) : random.between(1, 9));
        p.rank = random.one_in(4) ? 3 : 2;
        for (int d = p.rank == 3 ? 0 : 1; d < 3; d++) {
            Axis &a = p.axes[d];
            a.stride = random.one_in(4) ? random.between(5, 9) : random.between(1, 4);
            a.dilation = a.stride == 1 ? random.between(1, 3) : 1;
            a.kernel = random.between(1, d == 0 ? 3 : 9);
            a.input = random.between(1, d == 0 ? 3 : random.one_in(3) ? 30 : 8);
            a.padding = random.between(0, 6), a.output_padding = random.between(0, a.stride - 1);
        }
        try {
            p.validate();
        } catch (const InvalidProblem &) {
            continue;
        }
        if (double(p.input_elements()) * p.weight_elements() / p.in_channels < 2e6 && p.output_elements() < 100000) return p;
    }
}

class Phases : public DeviceTest {};

TEST_P(Phases, AreChannelsOfForwardProducts) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "such kernels are for GPUs";
    RandomProblems random(11);
    int kernels = 0;
    for (int i = 0; i < 40 && !HasFailure(); i++) {
        const Problem p = draw(random);
        const auto x = random.integers(p.input_elements()), w = random.integers(p.weight_elements()),
                   b = random.integers(p.out_channels);
        PlanOptions wanted = options();
        wanted.epilogue.bias = random.one_in(2);
        const std::vector<double> expected = forward(p, x, w, wanted.epilogue.bias ? b : std::vector<float>());
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            if (forced.kernel.find("sub_pixel") == std::string::npos && forced.kernel.find("pairs") == std::string::npos) continue;
            const Trace trace(p.str() + " by " + forced.kernel);
            expect_equal(run_forward(Plan(p, forced), x, w, b), expected);
            kernels++;
        }
    }
    EXPECT_GT(kernels, 40);
}

TEST_P(Phases, AreChannelsOfInputGradients) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "such kernels are for GPUs";
    RandomProblems random(12);
    int kernels = 0;
    for (int i = 0; i < 40 && !HasFailure(); i++) {
        const Problem p = draw(random);
        const auto x = random.integers(p.input_elements()), w = random.integers(p.weight_elements()),
                   dy = random.integers(p.output_elements());
        PlanOptions wanted = options();
        wanted.operation = Operation::input_gradient;
        const std::vector<double> expected = input_gradient(p, w, dy);
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            if (forced.kernel.find("forward") == std::string::npos) continue;
            const Trace trace(p.str() + " by " + forced.kernel);
            expect_equal(run_gradient(Plan(p, forced), x, w, dy), expected);
            kernels++;
        }
    }
    EXPECT_GT(kernels, 20);
}

INSTANTIATE_ON_DEVICES(Phases);

}  // namespace
}  // namespace conv_transpose::testing
