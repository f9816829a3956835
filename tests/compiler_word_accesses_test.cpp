// Vectors of elements of 16 bits: which are read and written as words.
#include <gtest/gtest.h>

#include "compiler/passes/word_accesses.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

/// Twice a picture, by vectors that begin at multiples of `apart` elements.
std::string doubled(int lanes, int apart, bool pass) {
    using namespace Halide;
    Var x{"x"}, vector{"vector"}, block{"block"}, lane{"lane"};
    ImageParam picture(Float(16), 2, "picture");
    Func twice{"twice"};
    twice(x, vector) = cast(Float(16), cast<float>(picture(x, vector)) * 2.f);
    picture.set_host_alignment(16);
    twice.output_buffer().set_host_alignment(16);
    for (OutputImageParam tensor : {OutputImageParam(picture), twice.output_buffer()}) {
        tensor.dim(0).set_bounds(0, lanes);
        tensor.dim(1).set_min(0).set_stride(tensor.dim(1).stride() / apart * apart);
    }
    twice.bound(x, 0, lanes).vectorize(x)
        .split(vector, block, lane, 32, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(lane);
    Pipeline p(twice);
    if (pass) p.add_custom_lowering_pass(new WordAccesses);
    return device_ptx(p.compile_to_module({picture}, "doubled", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
}

TEST(WordAccesses, AreOfFourWordsForEightElements) {
    const std::string ptx = doubled(8, 8, true);
    EXPECT_EQ(count(ptx, "st.global.v4.b32"), 1) << ptx;
    EXPECT_EQ(count(ptx, "st.global."), 1);
    EXPECT_EQ(count(ptx, "ld.global."), 1);
    EXPECT_GT(count(doubled(8, 8, false), "ld.global."), 1);
}

// Where eight do not lie at multiples of their size, Halide's own accesses stay.
TEST(WordAccesses, AreOfAlignedVectorsAlone) {
    EXPECT_EQ(count(doubled(8, 4, true), ".v4.b32"), 0);
    EXPECT_EQ(count(doubled(4, 4, true), "ld.global.nc.v2.b32"), 1);
    EXPECT_GT(count(doubled(4, 4, false), "ld.global."), 1);
}

}  // namespace
}  // namespace conv_transpose::testing
