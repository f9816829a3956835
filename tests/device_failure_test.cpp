// Every call of the CUDA driver that may fail is made to fail in turn, while planning, packing and running:
// an exception or a status follows, nothing leaks, and the next try works. A program of its own, because it
// replaces the driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "failing_cuda_driver.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

/// Problems whose kernels differ in what they load and allocate: with and without packing, with much shared memory, on
/// tensor cores, in several launches.
const char *const problems[] = {
    "n1ic64oc64ih20iw40kh3kw3",        "n1ic512oc256ih8iw8kh4kw4sh2sw2ph1pw1", "n2g8ic8oc8ih9iw20kh4kw4sh2sw2ph1pw1",
    "n1ic9oc3ih9iw20kh4kw4sh2sw2ph1pw1", "n1g4ic32oc64ih8iw12kh3kw5sh2sw3ph1pw2dh2dw1", "n1ic3oc5ih7iw9kh6kw2sh3sw1dh2",
};
constexpr Operation operations[] = {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient};

PlanOptions options(Operation operation, Precision precision = Precision::float32) {
    PlanOptions with;
    with.device = Device::cuda;
    with.operation = operation;
    with.precision = precision;
    return with;
}

// A driver that has started takes threads and memory, and children that are forked later cannot use it.
TEST(Driver, IsLeftAloneByProcessors) {
    if (driver_loads > 0) GTEST_SKIP() << "another test has started it in this process";
    const Problem problem = Problem::parse(problems[0]);
    for (Operation operation : operations) {
        PlanOptions on_cpu = options(operation);
        on_cpu.device = Device::cpu;
        const Plan plan(problem, on_cpu);
        EXPECT_FALSE(kernels_for(problem, on_cpu).empty());
        EXPECT_EQ(driver_loads, 0) << plan.kernel();
    }
    if (cuda_available()) EXPECT_EQ(driver_loads, 1);
}

class DeviceFailure : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!cuda_available()) GTEST_SKIP() << "this build has no CUDA kernels";
    }
};

// Machine code is loaded once a process, so what a failed attempt has loaded is there for the next: each
// number comes twice.
TEST_F(DeviceFailure, OfPlanningIsAnException) {
    int failures = 0;
    for (const char *text : problems)
        for (Operation operation : operations) {
            const Problem problem = Problem::parse(text);
            for (const PlanOptions &with : for_every_kernel(problem, options(operation))) {
                const Trace trace(problem.str() + " by " + with.kernel);
                for (int number = 0; number < 8; number++) {
                    bool threw = false;
                    const DriverFailure failure(number / 2);
                    try {
                        const Plan plan(problem, with);
                    } catch (const Unsupported &error) {
                        threw = true;
                        EXPECT_NE(std::string(error.what()).find("CUDA"), std::string::npos) << error.what();
                    }
                    EXPECT_EQ(threw, failure.happened());
                    failures += threw;
                }
                EXPECT_NO_THROW(Plan(problem, with));
            }
        }
    std::printf("%d failures of planning\n", failures);
    EXPECT_GT(failures, 50);
    EXPECT_EQ(device_memory_alive, 0);
}

TEST_F(DeviceFailure, OfRunningIsAStatus) {
    RandomProblems random(5);
    for (const char *text : problems) {
        const Problem problem = Problem::parse(text);
        const auto input = random.integers(problem.input_elements()),
                   weight = random.integers(problem.weight_elements());
        for (Precision precision : {Precision::float32, Precision::tf32}) {
            const Plan plan(problem, options(Operation::forward, precision));
            const Trace trace(problem.str() + " by " + std::string(plan.kernel()));
            const ForwardCall call(plan, input, weight);
            ASSERT_TRUE(call.run().ok());
            const std::vector<float> expected = call.output();
            for (int number = 0;; number++) {
                const DriverFailure failure(number);
                const Status status = call.run();
                ASSERT_EQ(status.ok(), !failure.happened()) << status.message();
                if (!failure.happened()) {
                    EXPECT_GT(number, 0);
                    break;
                }
                EXPECT_EQ(status.code(), Status::Code::device_error);
            }
            EXPECT_TRUE(call.run().ok());
            if (device_is_real()) {
                EXPECT_EQ(call.output(), expected);
            }
        }
    }
    EXPECT_EQ(device_memory_alive, 0);
}

TEST_F(DeviceFailure, OfMemoryIsAnExceptionAndLeavesNone) {
    const std::vector<float> values(1000, 1.f);
    for (int number = 0;; number++) {
        bool threw = false;
        const DriverFailure failure(number);
        try {
            DeviceMemory memory(Device::cuda, values.size() * sizeof(float));
            const HostMemory page_locked(Device::cuda, memory.bytes());
            memory.copy_from_host(values.data(), memory.bytes());
            memory.copy_to_host(page_locked.floats(), memory.bytes());
            memory.copy_rows_to_host(page_locked.floats(), 40, 0, 40, 20, 10);
            free_memory(Device::cuda);
            synchronize(Device::cuda);
        } catch (const std::bad_alloc &) {
            threw = true;
        } catch (const std::runtime_error &) {
            threw = true;
        }
        EXPECT_EQ(threw, failure.happened());
        EXPECT_EQ(device_memory_alive, 0);
        if (!failure.happened()) {
            EXPECT_GE(number, 8);
            return;
        }
    }
}

}  // namespace
}  // namespace conv_transpose::testing
