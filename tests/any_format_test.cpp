// Nothing is refused: every operation takes problems of any rank in any element type and layout. Random problems, by every
// kernel that accepts them; integers, equal to the oracle's, rounded once to nearest even.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "formatted_tensor.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

constexpr Operation operations[] = {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient};

class AnyFormat : public DeviceTest {
  protected:
    RandomProblems random{47};

    // Numbers that a test may choose; empty ones are drawn.
    struct Data {
        std::vector<float> input, weight, bias, output_gradient;
    };

    Data data(const Problem &p, const PlanOptions &wanted) {
        return {random.integers(p.input_elements()), random.integers(p.weight_elements()),
                wanted.epilogue.bias ? random.integers(p.out_channels) : std::vector<float>(),
                random.integers(p.output_elements())};
    }

    static std::vector<double> expected(const Problem &p, const PlanOptions &wanted, const Data &d) {
        const Gradients g = gradients(p, d.input, d.weight, d.output_gradient);
        std::vector<double> result;
        TensorFormat format = wanted.weight;
        switch (wanted.operation) {
            case Operation::forward: result = forward(p, d.input, d.weight, d.bias), format = wanted.output; break;
            case Operation::input_gradient: result = g.input, format = wanted.input; break;
            case Operation::weight_gradient: result = g.weight; break;
            case Operation::bias_gradient: result = g.bias; break;
        }
        for (double &value : result) value = rounded(value, format.type);
        return result;
    }

    // What one kernel computes.
    static std::vector<float> computed(const Problem &p, const PlanOptions &options, const Data &d) {
        const Plan plan(p, options);
        const Device device = plan.device();
        const auto positions = [&](auto extent) {
            int64_t all = 1;
            for (const Axis &a : p.axes) all *= extent(a);
            return all;
        };
        const auto values = [&](const std::vector<float> &given, bool is_result) {
            return is_result ? std::vector<float>(given.size(), std::nanf("")) : given;
        };
        const Operation o = options.operation;
        const bool is_forward = o == Operation::forward, of_bias = o == Operation::bias_gradient;
        const TensorFormat vector{options.weight.type, Layout::channels_first};
        const Tensor input(device, options.input, values(d.input, o == Operation::input_gradient), p.in_channels,
                           positions([](const Axis &a) { return a.input; }));
        const Tensor weight(device, options.weight, values(d.weight, o == Operation::weight_gradient),
                            p.out_channels / p.groups, positions([](const Axis &a) { return a.kernel; }));
        const Tensor output(device, options.output, values(d.output_gradient, is_forward), p.out_channels,
                            positions([](const Axis &a) { return a.output(); }));
        const Tensor bias(device, vector, of_bias ? std::vector<float>(p.out_channels, std::nanf("")) : d.bias, 1, 1);
        const DeviceMemory workspace(device, plan.workspace_bytes());
        Arguments arguments;
        if (o == Operation::forward || o == Operation::weight_gradient) arguments.input = input.data();
        if (o == Operation::forward || o == Operation::input_gradient) arguments.weight = weight.data();
        if (is_forward) arguments.bias = bias.data(), arguments.output = output.data();
        else arguments.output_gradient = output.data();
        if (o == Operation::input_gradient) arguments.input_gradient = input.data();
        if (o == Operation::weight_gradient) arguments.weight_gradient = weight.data();
        if (of_bias) arguments.bias_gradient = bias.data();
        const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
        EXPECT_TRUE(status.ok()) << status.message();
        synchronize(device);
        return (is_forward ? output : o == Operation::input_gradient ? input : of_bias ? bias : weight).values();
    }

    static std::string description(const Problem &p, const PlanOptions &o) {
        static constexpr const char *names[] = {"forward", "input_gradient", "weight_gradient", "bias_gradient"};
        std::string text = p.str() + " " + names[int(o.operation)] + " " + o.kernel;
        for (const TensorFormat &f : {o.input, o.weight, o.output})
            text += std::string(", ") + name(f.type) + " " + name(f.layout);
        return text;
    }

    // By every kernel that takes the problem, of which there is at least one.
    void expect_exact(const Problem &p, PlanOptions wanted) {
        wanted.device = GetParam();
        const Data d = data(p, wanted);
        const std::vector<double> result = expected(p, wanted, d);
        const auto all = for_every_kernel(p, wanted);
        EXPECT_FALSE(all.empty()) << description(p, wanted);
        for (const PlanOptions &forced : all) {
            const Trace trace(description(p, forced));
            expect_equal(computed(p, forced, d), result);
            if (HasFailure()) return;
        }
    }

    Layout any_layout() { return random.one_in(2) ? Layout::channels_first : Layout::channels_last; }

    // Pictures of one type, in any layouts; weights of the same type or of float32.
    PlanOptions any_formats(ElementType type, Operation operation) {
        PlanOptions wanted;
        wanted.operation = operation;
        wanted.input = {type, any_layout()}, wanted.output = {type, any_layout()};
        wanted.weight = {random.one_in(3) ? ElementType::float32 : type, any_layout()};
        wanted.epilogue.bias = operation == Operation::forward && random.one_in(2);
        return wanted;
    }

    int problems() const { return std::min(random_problem_count(GetParam()), 60); }
};

TEST_P(AnyFormat, EqualsTheOracle) {
    for (int i = 0; i < problems() && !HasFailure(); i++)
        for (int rank = 1; rank <= 3; rank++) {
            const Problem p = random.next_of_rank(rank);
            for (const Operation operation : operations) {
                const ElementType types[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16};
                expect_exact(p, any_formats(types[random.between(0, 2)], operation));
            }
        }
}

// One input channel a group: kernels of their own, with tiles of groups that are full and that are not.
TEST_P(AnyFormat, DepthwiseEqualsTheOracle) {
    for (int i = 0; i < problems() && !HasFailure(); i++) {
        Problem p = random.next_of_rank(1 + i % 3);
        p.batch = std::min<int64_t>(p.batch, 2);
        p.groups = p.in_channels = random.one_in(2) ? random.between(1, 7) : random.between(8, 17);
        p.out_channels = p.groups * (random.one_in(3) ? 2 : 1);
        if (p.output_elements() > 50000) continue;
        for (const Operation operation : operations) {
            const ElementType types[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16};
            expect_exact(p, any_formats(types[random.between(0, 2)], operation));
        }
    }
}

// The same with whole vectors of groups, and groups of whole vectors of channels, in channels_last.
TEST_P(AnyFormat, VectorsOfChannelsEqualTheOracle) {
    const ElementType types[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16};
    for (int i = 0; i < problems() && !HasFailure(); i++) {
        Problem p = random.next_of_rank(1 + i % 3);
        const bool depthwise = i % 2;
        p.batch = std::min<int64_t>(p.batch, 2);
        p.groups = depthwise ? 4 * random.between(1, 5) : random.between(1, 3);
        p.in_channels = p.groups * (depthwise ? 1 : 4 * random.between(1, 3));
        p.out_channels = p.groups * (depthwise ? 1 : 4 * random.between(1, 3));
        if (p.output_elements() > 50000) continue;
        for (const Operation operation : operations) {
            PlanOptions wanted = any_formats(types[random.between(0, 2)], operation);
            wanted.input.layout = wanted.output.layout = Layout::channels_last;
            expect_exact(p, wanted);
        }
    }
}

// Each sum is 2^16, which float16 does not have.
TEST_P(AnyFormat, OverflowsToInfinity) {
    const Problem p = Problem::parse("n1ic16oc3iw5kw1");
    PlanOptions wanted = options();
    wanted.input = wanted.weight = wanted.output = {ElementType::float16, Layout::channels_first};
    for (const Operation operation : operations) {
        wanted.operation = operation;
        const Data d{std::vector<float>(p.input_elements(), 64), std::vector<float>(p.weight_elements(), 64), {},
                     std::vector<float>(p.output_elements(), operation == Operation::bias_gradient ? 60000.f : 1024.f)};
        std::vector<double> result = expected(p, wanted, d);
        for (double &value : result)
            if (value > 65504) value = std::numeric_limits<double>::infinity();
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            const Trace trace(description(p, forced));
            expect_equal(computed(p, forced, d), result);
        }
        EXPECT_EQ(result.back(), std::numeric_limits<double>::infinity());
    }
}

// Strictly: an Inf or NaN reaches the results that it is a factor of, and no others.
TEST_P(AnyFormat, PropagatesStrictly) {
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16})
        for (const float at_ends : {std::numeric_limits<float>::infinity(), std::nanf("")})
            for (const Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient}) {
                const Problem p = Problem::parse("n1g2ic4oc6id2ih3iw5kd1kh3kw2sd2sh1sw2ph1pw1");
                PlanOptions wanted = any_formats(type, operation);
                wanted.device = GetParam(), wanted.epilogue.bias = false, wanted.strict_propagation = true;
                Data d = data(p, wanted);
                std::vector<float> &picture = operation == Operation::input_gradient ? d.output_gradient : d.input;
                for (float &value : d.weight) value = 1;  // not 0, whose product with Inf is NaN
                if (operation == Operation::weight_gradient) d.output_gradient.assign(d.output_gradient.size(), 1);
                picture.front() = picture.back() = at_ends;
                const std::vector<double> result = expected(p, wanted, d);
                for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
                    const Trace trace(description(p, forced));
                    const std::vector<float> actual = computed(p, forced, d);
                    for (size_t i = 0; i < result.size() && !HasFailure(); i++) {
                        EXPECT_EQ(std::isnan(actual[i]), std::isnan(result[i])) << "element " << i;
                        EXPECT_EQ(std::isinf(actual[i]), std::isinf(result[i])) << "element " << i;
                    }
                }
            }
}

INSTANTIATE_ON_DEVICES(AnyFormat);

}  // namespace
}  // namespace conv_transpose::testing
