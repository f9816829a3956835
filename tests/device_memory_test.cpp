// Memory, streams and timers of a device: what a caller may get wrong throws, and says what it was.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "conv_transpose/device_memory.h"
#include "conv_transpose/device_stream.h"
#include "conv_transpose/device_timer.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Memory : public DeviceTest {};

TEST_P(Memory, CopiesReachNotBeyondIt) {
    DeviceMemory memory(GetParam(), 64);
    std::vector<char> host(256, 1);
    memory.copy_from_host(host.data(), 64);
    memory.copy_to_host(host.data(), 16, 48);
    memory.copy_rows_to_host(host.data(), 8, 16, 16, 8, 3);
    EXPECT_THROW(memory.copy_from_host(host.data(), 65), std::out_of_range);
    EXPECT_THROW(memory.copy_from_host(host.data(), 16, 49), std::out_of_range);
    EXPECT_THROW(memory.copy_to_host(host.data(), 8, std::numeric_limits<size_t>::max()), std::out_of_range);
    EXPECT_THROW(memory.copy_rows_to_host(host.data(), 8, 17, 16, 32, 2), std::out_of_range);
    EXPECT_THROW(memory.copy_rows_to_host(host.data(), 8, 0, std::numeric_limits<size_t>::max() / 2, 8, 4), std::out_of_range);
    EXPECT_THROW(memory.copy_from_host(nullptr, 8), std::invalid_argument);
    DeviceStream stream(GetParam());
    EXPECT_THROW(stream.copy_from_host(memory, host.data(), 65), std::out_of_range);
    EXPECT_THROW(stream.copy_rows_to_host(memory, host.data(), 8, 0, 64, 8, 2), std::out_of_range);
    const DeviceMemory other(std::move(memory));
    EXPECT_THROW(memory.copy_from_host(host.data(), 1), std::out_of_range);
}

TEST_P(Memory, OfAllAddressesIsOutOfMemory) {
    EXPECT_THROW(DeviceMemory(GetParam(), std::numeric_limits<size_t>::max()), std::bad_alloc);
    EXPECT_THROW(HostMemory(GetParam(), std::numeric_limits<size_t>::max()), std::bad_alloc);
}

INSTANTIATE_ON_DEVICES(Memory);

TEST(Devices, ThatDoNotExistAreRefused) {
    const auto none = static_cast<Device>(7);
    const std::function<void()> calls[] = {[&] { DeviceMemory(none, 8); },
                                           [&] { HostMemory(none, 8); },
                                           [&] { DeviceStream{none}; },
                                           [&] { DeviceEvent{none}; },
                                           [&] { synchronize(none); },
                                           [&] { free_memory(none); },
                                           [&] { device_facts(none); },
                                           [&] { TimedWork(none, [](Stream) { return Status(); }); }};
    for (const auto &call : calls) {
        std::string field;
        try {
            call();
        } catch (const InvalidProblem &error) {
            field = error.field();
        }
        EXPECT_EQ(field, "device");
    }
}

TEST(Devices, AutomaticIsThatOfPlans) {
    const Device expected = Plan(Problem::parse("ic1oc1ih1iw1kh1kw1")).device();
    DeviceMemory memory(Device::automatic, 4);
    EXPECT_EQ(memory.device(), expected);
    float number = 1;
    memory.copy_from_host(&number, 4);
    synchronize(Device::automatic);
    EXPECT_GT(free_memory(Device::automatic), 0u);
}

TEST(Devices, WorkIsAFunction) { EXPECT_THROW(TimedWork(Device::cpu, nullptr), std::invalid_argument); }

TEST(Devices, OnlyMemoryOfCudaIsCopiedOnTheDevice) {
    DeviceMemory memory(Device::cpu, 8);
    EXPECT_EQ(copy_on_device(memory, 0, memory, 4, {}).code(), Status::Code::invalid_argument);
}

}  // namespace
}  // namespace conv_transpose::testing
