// Runs a plan on host data, on either device: copies in, poisons the output, runs, copies out.
#ifndef CONV_TRANSPOSE_TESTS_RUN_PLAN_H
#define CONV_TRANSPOSE_TESTS_RUN_PLAN_H

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

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
inline std::vector<float> run_forward(const Plan &plan, const std::vector<float> &input, const std::vector<float> &weight,
                                      const std::vector<float> &bias) {
    const ForwardCall call(plan, input, weight, bias);
    const Status status = call.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return call.output();
}

/// Compares element by element; reports the first difference only.
inline void expect_equal(const std::vector<float> &actual, const std::vector<double> &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++)
        ASSERT_EQ(actual[i], static_cast<float>(expected[i])) << "element " << i << " of " << actual.size();
}

}  // namespace conv_transpose::testing

#endif
