// The choice by measurement (fastest_kernel.h).
#include "conv_transpose/fastest_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

using FastestKernel = DeviceTest;

std::vector<float> integers(int64_t count, unsigned seed) { return RandomProblems(seed).integers(count); }

TEST_P(FastestKernel, AcceptsTheProblemAndLeavesAResult) {
    const Problem problem = Problem::parse("n2ic24oc9ih11iw14kh4kw4sh2sw2ph1pw1");
    const auto input = integers(problem.input_elements(), 1), weight = integers(problem.weight_elements(), 2);
    const Plan plan(problem, options());
    ForwardCall call(plan, input, weight);
    const std::string fastest = fastest_kernel(problem, options(), call.arguments);
    const auto names = kernels_for(problem, options());
    EXPECT_NE(std::find(names.begin(), names.end(), fastest), names.end()) << fastest;
    const auto expected = forward(problem, input, weight, {});
    EXPECT_EQ(call.output(), std::vector<float>(expected.begin(), expected.end()));
}

// What takes any tensors is many times slower here than others.
TEST_P(FastestKernel, IsNoLastResortWhereThereIsMuchToCompute) {
    const Problem problem = Problem::parse("n1ic64oc64ih48iw48kh3kw3ph1pw1");
    const Plan plan(problem, options());
    ForwardCall call(plan, integers(problem.input_elements(), 1), integers(problem.weight_elements(), 2));
    MeasurementRules rules;
    rules.candidates = 100, rules.milliseconds = 1;
    PlanOptions fastest = options();
    for (const bool packed : {false, true}) {
        rules.packed_weights = packed;
        fastest.kernel = fastest_kernel(problem, options(), call.arguments, {}, rules);
        EXPECT_FALSE(Plan(problem, fastest).is_last_resort()) << fastest.kernel;
    }
}

TEST_P(FastestKernel, OfOneCandidateIsThePlansOwn) {
    const Problem problem = Problem::parse("n1ic16oc8ih9iw9kh3kw3sh2sw2");
    const Plan plan(problem, options());
    ForwardCall call(plan, integers(problem.input_elements(), 1), integers(problem.weight_elements(), 2));
    MeasurementRules rules;
    rules.candidates = 1;
    EXPECT_EQ(fastest_kernel(problem, options(), call.arguments, {}, rules), plan.kernel());
}

TEST_P(FastestKernel, OfNoImagesIsThePlansOwn) {
    const Problem problem = Problem::parse("n0ic16oc8ih9iw9kh3kw3");
    PlanOptions asked = options();  // for another one, which is forgotten
    asked.kernel = kernels_for(problem, options()).back();
    const auto own = Plan(problem, options()).kernel();
    EXPECT_NE(asked.kernel, own);
    EXPECT_EQ(fastest_kernel(problem, asked, {}), own);
}

TEST_P(FastestKernel, TellsMistakes) {
    const Problem problem = Problem::parse("n1ic16oc8ih9iw9kh3kw3");
    const auto refusal = [&](const MeasurementRules &rules) -> std::string {
        try {
            return fastest_kernel(problem, options(), {}, {}, rules);
        } catch (const std::exception &error) {
            return error.what();
        }
    };
    MeasurementRules rules;
    EXPECT_EQ(refusal(rules), "input is null, but the operation needs it");
    rules.candidates = 0;
    EXPECT_EQ(refusal(rules), "candidates is 0, but it must be at least 1");
    rules = {};
    rules.milliseconds = 0;
    EXPECT_NE(refusal(rules).find("milliseconds is 0"), std::string::npos);
    PlanOptions wrong = options();
    wrong.precision = Precision(9);
    EXPECT_THROW(fastest_kernel(problem, wrong, {}), InvalidProblem);
}

INSTANTIATE_ON_DEVICES(FastestKernel);

}  // namespace
}  // namespace conv_transpose::testing
