// Pixels that are wider than the channels that count: results in some channels of a picture, the others untouched.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace conv_transpose {
namespace {

/// Small whole numbers in float16.
uint16_t half_of(int number) {
    constexpr uint16_t numbers[] = {0x0000, 0x3c00, 0x4000, 0x4200};  // 0 to 3
    return numbers[number < 0 ? -number : number] | (number < 0 ? 0x8000 : 0);
}

PlanOptions channels_last_options() {
    PlanOptions options;
    options.device = Device::cuda;
    options.input = options.output = {ElementType::float16, Layout::channels_last};
    return options;
}

Problem problem_of(int64_t in, int64_t out, int64_t batch) {
    Problem p;
    p.batch = batch, p.in_channels = in, p.out_channels = out;
    p.height() = {13, 3, 1, 1}, p.width() = {18, 3, 1, 1};
    return p;
}

bool has_kernel(const Problem &p, const PlanOptions &options) {
    return cuda_available() && !kernels_for(p, options).empty();
}

std::vector<float> weight_of(const Problem &p) {
    std::vector<float> weight(p.weight_elements());
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
    return weight;
}

/// Runs on memory that holds input and output, which begin at these elements.
void run(const Plan &plan, const std::vector<float> &weight, DeviceMemory &memory, std::size_t input, std::size_t output) {
    DeviceMemory weights(Device::cuda, weight.size() * sizeof(float)), workspace(Device::cuda, plan.workspace_bytes());
    weights.copy_from_host(weight.data(), weight.size() * sizeof(float));
    Arguments arguments;
    arguments.input = static_cast<uint16_t *>(memory.data()) + input;
    arguments.output = static_cast<uint16_t *>(memory.data()) + output;
    arguments.weight = weights.data();
    const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
    ASSERT_TRUE(status.ok()) << plan.problem().str() << ": " << status.message();
    synchronize(Device::cuda);
}

TEST(PixelStrides, SomeChannelsAreReadAndOthersOfTheSamePixelsWritten) {
    constexpr int64_t pixel = 136;
    for (const auto [in, out, batch] : {std::array<int64_t, 3>{64, 32, 1}, {96, 32, 2}, {72, 64, 1}}) {
        const Problem p = problem_of(in, out, batch);
        PlanOptions dense = channels_last_options(), wide = dense;
        wide.input_pixel_stride = wide.output_pixel_stride = pixel;
        if (!has_kernel(p, wide)) GTEST_SKIP() << "no GPU or no kernel that reads tensor maps";
        const int64_t pixels = batch * 13 * 18;
        std::vector<uint16_t> picture(pixels * pixel), plain(pixels * (in + out), 0);
        for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = half_of(static_cast<int>(i * 31 % 7) - 3);
        for (int64_t i = 0; i < pixels; ++i) std::copy_n(&picture[i * pixel], in, &plain[i * in]);
        const std::vector<float> weight = weight_of(p);
        DeviceMemory of_wide(Device::cuda, picture.size() * 2), of_plain(Device::cuda, plain.size() * 2);
        of_wide.copy_from_host(picture.data(), picture.size() * 2);
        of_plain.copy_from_host(plain.data(), plain.size() * 2);
        run(Plan(p, wide), weight, of_wide, 0, in);
        run(Plan(p, dense), weight, of_plain, 0, pixels * in);
        std::vector<uint16_t> result(picture.size());
        of_wide.copy_to_host(result.data(), result.size() * 2);
        of_plain.copy_to_host(plain.data(), plain.size() * 2);
        for (int64_t i = 0; i < pixels; ++i) std::copy_n(&plain[pixels * in + i * out], out, &picture[i * pixel + in]);
        EXPECT_EQ(result, picture) << p.str();
    }
}

TEST(PixelStrides, AreRefusedWhereTheyAreNotValid) {
    const auto message_of = [](const Problem &p, const PlanOptions &options) -> std::string {
        try {
            Plan(p, options);
        } catch (const InvalidProblem &error) {
            return error.field() + ": " + error.what();
        } catch (const Unsupported &error) {
            return error.what();
        }
        return "";
    };
    const Problem p = problem_of(64, 32, 1);
    PlanOptions options = channels_last_options();
    options.device = Device::cpu;
    options.input_pixel_stride = 60;
    EXPECT_NE(
        message_of(p, options).find("input_pixel_stride is 60, but it must be at least the 64 channels"),
        std::string::npos);
    options.input_pixel_stride = 68;
    EXPECT_NE(message_of(p, options).find("a multiple of 8"), std::string::npos);
    options.input_pixel_stride = 72;
    EXPECT_NE(message_of(p, options).find("wider than their channels"), std::string::npos);  // no CPU kernel
    options.input = {};
    EXPECT_NE(message_of(p, options).find("leave it 0"), std::string::npos);
    options = channels_last_options();
    options.device = Device::cpu, options.operation = Operation::input_gradient, options.output_pixel_stride = 64;
    EXPECT_NE(message_of(p, options).find("leave it 0"), std::string::npos);
}

TEST(PixelStrides, ChannelsThatOverlapAreRefused) {
    const Problem p = problem_of(64, 32, 1);
    PlanOptions wide = channels_last_options();
    wide.input_pixel_stride = wide.output_pixel_stride = 96;
    if (!has_kernel(p, wide)) GTEST_SKIP() << "no GPU or no kernel that reads tensor maps";
    const Plan plan(p, wide);
    DeviceMemory memory(Device::cuda, 2 * 96 * 13 * 18), weight(Device::cuda, 4 * p.weight_elements()),
        workspace(Device::cuda, plan.workspace_bytes());
    for (const int64_t channel : {0, 8, 56, 72}) {  // the last reaches into the next pixel's first
        Arguments arguments;
        arguments.input = memory.data(), arguments.weight = weight.data();
        arguments.output = static_cast<uint16_t *>(memory.data()) + channel;
        EXPECT_EQ(plan.run(arguments, {workspace.data(), workspace.bytes()}).code(),
                  Status::Code::invalid_argument)
            << channel;
    }
}

}  // namespace
}  // namespace conv_transpose
