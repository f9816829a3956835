// Half precision, both layouts and any mix of them, on every kernel that accepts the problem: integers, equal to the
// oracle's, rounded once to nearest even.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formatted_tensor.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class HalfPrecision : public DeviceTest {
  protected:
    RandomProblems random{31};

    int64_t positions(const Problem &p, int64_t elements, int64_t channels) {
        return p.batch * channels == 0 ? 1 : elements / (p.batch * channels);
    }

    /// By every kernel that takes the formats; how many there were. With an Inf or NaN at both ends of the picture that is
    /// summed over, results are finite where the oracle's are.
    int expect_exact(const Problem &p, Operation operation, PlanOptions wanted, float at_ends = 0) {
        wanted.device = GetParam(), wanted.operation = operation;
        auto x = random.integers(p.input_elements()), dy = random.integers(p.output_elements());
        const auto w = random.integers(p.weight_elements());
        const bool is_forward = operation == Operation::forward;
        std::vector<float> &picture = is_forward ? x : dy;
        if (at_ends != 0) picture.front() = picture.back() = at_ends;
        const std::vector<float> b = wanted.epilogue.bias ? random.integers(p.out_channels) : std::vector<float>();
        std::vector<double> expected = is_forward ? forward(p, x, w, b) : gradients(p, x, w, dy).input;
        const TensorFormat result_format = is_forward ? wanted.output : wanted.input;
        for (double &value : expected) value = rounded(value, result_format.type);
        int kernels = 0;
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            SCOPED_TRACE(p.str() + " " + forced.kernel + ", input " + name(wanted.input.type) + " " +
                         name(wanted.input.layout) + ", weight " + name(wanted.weight.type) + " " +
                         name(wanted.weight.layout) + ", output " + name(wanted.output.type) + " " +
                         name(wanted.output.layout));
            const Plan plan(p, forced);
            const int64_t in_positions = positions(p, p.input_elements(), p.in_channels);
            const int64_t out_positions = positions(p, p.output_elements(), p.out_channels);
            const std::vector<float> none(expected.size(), std::nanf(""));
            const Tensor input(GetParam(), wanted.input, is_forward ? x : none, p.in_channels, in_positions);
            const Tensor weight(GetParam(), wanted.weight, w, p.out_channels / p.groups,
                                p.weight_elements() / (p.in_channels * (p.out_channels / p.groups)));
            const Tensor output(GetParam(), wanted.output, is_forward ? none : dy, p.out_channels, out_positions);
            const Tensor bias(GetParam(), {wanted.weight.type, Layout::channels_first}, b, 1, 1);
            const DeviceMemory workspace(GetParam(), plan.workspace_bytes());
            Arguments arguments;
            arguments.weight = weight.data(), arguments.bias = bias.data();
            if (is_forward) arguments.input = input.data(), arguments.output = output.data();
            else arguments.output_gradient = output.data(), arguments.input_gradient = input.data();
            const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
            EXPECT_TRUE(status.ok()) << status.message();
            synchronize(GetParam());
            const std::vector<float> actual = (is_forward ? output : input).values();
            if (at_ends == 0) expect_equal(actual, expected);
            else
                for (size_t i = 0; i < expected.size() && !HasFailure(); i++)
                    EXPECT_EQ(std::isfinite(actual[i]), std::isfinite(expected[i])) << "element " << i;
            kernels++;
        }
        return kernels;
    }
};

// Tiles that are full and that are not, taps that are dead, groups, small pictures.
const char *const problems[] = {"n2ic64oc72ih5iw6kh3kw3ph1pw1", "n3g2ic32oc80ih4iw3kh4kw4sh2sw2ph1pw1",
                                "n1ic40oc24ih3iw9kh2kw3sh3sw1dh2opw0"};

TEST_P(HalfPrecision, IsExactInEveryLayout) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const Layout in : {Layout::channels_first, Layout::channels_last})
            for (const Layout out : {Layout::channels_first, Layout::channels_last})
                for (const char *text : problems) {
                    PlanOptions options;
                    options.input = {type, in}, options.output = {type, out}, options.weight = {type, in};
                    const Problem p = Problem::parse(text);
                    const int kernels = expect_exact(p, Operation::forward, options);
                    // The conversion from channels_last is in full builds.
                    if (in == out || out == Layout::channels_last) EXPECT_GE(kernels, 1) << text;
                    if (in == out && in == Layout::channels_last)
                        EXPECT_GE(expect_exact(p, Operation::input_gradient, options), 1) << text;
                    if (HasFailure()) return;
                }
}

TEST_P(HalfPrecision, TakesWeightsOfFloat32) {
    PlanOptions options;
    options.input = options.output = {ElementType::float16, Layout::channels_last};
    EXPECT_GE(expect_exact(Problem::parse(problems[0]), Operation::forward, options), 1);
}

// It has the weight's type.
TEST_P(HalfPrecision, AddsABias) {
    for (const ElementType weight : {ElementType::float16, ElementType::float32}) {
        PlanOptions options;
        options.input = options.output = {ElementType::float16, Layout::channels_last}, options.weight.type = weight;
        options.epilogue.bias = true;
        EXPECT_GE(expect_exact(Problem::parse(problems[1]), Operation::forward, options), 1);
    }
}

TEST_P(HalfPrecision, Float32IsReadInChannelsLast) {
    PlanOptions options;
    options.precision = Precision::tf32;
    options.input = options.output = options.weight = {ElementType::float32, Layout::channels_last};
    for (const char *text : problems) {
        EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options), 1);
        EXPECT_GE(expect_exact(Problem::parse(text), Operation::input_gradient, options), 1);
    }
}

// The zeros that fill up rows and chunks of channels meet none but zeros.
TEST_P(HalfPrecision, PropagatesStrictly) {
    PlanOptions options;
    options.strict_propagation = true;
    for (const Layout layout : {Layout::channels_first, Layout::channels_last})
        for (const float at_ends : {std::numeric_limits<float>::infinity(), std::nanf("")})
            for (const char *text : problems) {
                options.input = options.weight = options.output = {ElementType::float16, layout};
                EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options, at_ends), 1);
                if (layout == Layout::channels_last)
                    EXPECT_GE(expect_exact(Problem::parse(text), Operation::input_gradient, options, at_ends), 1);
            }
}

TEST_P(HalfPrecision, HasThreeAxes) {
    const Problem p = Problem::parse("n2ic32oc24id3ih4iw5kd2kh3kw2sd2sh1sw2pd1ph1pw0");
    PlanOptions options;
    options.precision = Precision::tf32;
    EXPECT_GE(expect_exact(p, Operation::forward, options), 1);
    EXPECT_GE(expect_exact(p, Operation::input_gradient, options), 1);
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_first};
    EXPECT_GE(expect_exact(p, Operation::forward, options), 1);
}

INSTANTIATE_ON_DEVICES(HalfPrecision);

}  // namespace
}  // namespace conv_transpose::testing
