// Products on CUDA cores that read weights as they are given, and gathers beside them: which an estimate prefers, beside what an
// H200 took, in microseconds (2026-11-30).
#include <gtest/gtest.h>

#include <string>

#include "gpu_estimates.h"

namespace conv_transpose::testing {
namespace {

double estimate_of(const std::string &kernel, const char *problem) {
    return estimated_microseconds(kernel, problem, has_estimate);
}

const std::string gather = "input_gradient_f32_cuda_gather_any_any", taps = "input_gradient_f32_cuda_implicit_gemm_any_",
                  forward = "forward_f32_cuda_implicit_gemm_any_nchw_", phases = forward + "sub_pixel_given_";

class GivenWeightsTime : public GpuEstimates {};

// Strides of 10 and 6 and kernels of one position, which a gather reads once: 41 beside 70 of the product, 82 and 147, 58 and 90.
TEST_F(GivenWeightsTime, GathersOfFewChannelsDoNotWaitForStridesOrSums) {
    for (const char *problem : {"n32ic5oc1iw30000kw20sw10pw5", "n32g4ic20oc8iw16000kw12sw6pw3"})
        EXPECT_LT(estimate_of(gather, problem), estimate_of(taps + "nchw_taps_given_c16", problem)) << problem;
    const char *const one = "n4ic64oc1id24ih64iw128kd1kh1kw1";
    EXPECT_LT(estimate_of(gather, one), estimate_of(taps + "ncdhw_taps_given_c64", one));
}

// Of many taps products are faster: 12 beside 22, 31 and 53, 4.6 and 16.
TEST_F(GivenWeightsTime, ProductsSumManyTapsOfFewChannels) {
    const char *const picture = "n1ic64oc1ih256iw256kh4kw4sh2sw2ph1pw1", *const volume = "n4ic72oc5id24ih24iw24kd2kh2kw2sd2sh2sw2",
                     *const small = "n2ic48oc1id5ih28iw28kd3kh3kw3sd2sh2sw2pd1ph1pw1opd1oph1opw1";
    EXPECT_LT(estimate_of(taps + "nchw_taps_given_c64", picture), estimate_of(gather, picture));
    EXPECT_LT(estimate_of(taps + "ncdhw_taps_given_c32", volume), estimate_of(gather, volume));
    EXPECT_LT(estimate_of(taps + "ncdhw_taps_given_c16", small), estimate_of(gather, small));
}

// In channels_last, few channels from 256, of which nothing stays in the first cache: 9771 beside 3451; from 6, 43.
TEST_F(GivenWeightsTime, GathersReadPixelsThatLieApart) {
    constexpr TensorFormat last{ElementType::float32, Layout::channels_last};
    const std::string vectors = "input_gradient_f32_cuda_gather_any_nhwc";
    const char *const many = "n16ic4oc256ih128iw128kh7kw7sh2sw2ph3pw3oph1opw1", *const few = "n8ic12oc6id32ih32iw32kd2kh2kw2sd2sh2sw2";
    EXPECT_NEAR(estimated_microseconds(vectors, many, has_estimate, last), 9771, 1000);
    EXPECT_NEAR(estimated_microseconds(vectors, few, has_estimate, last), 43, 5);
}

// 4.6 beside 7.3 of a small block that shares out its sum; of 1024 terms 64 beside 18.
TEST_F(GivenWeightsTime, LongSumsAreSharedOut) {
    const char *const one_launch = "n2ic48oc1id5ih28iw28kd3kh3kw3sd2sh2sw2pd1ph1pw1opd1oph1opw1",
                     *const long_sum = "n16ic128oc4ih4iw4kh16kw16sh8sw8ph4pw4";
    EXPECT_LT(estimate_of(taps + "ncdhw_taps_given_c16", one_launch), estimate_of(taps + "ncdhw_small_c32", one_launch));
    EXPECT_GT(estimate_of(taps + "ncdhw_taps_given_c16", long_sum), 2 * estimate_of(taps + "ncdhw_small_c16", long_sum));
}

// Phases as channels, in tiles of 32 and 64: 31 and 38, 66 and 79; of few channels 10.0 by tiles of 16, 12.6 with phases apart.
TEST_F(GivenWeightsTime, TilesOfPhasesAreThoseThatStoreSooner) {
    for (const char *problem : {"n1ic32oc8ih112iw112kh8kw8sh8sw8", "n1ic48oc24iw30000kw20sw10pw5"})
        EXPECT_LT(estimate_of(phases + "c32", problem), estimate_of(phases + "c64", problem)) << problem;
    const char *const few = "n2ic12oc12ih96iw96kh4kw4sh2sw2ph1pw1";
    EXPECT_LT(estimate_of(phases + "c16", few), estimate_of(forward + "c16", few));
}

}  // namespace
}  // namespace conv_transpose::testing
