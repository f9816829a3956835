// Kernels of 16 bits: what estimates make of few positions, of blocks with few taps beside others, and of groups in channels_last,
// beside what an H200 took, in microseconds (2026-12-01).
#include <gtest/gtest.h>

#include <string>

#include "gpu_estimates.h"

namespace conv_transpose::testing {
namespace {

constexpr TensorFormat first{ElementType::float16, Layout::channels_first}, last{ElementType::float16, Layout::channels_last};

double estimate_of(const std::string &kernel, const char *problem, TensorFormat format) {
    return estimated_microseconds(kernel, problem, has_estimate, format);
}

const std::string gather = "weight_gradient_f16_cuda_gather_any_any_result",
                  products = "weight_gradient_f16_cuda_implicit_gemm_any_nhwc_";

class HalfPrecisionTime : public GpuEstimates {};

// One launch, 3.2 beside 5.9 and 2.3 beside 4.9, and its formula within a third.
TEST_F(HalfPrecisionTime, WeightGradientsOfFewPositionsAreGathered) {
    const char *const pictures = "n16ic24oc12ih2iw2kh4kw4sh2sw2ph1pw1", *const volume = "n1ic4oc1id3ih3iw3kd3kh3kw3sd2sh2sw2pd1ph1pw1";
    EXPECT_LT(estimate_of(gather, pictures, first), estimate_of(products + "c8x64", pictures, first));
    EXPECT_LT(estimate_of(gather, volume, last), estimate_of(products + "c8x64", volume, last));
    EXPECT_NEAR(estimate_of(gather, pictures, first), 3.2, 1);
}

// Warps wait at every 32 positions, and with many channels blocks wait for others: 20.8 beside 6.7, 11.5 beside 6.3.
TEST_F(HalfPrecisionTime, GathersWaitForPositionsAndForChannels) {
    for (const char *problem : {"n8ic48oc24iw100kw3pw1", "n1ic192oc192ih6iw6kh2kw2sh2sw2"})
        EXPECT_GT(estimate_of(gather, problem, first), 1.2 * estimate_of(products + "maps_t1c64", problem, first)) << problem;
}

// Output gradients of 3 and 8 channels: 316 beside 439, 17 and 29; of 32 channels 36 beside 23.
TEST_F(HalfPrecisionTime, WindowsOfNarrowRowsTakeLonger) {
    for (const char *problem : {"n8ic1024oc3ih128iw128kh5kw5ph2pw2", "n4ic256oc8ih64iw64kh5kw5ph2pw2"})
        EXPECT_LT(estimate_of(products + "c8x64", problem, last), estimate_of(products + "maps_w5", problem, last)) << problem;
    const char *const wide = "n4ic64oc32ih128iw128kh5kw5";
    EXPECT_LT(estimate_of(products + "maps_w5", wide, last), estimate_of(products + "c32x64", wide, last));
}

// Few threads, each of whose products waits for its loads: 9 beside 30, 12 beside 35.
TEST_F(HalfPrecisionTime, GathersOfManyChannelsWaitForEach) {
    const std::string gradient = "input_gradient_f16_cuda_";
    for (const char *problem : {"n4ic2oc32ih32iw32kh4kw4sh2sw2ph1pw1", "n64ic2oc64ih14iw14kh3kw3ph1pw1"})
        EXPECT_GT(estimate_of(gradient + "gather_any_any_few", problem, first),
                  1.5 * estimate_of(gradient + "implicit_gemm_any_ncdhw_taps_64x128", problem, first))
            << problem;
}

// Four blocks, of one to four taps: 5.1, of which products are a third.
TEST_F(HalfPrecisionTime, WhatComesBesideProductsIsNoLongerOfManyTaps) {
    EXPECT_LT(estimate_of("forward_f16_cuda_implicit_gemm_any_nhwc_weight_maps_128x64",
                          "n8ic144oc64ih4iw4kh3kw3sh2sw2ph1pw1oph1opw1", last), 8);
}

// Packed taps of single channels bring as much as a line each: 5527 and 973, in which what is packed is 655 and 268 MB.
TEST_F(HalfPrecisionTime, TapsOfGroupsLieApartInChannelsLast) {
    const auto by_taps = [](const char *text) {
        const std::string kernel = "input_gradient_f16_cuda_implicit_gemm_any_ndhwc_weight_maps_any_128x64";
        const auto candidate = gpu_candidate(kernel, text, has_estimate, last);
        if (!candidate) return 0.0;
        for (const Computation &c : computations(candidate->kernel, text, last))
            if (c.by_taps) return 1e6 * estimated_time({candidate->kernel, c}, h200);
        ADD_FAILURE() << "no computation packs taps of " << text;
        return 0.0;
    };
    EXPECT_GT(by_taps("n8g64ic64oc64ih100iw100kh8kw8sh4sw4ph2pw2"), 3500);
    EXPECT_GT(by_taps("n2g256ic256oc256ih64iw64kh8kw8sh4sw4ph2pw2"), 650);
}

}  // namespace
}  // namespace conv_transpose::testing
