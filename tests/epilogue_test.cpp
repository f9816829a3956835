// The epilogue: bias and activations on every kernel, and what becomes of NaN and infinity.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double activated(double sum, const Epilogue &epilogue, double slope_of_channel = NAN) {
    switch (epilogue.activation) {
        case Activation::none: return sum;
        case Activation::relu: return sum < 0 ? 0 : sum;
        case Activation::leaky_relu: return sum < 0 ? sum * double(epilogue.negative_slope) : sum;
        case Activation::tanh: return std::tanh(sum);
        case Activation::sigmoid: return 1 / (1 + std::exp(-sum));
        case Activation::prelu: return sum < 0 ? sum * slope_of_channel : sum;
    }
    return NAN;
}

class EpilogueTest : public DeviceTest {
  protected:
    static constexpr Activation activations[] = {Activation::none, Activation::relu, Activation::leaky_relu,
                                                 Activation::tanh, Activation::sigmoid};

    /// Problems that between them use most kernels.
    static std::vector<Problem> problems() {
        std::vector<Problem> all;
        for (const char *text : {"n2ic5oc7ih9iw17kh3kw3", "n1ic16oc32ih16iw40kh4kw4sh2sw2ph1pw1",
                                 "n2g6ic6oc6ih9iw11kh4kw4sh2sw2ph1pw1", "n1g2ic4oc6ih5iw7kh2kw3sh3sw2dh2dw3",
                                 "n1ic32oc32ih5iw70kh3kw3", "n1ic256oc40ih3iw4kh4kw4sh2sw2ph1pw1"})
            all.push_back(Problem::parse(text));
        return all;
    }

    /// `strict`: those alone that let an Inf or NaN reach nothing else.
    template <class Check>
    void for_each_kernel(const Problem &problem, const Epilogue &epilogue, Check check, bool strict = false) const {
        PlanOptions with = options();
        with.epilogue = epilogue, with.strict_propagation = strict;
        for (const PlanOptions &forced : for_every_kernel(problem, with)) {
            const Trace trace(problem.str() + " by " + forced.kernel);
            check(Plan(problem, forced));
        }
    }
};

TEST_P(EpilogueTest, ActivationsWithAndWithoutBias) {
    RandomProblems random(11);
    for (const Problem &problem : problems()) {
        // Sums of a few units: in the curved part of tanh and sigmoid. Quarters are exact in TF32 too.
        auto input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
        for (float &v : input) v /= 4;
        for (float &v : weight) v /= 16;
        for (Activation activation : activations)
            for (bool with_bias : {false, true}) {
                const Epilogue epilogue{with_bias, activation, 0.25f};
                const auto bias = with_bias ? random.integers(problem.out_channels) : std::vector<float>();
                const auto sums = forward(problem, input, weight, bias);
                for_each_kernel(problem, epilogue, [&](const Plan &plan) {
                    const auto actual = run_forward(plan, input, weight, bias);
                    for (size_t i = 0; i < actual.size(); i++) {
                        const double expected = activated(sums[i], epilogue);
                        // Exact, but for tanh and sigmoid: a few units in the last place of the function.
                        const bool smooth = activation == Activation::tanh || activation == Activation::sigmoid;
                        ASSERT_NEAR(actual[i], expected, smooth ? 1e-6 : 0) << "element " << i << ", sum " << sums[i];
                    }
                });
            }
    }
}

// As PyTorch: NaN passes through every activation; infinity goes to its limit.
TEST_P(EpilogueTest, NanAndInfinity) {
    const Problem problem = Problem::parse("n1ic1oc1ih1iw4kh1kw1");
    const std::vector<float> input{NAN, infinity, -infinity, -2.f};
    struct Expected {
        Activation activation;
        float of_infinity, of_minus_infinity, of_minus_two;
    };
    for (const Expected &e : {Expected{Activation::none, infinity, -infinity, -2}, {Activation::relu, infinity, 0, 0},
                              {Activation::leaky_relu, infinity, -infinity, -0.5f},
                              {Activation::tanh, 1, -1, std::tanh(-2.f)},
                              {Activation::sigmoid, 1, 0, 1 / (1 + std::exp(2.f))}})
        for_each_kernel(problem, {false, e.activation, 0.25f}, [&](const Plan &plan) {
            const Trace trace("activation " + std::to_string(static_cast<int>(e.activation)));
            const auto actual = run_forward(plan, input, {1.f}, {});
            EXPECT_TRUE(std::isnan(actual[0])) << actual[0];
            EXPECT_EQ(actual[1], e.of_infinity);
            EXPECT_EQ(actual[2], e.of_minus_infinity);
            EXPECT_NEAR(actual[3], e.of_minus_two, 1e-6);
        }, true);
}

// An infinite input must not reach outputs that it does not belong to, as 0 * infinity would.
TEST_P(EpilogueTest, InfinityStaysWithItsOutputs) {
    const Problem problem = Problem::parse("n1ic2oc3ih6iw7kh3kw3sh2sw2ph1pw1");
    RandomProblems random(13);
    auto input = random.integers(problem.input_elements());
    input[2 * 7 + 3] = infinity;  // channel 0, row 2, column 3
    const std::vector<float> weight(problem.weight_elements(), 1.f);
    const auto expected = forward(problem, input, weight, {});
    for_each_kernel(problem, {}, [&](const Plan &plan) {
        const auto actual = run_forward(plan, input, weight, {});
        for (size_t i = 0; i < actual.size(); i++) ASSERT_EQ(actual[i], expected[i]) << "element " << i;
    }, true);
}

INSTANTIATE_ON_DEVICES(EpilogueTest);

}  // namespace
}  // namespace conv_transpose::testing
