// Weight gradients of single channels: estimates beside what an H200 took, of layers that no constant was fitted to (2026-11-27).
#include "choice/depthwise_gradient_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu_estimates.h"

namespace conv_transpose::testing {
namespace {

/// In microseconds, of the problem as it is given.
double estimate_of(const std::string &kernel, const char *problem, TensorFormat format) {
    const auto has_one = [](const KernelTraits &k) { return sums_single_channels(k) && has_estimate(k); };
    return estimated_microseconds(kernel, problem, has_one, format);
}

constexpr TensorFormat rows{ElementType::float16, Layout::channels_first}, pixels{ElementType::float16, Layout::channels_last};
const char *const k4 = "n32g160ic160oc160ih20iw20kh4kw4", *const k8s8 = "n1g640ic640oc640ih37iw37kh8kw8sh8sw8",
                 *const k3 = "n1g640ic640oc640ih56iw56kh3kw3ph1pw1", *const signal = "n16g40ic40oc40iw8000kw3pw1";
const std::string any = "weight_gradient_f16_cuda_depthwise_any_any", columns = any + "_columns", result = any + "_result",
                  fours = "weight_gradient_f16_cuda_depthwise_any_nhwc_c1x1", eights = fours + "_eights",
                  runs = fours + "_runs_of_eights", short_runs = fours + "_runs_of_fours";

class DepthwiseGradientTime : public GpuEstimates {};

TEST_F(DepthwiseGradientTime, IsNearWhatKernelsTake) {
    struct Measured {
        std::string kernel;
        const char *problem;
        TensorFormat format;
        double microseconds;
    };
    const std::vector<Measured> all{
        {columns, k4, rows, 106.3},  {any, k4, rows, 64.3},        {columns, k3, rows, 18.9},     {any, k3, rows, 60.0},
        {columns, k8s8, rows, 164.7}, {result, k8s8, rows, 88.8},   {any, k8s8, rows, 91.1},       {any, signal, rows, 54.9},
        {eights, k4, pixels, 25.3},  {fours, k4, pixels, 23.6},    {eights, k3, pixels, 13.1},    {fours, k3, pixels, 24.8},
        {runs, k3, pixels, 9.9},     {runs, k8s8, pixels, 69.8},   {short_runs, k3, pixels, 11.2}, {short_runs, k8s8, pixels, 84.1},
        {eights, k8s8, pixels, 42.2}, {fours, k8s8, pixels, 45.0},  {eights, signal, pixels, 16.2}, {fours, signal, pixels, 28.3},
    };
    for (const Measured &m : all) {
        const double ratio = estimate_of(m.kernel, m.problem, m.format) / m.microseconds;
        EXPECT_TRUE(ratio > 0.5 && ratio < 1.6) << m.kernel << ", " << m.problem << ": " << ratio;
    }
}

TEST_F(DepthwiseGradientTime, TellsTheFasterKernel) {
    EXPECT_LT(estimate_of(columns, k3, rows), estimate_of(any, k3, rows));
    EXPECT_LT(estimate_of(runs, k3, pixels), estimate_of(eights, k3, pixels));
    EXPECT_LT(estimate_of(eights, k8s8, pixels), estimate_of(runs, k8s8, pixels));
    EXPECT_LT(estimate_of(result, k8s8, rows), estimate_of(columns, k8s8, rows));
    EXPECT_LT(estimate_of(eights, signal, pixels), estimate_of(fours, signal, pixels));
    EXPECT_LT(estimate_of(eights, k3, pixels), estimate_of(any, k3, pixels));
    EXPECT_LT(estimate_of(result, k8s8, rows), estimate_of(any, k8s8, rows));
}

// Microseconds of three, four and six taps (2026-11-28): 83, 96 and 119; 35, 31 and 22.
TEST_F(DepthwiseGradientTime, PrefersTilesThatTheTapsOfARowFill) {
    const char *const three = "n8g512ic512oc512iw4096kw3sw2pw1", *const twelve = "n2g256ic256oc256iw2000kw12sw6pw3";
    EXPECT_LT(estimate_of(any + "_t3", three, rows), estimate_of(any, three, rows));
    EXPECT_LT(estimate_of(any, three, rows), estimate_of(any + "_t6", three, rows));
    EXPECT_LT(estimate_of(any + "_t6", twelve, rows), estimate_of(any, twelve, rows));
    EXPECT_LT(estimate_of(any, twelve, rows), estimate_of(any + "_t3", twelve, rows));
}

}  // namespace
}  // namespace conv_transpose::testing
