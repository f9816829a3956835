// Every call of the CUDA driver that may fail is made to fail in turn while upsample enlarges on the GPU:
// each time there must be an error or the right picture, nothing may leak on the device, and the next picture
// must come out right. A program of its own, because it replaces the driver.
#include <optional>

#include "enlarge.h"
#include "failing_cuda_driver.h"
#include "upsample_models.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

using conv_transpose::testing::device_memory_alive;
using conv_transpose::testing::DriverFailure;
using conv_transpose::testing::TemporaryFolder;

struct Attempt {
    std::vector<uint8_t> png;  // empty where it failed with one of the errors that the program reports
    long calls = 0;
};

/// Decodes, enlarges and encodes, while the driver's call with this number fails.
Attempt attempt(const std::vector<uint8_t> &png, const Method &method, long failing) {
    const File input = file_of(png), output = temporary_file();
    const DriverFailure failure(failing);
    try {
        enlarge(input.get(), output.get(), method, {}, {}, {[](int64_t) {}, [](int64_t) {}});
    } catch (const std::exception &) {
        return {{}, failure.calls()};
    }
    return {bytes_of(output.get()), failure.calls()};
}

void fail_every_call(const std::vector<uint8_t> &png, Method method) {
    if (!conv_transpose::cuda_available()) GTEST_SKIP() << "this build has no CUDA kernels";
    method.device = conv_transpose::Device::cuda;
    constexpr long never = 1'000'000'000;
    const Attempt first = attempt(png, method, never), whole = attempt(png, method, never);
    ASSERT_FALSE(whole.png.empty());
    EXPECT_EQ(first.png, whole.png);
    EXPECT_EQ(device_memory_alive, 0);
    for (long failing = 0; failing < whole.calls; ++failing) {
        EXPECT_TRUE(attempt(png, method, failing).png.empty()) << "though call " << failing << " failed";
        ASSERT_EQ(device_memory_alive, 0) << "leaked after call " << failing << " failed";
        ASSERT_EQ(attempt(png, method, never).png, whole.png) << "after call " << failing << " failed";
    }
    std::printf("%ld calls of the driver made to fail\n", whole.calls);
    EXPECT_GT(whole.calls, 10);
}

TEST(DeviceFailure, MayHappenAnywhereWhileFiltering) {
    fail_every_call(make_png8(24, 20, 4, random_bytes(24 * 20 * 4, 1)), Method{});
}

TEST(DeviceFailure, MayHappenAnywhereInANetwork) {
    const TemporaryFolder folder;
    const Network network(write_two_layers(folder));
    Method method;
    method.network = &network;
    for (int channels : {1, 4})
        fail_every_call(make_png8(24, 20, channels, random_bytes(24 * 20 * channels, 1)), method);
}

}  // namespace
}  // namespace upsample::testing
