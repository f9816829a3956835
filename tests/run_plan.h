// Runs a plan on host data, on either device: copies in, poisons the output, runs, copies out.
#ifndef CONV_TRANSPOSE_TESTS_RUN_PLAN_H
#define CONV_TRANSPOSE_TESTS_RUN_PLAN_H

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"
#include "trace.h"

namespace conv_transpose::testing {

inline const char *name(Device device) { return device == Device::cuda ? "cuda" : "cpu"; }

/// For GTEST_SKIP: the reason why a device cannot be tested here, or null.
inline const char *missing(Device device) {
    return device == Device::cuda && !cuda_available() ? "no usable GPU on this machine" : nullptr;
}

/// Tests that run on each device; INSTANTIATE_ON_DEVICES(Suite) makes them.
class DeviceTest : public ::testing::TestWithParam<Device> {
  protected:
    void SetUp() override {
        if (const char *reason = missing(GetParam())) GTEST_SKIP() << reason;
    }

    PlanOptions options() const {
        PlanOptions on_this_device;
        on_this_device.device = GetParam();
        return on_this_device;
    }
};

#define INSTANTIATE_ON_DEVICES(suite)                                                           \
    INSTANTIATE_TEST_SUITE_P(Devices, suite, ::testing::Values(Device::cpu, Device::cuda),      \
                             [](const auto &info) { return ::conv_transpose::testing::name(info.param); })

/// Options that force each kernel that accepts the problem, whatever precision it needs.
inline std::vector<PlanOptions> for_every_kernel(const Problem &problem, PlanOptions options) {
    std::vector<PlanOptions> all;
    for (Precision precision : {Precision::float32, Precision::tf32, Precision::tf32x3}) {
        options.precision = precision;
        for (std::string_view kernel : kernels_for(problem, options)) {
            options.kernel = kernel;
            const auto same = [&](const PlanOptions &o) { return o.kernel == kernel; };
            if (std::none_of(all.begin(), all.end(), same)) all.push_back(options);
        }
        options.kernel.clear();
    }
    return all;
}

inline DeviceMemory on_device(Device device, const std::vector<float> &values) {
    DeviceMemory memory(device, values.size() * sizeof(float));
    memory.copy_from_host(values.data(), memory.bytes());
    return memory;
}

inline std::vector<float> to_host(const DeviceMemory &memory) {
    std::vector<float> values(memory.bytes() / sizeof(float));
    memory.copy_to_host(values.data(), memory.bytes());
    return values;
}

/// The tensors of a forward plan, on its device, to be run again and again.
class ForwardCall {
  public:
    Arguments arguments;

    /// The output is all NaN, so that what a kernel leaves unwritten shows.
    ForwardCall(const Plan &plan, const std::vector<float> &input, const std::vector<float> &weight,
                const std::vector<float> &bias = {})
        : plan_(plan), input_(on_device(plan.device(), input)), weight_(on_device(plan.device(), weight)),
          bias_(on_device(plan.device(), bias)),
          output_(on_device(plan.device(), std::vector<float>(plan.problem().output_elements(), std::nanf("")))),
          workspace_(plan.device(), plan.workspace_bytes()) {
        arguments.input = input_.floats();
        arguments.weight = weight_.floats();
        arguments.bias = bias_.floats();
        arguments.output = output_.floats();
    }

    Workspace workspace() const { return {workspace_.data(), workspace_.bytes()}; }
    Status run(Stream stream = {}) const { return plan_.run(arguments, workspace(), stream); }

    /// Waits for the default stream.
    std::vector<float> output() const {
        synchronize(plan_.device());
        return to_host(output_);
    }

  private:
    Plan plan_;
    DeviceMemory input_, weight_, bias_, output_, workspace_;
};

/// The output of a forward plan; what the kernel left unwritten is NaN.
inline std::vector<float> run_forward(const Plan &plan, const std::vector<float> &input,
                                      const std::vector<float> &weight, const std::vector<float> &bias) {
    const ForwardCall call(plan, input, weight, bias);
    const Status status = call.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return call.output();
}

/// What a plan for a gradient computes; what the kernels left unwritten is NaN, and the workspace begins as NaN.
inline std::vector<float> run_gradient(const Plan &plan, const std::vector<float> &input,
                                       const std::vector<float> &weight, const std::vector<float> &output_gradient) {
    const Device device = plan.device();
    const Operation operation = plan.options().operation;
    const Problem &problem = plan.problem();
    const int64_t elements = operation == Operation::input_gradient    ? problem.input_elements()
                             : operation == Operation::weight_gradient ? problem.weight_elements()
                                                                       : problem.out_channels;
    const DeviceMemory in = on_device(device, input), w = on_device(device, weight),
                       dy = on_device(device, output_gradient);
    const DeviceMemory result = on_device(device, std::vector<float>(elements, std::nanf("")));
    const DeviceMemory workspace =
        on_device(device, std::vector<float>(plan.workspace_bytes() / sizeof(float), std::nanf("")));
    Arguments arguments;
    arguments.input = in.floats();
    arguments.weight = w.floats();
    arguments.output_gradient = dy.floats();
    (operation == Operation::input_gradient    ? arguments.input_gradient
     : operation == Operation::weight_gradient ? arguments.weight_gradient
                                               : arguments.bias_gradient) = result.floats();
    const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
    EXPECT_TRUE(status.ok()) << status.message();
    synchronize(device);
    return to_host(result);
}

/// CONV_TRANSPOSE_RANDOM_PROBLEMS asks for another number than a test has by itself.
inline int random_problem_count(int otherwise) {
    const char *wanted = std::getenv("CONV_TRANSPOSE_RANDOM_PROBLEMS");
    return wanted ? std::atoi(wanted) : otherwise;
}

/// More for the GPU, where they are cheap.
inline int random_problem_count(Device device) { return random_problem_count(device == Device::cuda ? 10000 : 2000); }

/// CONV_TRANSPOSE_RANDOM_SEED, by which several processes draw problems of their own.
inline unsigned random_seed() {
    const char *wanted = std::getenv("CONV_TRANSPOSE_RANDOM_SEED");
    return wanted ? static_cast<unsigned>(std::atoi(wanted)) * 1000 : 0;
}

/// Whether the seconds of CONV_TRANSPOSE_RANDOM_SECONDS, if given, have not passed since the first call.
inline bool has_time_left() {
    using Clock = std::chrono::steady_clock;
    static const Clock::time_point begin = Clock::now();
    const char *wanted = std::getenv("CONV_TRANSPOSE_RANDOM_SECONDS");
    return !wanted || Clock::now() - begin < std::chrono::duration<double>(std::atof(wanted));
}

/// Compares element by element; reports the first difference only.
inline void expect_equal(const std::vector<float> &actual, const std::vector<double> &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++)
        ASSERT_EQ(actual[i], static_cast<float>(expected[i])) << "element " << i << " of " << actual.size();
}

}  // namespace conv_transpose::testing

#endif
