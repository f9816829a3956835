// Gradients of tensors beyond 2^31 elements, checked at sampled elements.
#include <gtest/gtest.h>

#include "run_plan.h"
#include "sampled.h"

namespace conv_transpose::testing {
namespace {

struct HugeGradientProblem {
    const char *name, *text;
};

void PrintTo(const HugeGradientProblem &problem, std::ostream *out) { *out << problem.text; }

/// A row of the input that is not zero. There are few, because an element of the weight gradient is a sum
/// over all of them.
bool is_live(int64_t input_row) { return pattern(7, input_row / 8) == 4.f && input_row % 8 == 3; }

float input_value(const Problem &p, int64_t i) { return is_live(i / p.width().input) ? pattern(input_seed, i) : 0.f; }

/// Calls visit(index of the output gradient, kernel row, kernel column) for what position (y, x) of an image
/// of the input meets in an output channel.
template <class Visit>
void for_each_seen(const Problem &p, int64_t image, int64_t output_channel, int64_t y, int64_t x, Visit visit) {
    const int64_t height = p.height().output(), width = p.width().output();
    for (int64_t ky = 0; ky < p.height().kernel; ky++)
        for (int64_t kx = 0; kx < p.width().kernel; kx++) {
            const int64_t oy = y * p.height().stride + ky * p.height().dilation - p.height().padding;
            const int64_t ox = x * p.width().stride + kx * p.width().dilation - p.width().padding;
            if (oy < 0 || oy >= height || ox < 0 || ox >= width) continue;
            visit(((image * p.out_channels + output_channel) * height + oy) * width + ox, ky, kx);
        }
}

class HugeGradient : public ::testing::TestWithParam<HugeGradientProblem> {
  protected:
    const Problem p = Problem::parse(GetParam().text);
    std::mt19937_64 random{1};

    void SetUp() override {
        if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
        ASSERT_EQ(p.groups, 1);
        ASSERT_GT(std::max(p.input_elements(), p.output_elements()), int64_t{1} << 31);
        const auto bytes = sizeof(float) * (2 * p.input_elements() + p.output_elements());
        if (free_memory(Device::cuda) < bytes + bytes / 10)
            GTEST_SKIP() << "needs " << bytes / (1 << 20) << " MiB, which this machine lacks";
    }

    /// First, last, or any.
    int64_t draw(int64_t size, int sample) {
        if (sample < 16) return sample % 2 ? size - 1 : int64_t{0};
        return std::uniform_int_distribution<int64_t>(0, size - 1)(random);
    }

    /// Runs what a plan takes for the operation, into a tensor of `elements`.
    DeviceMemory run(Operation operation, Precision precision, Arguments arguments, void *Arguments::*result,
                     int64_t elements) {
        PlanOptions options;
        options.device = Device::cuda;
        options.operation = operation;
        options.precision = precision;
        const Plan plan(p, options);
        const Trace trace(p.str() + " by " + std::string(plan.kernel()));
        DeviceMemory memory(Device::cuda, elements * sizeof(float));
        fill_with_nan(memory, elements);
        arguments.*result = memory.floats();
        const DeviceMemory workspace(Device::cuda, plan.workspace_bytes());
        const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
        EXPECT_TRUE(status.ok()) << status.message();
        synchronize(Device::cuda);
        expect_all_written(memory, elements);
        return memory;
    }
};

float element(const DeviceMemory &memory, int64_t index) {
    float value;
    memory.copy_to_host(&value, sizeof value, index * sizeof(float));
    return value;
}

TEST_P(HugeGradient, OfTheInput) {
    const DeviceMemory weight = patterned(Device::cuda, p.weight_elements(), weight_seed);
    const DeviceMemory output_gradient = patterned(Device::cuda, p.output_elements(), output_gradient_seed);
    Arguments arguments;
    arguments.weight = weight.floats();
    arguments.output_gradient = output_gradient.floats();
    for (Precision precision : {Precision::float32, Precision::tf32}) {
        const DeviceMemory result =
            run(Operation::input_gradient, precision, arguments, &Arguments::input_gradient, p.input_elements());
        for (int s = 0; s < 200 && !HasFailure(); s++) {
            const int64_t n = draw(p.batch, s), ci = draw(p.in_channels, s / 2);
            const int64_t y = draw(p.height().input, s / 4), x = draw(p.width().input, s / 8);
            double sum = 0;
            for (int64_t co = 0; co < p.out_channels; co++)
                for_each_seen(p, n, co, y, x, [&](int64_t o, int64_t ky, int64_t kx) {
                    const int64_t w = ((ci * p.out_channels + co) * p.height().kernel + ky) * p.width().kernel + kx;
                    sum += double(pattern(output_gradient_seed, o)) * pattern(weight_seed, w);
                });
            EXPECT_EQ(element(result, ((n * p.in_channels + ci) * p.height().input + y) * p.width().input + x), float(sum))
                << "image " << n << ", channel " << ci << ", row " << y << ", column " << x;
        }
    }
}

TEST_P(HugeGradient, OfTheWeight) {
    const DeviceMemory input =
        filled(Device::cuda, p.input_elements(), [&](int64_t i) { return input_value(p, i); });
    const DeviceMemory output_gradient = patterned(Device::cuda, p.output_elements(), output_gradient_seed);
    Arguments arguments;
    arguments.input = input.floats();
    arguments.output_gradient = output_gradient.floats();
    for (Precision precision : {Precision::float32, Precision::tf32}) {
        const DeviceMemory result =
            run(Operation::weight_gradient, precision, arguments, &Arguments::weight_gradient, p.weight_elements());
        for (int s = 0; s < 6 && !HasFailure(); s++) {
            const int64_t ci = draw(p.in_channels, 3 * s), co = draw(p.out_channels, 3 * s + s / 2);
            std::vector<double> sums(p.height().kernel * p.width().kernel);
            for (int64_t n = 0; n < p.batch; n++)
                for (int64_t y = 0; y < p.height().input; y++) {
                    const int64_t row = (n * p.in_channels + ci) * p.height().input + y;
                    if (!is_live(row)) continue;
                    for (int64_t x = 0; x < p.width().input; x++)
                        for_each_seen(p, n, co, y, x, [&](int64_t o, int64_t ky, int64_t kx) {
                            sums[ky * p.width().kernel + kx] += double(pattern(input_seed, row * p.width().input + x)) *
                                                              pattern(output_gradient_seed, o);
                        });
                }
            for (size_t tap = 0; tap < sums.size(); tap++)
                EXPECT_EQ(element(result, (ci * p.out_channels + co) * sums.size() + tap), float(sums[tap]))
                    << "channels " << ci << " and " << co << ", tap " << tap;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    , HugeGradient,
    ::testing::Values(HugeGradientProblem{"OutputOfManyImages", "n2200ic1oc1ih512iw512kh4kw4sh2sw2ph1pw1"},
                      HugeGradientProblem{"OutputOfOneImage", "n1ic3oc2200ih512iw512kh4kw4sh2sw2ph1pw1"},
                      HugeGradientProblem{"BothStride1", "n33ic64oc64ih1024iw1024kh3kw3ph1pw1"},
                      HugeGradientProblem{"BothWithDilation", "n33ic64oc64ih1024iw1024kh2kw2dh2dw3ph1pw1"}),
    [](const auto &info) { return info.param.name; });

}  // namespace
}  // namespace conv_transpose::testing
