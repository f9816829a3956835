// Gathers of single channels: which of them an estimate prefers, beside what an H200 took (2026-11-27).
#include "choice/gather_time.h"

#include <gtest/gtest.h>

#include <string>

#include "gpu_estimates.h"

namespace conv_transpose::testing {
namespace {

double estimate_of(const std::string &kernel, const char *problem) {
    const auto candidate = gpu_candidate(kernel, problem, gathers_single_channels);
    return candidate ? depthwise_gather_time(candidate->kernel, candidate->computation, h200) : 0;
}

const char *const k3 = "n1g640ic640oc640ih56iw56kh3kw3ph1pw1", *const k3s2 = "n8g64ic64oc64ih128iw128kh3kw3sh2sw2ph1pw1",
                 *const k8s8 = "n1g640ic640oc640ih37iw37kh8kw8sh8sw8";
const std::string forward = "forward_f16_cuda_depthwise_any_nhwc_c1x1",
                  gradient = "input_gradient_f16_cuda_depthwise_any_nhwc_c1x1",
                  columns = "input_gradient_f32_cuda_depthwise_any_any_columns",
                  zeros = "input_gradient_f32_cuda_depthwise_any_any_c1x1_columns_of_zeros";

class DepthwiseGatherTime : public GpuEstimates {};

// Microseconds: 9.2 and 10.4, 39.4 and 66.1, 47 and 51, 8.5 and 9.7, 31 and 34.
TEST_F(DepthwiseGatherTime, PrefersWindowsThatTapsFill) {
    EXPECT_LT(estimate_of(forward + "_eights", k3), estimate_of(forward + "_eights_w2", k3));
    EXPECT_LT(estimate_of(forward + "_eights", k3), estimate_of(forward, k3));
    EXPECT_LT(estimate_of(forward + "_eights_w2", k3s2), estimate_of(forward + "_eights", k3s2));
    EXPECT_LT(estimate_of(gradient + "_eights", k3), estimate_of(gradient + "_eights_w2", k3));
    EXPECT_LT(estimate_of(gradient + "_eights_w2", k3s2), estimate_of(gradient + "_eights", k3s2));
}

// Windows with two zeros for each tap take 100 and 148, those without zeros 48 and 53.
TEST_F(DepthwiseGatherTime, PrefersTestsToZerosWhereMostAreNone) {
    EXPECT_LT(estimate_of(columns, k8s8), estimate_of(zeros, k8s8));
    EXPECT_LT(estimate_of(zeros, k3), estimate_of(columns, k3));
}

// Two parts a thread and eight: 4.1 and 5.0; of many threads 95 and 68.
TEST_F(DepthwiseGatherTime, PrefersFewPartsWhereThreadsAreFew) {
    const std::string eight = "input_gradient_f32_cuda_depthwise_any_any", two = eight + "_small";
    const char *const few = "n16g512ic512oc512iw32kw6sw3pw2opw1", *const many = "n8g512ic512oc512iw4096kw3sw2pw1";
    EXPECT_LT(estimate_of(two, few), estimate_of(eight, few));
    EXPECT_LT(estimate_of(eight, many), estimate_of(two, many));
}

// Eight parts a thread, two, staged rows: 461, 118, 39; of short strides 22, 29, 35.
TEST_F(DepthwiseGatherTime, PrefersStagedRowsWhereStridesAreLarge) {
    const std::string eight = "input_gradient_f32_cuda_depthwise_any_any", two = eight + "_small", staged = eight + "_c1x1_staged";
    const char *const large = "n1g1280ic1280oc1280iw938kw32sw16pw8", *const small = "n4g256ic256oc256iw4000kw4sw2pw1";
    EXPECT_LT(estimate_of(staged, large), estimate_of(two, large));
    EXPECT_LT(2 * estimate_of(two, large), estimate_of(eight, large));
    EXPECT_LT(estimate_of(eight, small), estimate_of(two, small));
    EXPECT_LT(estimate_of(two, small), estimate_of(staged, small));
}

}  // namespace
}  // namespace conv_transpose::testing
