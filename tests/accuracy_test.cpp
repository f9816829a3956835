// Real data against float64, with the bound that each precision promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

/// Bound of |result - exact| / sum of |products|, for `terms` products a sum.
double relative_bound(Precision precision, int64_t terms) {
    const double summation = std::ldexp(double(terms + 2), -24);
    switch (precision) {
        case Precision::float32: return summation;
        // Operands keep 10 bits of mantissa, truncated at worst; tensor cores truncate when they add.
        case Precision::tf32: return std::ldexp(1.0, -9) + 2 * summation;
        // What is left of a product after the operands' second halves is below 2^-20 of it; three sums are made.
        case Precision::tf32x3: return std::ldexp(1.0, -19) + 6 * summation;
    }
    return 0;
}

std::vector<float> magnitudes(std::vector<float> values) {
    for (float &v : values) v = std::fabs(v);
    return values;
}

Precision precision_of(std::string_view kernel) {
    const auto all = kernels();
    return std::find_if(all.begin(), all.end(), [&](const KernelInfo &k) { return k.name == kernel; })->precision;
}

class Accuracy : public DeviceTest {
  protected:
    void expect_within_bounds(const Problem &problem, PlanOptions with, RandomProblems &random) {
        const auto input = random.reals(problem.input_elements()), weight = random.reals(problem.weight_elements());
        const auto bias = random.reals(problem.out_channels);
        const auto exact = forward(problem, input, weight, bias);
        const auto size = forward(problem, magnitudes(input), magnitudes(weight), magnitudes(bias));
        const int64_t terms = problem.in_channels / problem.groups * problem.height().kernel * problem.width().kernel;
        with.epilogue.bias = true;
        for (std::string_view kernel : kernels_for(problem, with)) {
            with.kernel = kernel;
            const Trace trace(problem.str() + " by " + std::string(kernel));
            const double bound = relative_bound(precision_of(kernel), terms);
            const auto actual = run_forward(Plan(problem, with), input, weight, bias);
            for (size_t i = 0; i < actual.size(); i++)
                ASSERT_LE(std::fabs(actual[i] - exact[i]), bound * size[i])
                    << "element " << i << ", exact " << exact[i];
        }
    }
};

TEST_P(Accuracy, RandomProblems) {
    RandomProblems random(21);
    PlanOptions with = options();
    for (int i = 0; i < 200 && !HasFatalFailure(); i++) {
        with.precision = i % 2 ? Precision::tf32 : Precision::tf32x3;
        expect_within_bounds(random.next(), with, random);
    }
}

// Long sums, where a poor order of summation would show.
TEST_P(Accuracy, ManyChannels) {
    RandomProblems random(22);
    PlanOptions with = options();
    for (Precision precision : {Precision::tf32, Precision::tf32x3})
        for (const char *text : {"n1ic512oc16ih5iw7kh4kw4sh2sw2ph1pw1", "n1ic256oc32ih5iw20kh3kw3",
                                 "n1ic256oc32ih9iw30kh3kw3", "n1ic256oc32ih11iw30kh3kw7",
                                 "n1ic1024oc8ih5iw8kh1kw1"}) {
            with.precision = precision;
            expect_within_bounds(Problem::parse(text), with, random);
            if (HasFatalFailure()) return;
        }
}

// A sum over all positions of all images; positions outside of the output add nothing to it.
TEST_P(Accuracy, WeightGradients) {
    RandomProblems random(23);
    PlanOptions with = options();
    with.operation = Operation::weight_gradient;
    for (const char *text : {"n5ic40oc36ih9iw11kh3kw2sh2sw3dh2ph1pw1", "n1ic64oc64ih20iw33kh3kw3",
                             "n3ic64oc32ih9iw17kh2kw2sh2sw2"}) {
        const Problem problem = Problem::parse(text);
        const auto input = random.reals(problem.input_elements()), weight = random.reals(problem.weight_elements());
        const auto output_gradient = random.reals(problem.output_elements());
        const auto exact = weight_gradient(problem, input, output_gradient);
        const auto size = weight_gradient(problem, magnitudes(input), magnitudes(output_gradient));
        const int64_t terms = problem.batch * problem.height().input * problem.width().input;
        for (Precision precision : {Precision::tf32, Precision::tf32x3}) {
            with.precision = precision;
            with.kernel = {};
            for (std::string_view kernel : kernels_for(problem, with)) {
                with.kernel = kernel;
                const Trace trace(problem.str() + " by " + std::string(kernel));
                const double bound = relative_bound(precision_of(kernel), terms);
                const auto actual = run_gradient(Plan(problem, with), input, weight, output_gradient);
                for (size_t i = 0; i < actual.size(); i++)
                    ASSERT_LE(std::fabs(actual[i] - exact[i]), bound * size[i])
                        << "element " << i << ", exact " << exact[i];
            }
        }
    }
}

INSTANTIATE_ON_DEVICES(Accuracy);

}  // namespace
}  // namespace conv_transpose::testing
