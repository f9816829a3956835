// Checks of problems too large for the scatter oracle: data that is a function of the element's index, so
// that no tensor need be on the host, and the formula evaluated at sampled outputs.
#ifndef CONV_TRANSPOSE_TESTS_SAMPLED_H
#define CONV_TRANSPOSE_TESTS_SAMPLED_H

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"
#include "trace.h"

namespace conv_transpose::testing {

/// Element i of the tensor with this seed: an integer from -4 to 4, so that sums are exact in float32 and in TF32.
inline float pattern(uint64_t seed, int64_t i) {
    uint64_t h = (static_cast<uint64_t>(i) + 0x9e3779b97f4a7c15u * (seed + 1)) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
    h *= 0x94d049bb133111ebu;
    return static_cast<float>(static_cast<int>((h >> 32) % 9) - 4);
}

constexpr uint64_t input_seed = 1, weight_seed = 2, bias_seed = 3, output_gradient_seed = 4;

/// The definition of ConvTranspose2d at one output, on pattern data with bias.
inline double expected_output(const Problem &p, int64_t n, int64_t channel, int64_t oy, int64_t ox) {
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups, group = channel / out;
    double sum = pattern(bias_seed, channel);
    for (int64_t ky = 0; ky < p.height().kernel; ky++) {
        const int64_t y = oy + p.height().padding - ky * p.height().dilation;
        if (y < 0 || y % p.height().stride || y / p.height().stride >= p.height().input) continue;
        for (int64_t kx = 0; kx < p.width().kernel; kx++) {
            const int64_t x = ox + p.width().padding - kx * p.width().dilation;
            if (x < 0 || x % p.width().stride || x / p.width().stride >= p.width().input) continue;
            for (int64_t ci = group * in; ci < (group + 1) * in; ci++) {
                const int64_t i = ((n * p.in_channels + ci) * p.height().input + y / p.height().stride) * p.width().input +
                                  x / p.width().stride;
                const int64_t w = ((ci * out + channel % out) * p.height().kernel + ky) * p.width().kernel + kx;
                sum += double(pattern(input_seed, i)) * pattern(weight_seed, w);
            }
        }
    }
    return sum;
}

/// Calls visit(first element, number of elements) for pieces that fit the host's memory.
template <class Visit>
void in_pieces(int64_t elements, Visit visit) {
    constexpr int64_t piece = 1 << 24;
    for (int64_t first = 0; first < elements; first += piece) visit(first, std::min(piece, elements - first));
}

/// A tensor on the device with value(i) as its element i.
template <class Value>
DeviceMemory filled(Device device, int64_t elements, Value value) {
    DeviceMemory memory(device, elements * sizeof(float));
    std::vector<float> host;
    in_pieces(elements, [&](int64_t first, int64_t count) {
        host.resize(count);
        for (int64_t i = 0; i < count; i++) host[i] = value(first + i);
        memory.copy_from_host(host.data(), count * sizeof(float), first * sizeof(float));
    });
    return memory;
}

/// A tensor of `elements` on the device, in the data's pattern.
inline DeviceMemory patterned(Device device, int64_t elements, uint64_t seed) {
    return filled(device, elements, [&](int64_t i) { return pattern(seed, i); });
}

/// So that what a kernel leaves unwritten shows.
inline void fill_with_nan(DeviceMemory &memory, int64_t elements) {
    std::vector<float> host;
    in_pieces(elements, [&](int64_t first, int64_t count) {
        host.resize(count, std::nanf(""));
        memory.copy_from_host(host.data(), count * sizeof(float), first * sizeof(float));
    });
}

/// Every element was written, with a finite number.
inline void expect_all_written(const DeviceMemory &output, int64_t elements) {
    std::vector<float> host;
    in_pieces(elements, [&](int64_t first, int64_t count) {
        host.resize(count);
        output.copy_to_host(host.data(), count * sizeof(float), first * sizeof(float));
        for (int64_t i = 0; i < count; i++)
            ASSERT_TRUE(std::isfinite(host[i])) << "element " << first + i << " is " << host[i];
    });
}

/// Corners of every first and last image and channel, and random positions.
inline void expect_samples_equal(const Problem &p, const DeviceMemory &output, int samples) {
    const int64_t height = p.height().output(), width = p.width().output();
    std::mt19937_64 random(1);
    const auto draw = [&](int64_t size, int sample) {
        if (sample < 16) return sample % 2 ? size - 1 : int64_t{0};
        return std::uniform_int_distribution<int64_t>(0, size - 1)(random);
    };
    for (int s = 0; s < samples; s++) {
        const int64_t n = draw(p.batch, s), channel = draw(p.out_channels, s / 2), y = draw(height, s / 4),
                      x = draw(width, s / 8);
        const int64_t index = ((n * p.out_channels + channel) * height + y) * width + x;
        float actual;
        output.copy_to_host(&actual, sizeof actual, index * sizeof(float));
        ASSERT_EQ(actual, static_cast<float>(expected_output(p, n, channel, y, x)))
            << "image " << n << ", channel " << channel << ", row " << y << ", column " << x;
    }
}

/// Runs the problem with each of these options, all of one device and with a bias, on pattern data.
inline void expect_exact_samples(const Problem &p, const std::vector<PlanOptions> &choices, int samples) {
    const Device device = choices.front().device;
    const auto bytes = sizeof(float) * (p.input_elements() + p.output_elements() + 2 * p.weight_elements());
    if (free_memory(device) < bytes + bytes / 10)
        GTEST_SKIP() << p.str() << " needs " << bytes / (1 << 20) << " MiB, which this machine lacks";
    const DeviceMemory input = patterned(device, p.input_elements(), input_seed);
    const DeviceMemory weight = patterned(device, p.weight_elements(), weight_seed);
    const DeviceMemory bias = patterned(device, p.out_channels, bias_seed);
    DeviceMemory output(device, p.output_elements() * sizeof(float));
    for (const PlanOptions &options : choices) {
        const Trace trace(p.str() + " by " + options.kernel);
        const Plan plan(p, options);
        fill_with_nan(output, p.output_elements());
        const DeviceMemory workspace(device, plan.workspace_bytes());
        Arguments arguments;
        arguments.input = input.floats();
        arguments.weight = weight.floats();
        arguments.bias = bias.floats();
        arguments.output = output.floats();
        const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
        ASSERT_TRUE(status.ok()) << status.message();
        synchronize(device);
        expect_all_written(output, p.output_elements());
        expect_samples_equal(p, output, samples);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace conv_transpose::testing

#endif
