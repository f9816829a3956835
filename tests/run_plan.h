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

/// The output of a forward plan; what the kernel left unwritten is NaN.
inline std::vector<float> run_forward(const Plan &plan, const std::vector<float> &input, const std::vector<float> &weight,
                                      const std::vector<float> &bias) {
    const Device device = plan.device();
    const DeviceMemory in = on_device(device, input), w = on_device(device, weight), b = on_device(device, bias);
    const DeviceMemory out = on_device(device, std::vector<float>(plan.problem().output_elements(), std::nanf("")));
    const DeviceMemory workspace(device, plan.workspace_bytes());
    Arguments arguments;
    arguments.input = in.floats();
    arguments.weight = w.floats();
    arguments.bias = b.floats();
    arguments.output = out.floats();
    const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
    EXPECT_TRUE(status.ok()) << status.message();
    synchronize(device);
    return to_host(out);
}

/// Compares element by element; reports the first difference only.
inline void expect_equal(const std::vector<float> &actual, const std::vector<double> &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++)
        ASSERT_EQ(actual[i], static_cast<float>(expected[i])) << "element " << i << " of " << actual.size();
}

}  // namespace conv_transpose::testing

#endif
