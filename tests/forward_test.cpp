// The forward operation against the scatter oracle. Integer data makes every sum exact, so results must be equal.
#include <gtest/gtest.h>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Forward : public DeviceTest {};

void expect_exact(const Problem &problem, const PlanOptions &options, RandomProblems &random) {
    const auto input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
    const auto bias = options.epilogue.bias ? random.integers(problem.out_channels) : std::vector<float>();
    const Plan plan(problem, options);
    SCOPED_TRACE(problem.str() + " by " + std::string(plan.kernel()));
    expect_equal(run_forward(plan, input, weight, bias), forward(problem, input, weight, bias));
}

// Every random problem goes through every kernel that accepts it, not only through the one a plan would choose.
TEST_P(Forward, RandomProblemsOnEveryKernelThatAcceptsThem) {
    RandomProblems random(1);
    for (int i = 0; i < random_problem_count(GetParam()) && !HasFatalFailure(); i++) {
        const Problem problem = random.next();
        PlanOptions options;
        options.device = GetParam();
        options.precision = Precision::tf32;
        options.epilogue.bias = random.one_in(2);
        for (std::string_view kernel : kernels_for(problem, options)) {
            options.kernel = kernel;
            expect_exact(problem, options, random);
        }
    }
}

INSTANTIATE_ON_DEVICES(Forward);

}  // namespace
}  // namespace conv_transpose::testing
