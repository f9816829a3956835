// Kernels that are launched early: every one waits for its predecessor before anything else.
#include <gtest/gtest.h>

#include "compiler/ptx/early_launch.h"
#include "compiler/ptx/ptx_expansion.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

const std::string kernels =
    ".version 7.0\n.target sm_80\n.visible .entry first(\n\t.param .u32 n\n)\n{\n\tret;\n\n}\n"
    ".visible .entry second(\n\t.param .u32 n\n)\n{\n\t.reg .b32 %r<2>;\n{ .reg .b32 low; }\n\tret;\n\n}\n";
const std::string beginning = "{\n\tgriddepcontrol.wait;\n";

TEST(EarlyLaunch, EveryKernelBeginsWithTheWait) {
    for (const char *gpu : {"sm_90", "sm_90a", "sm_100"}) {
        const std::string text = launched_early(kernels, Architecture(gpu));
        EXPECT_EQ(count(text, beginning), 2) << gpu;
        EXPECT_EQ(count(text, "griddepcontrol"), 2) << gpu;
        EXPECT_EQ(count(text, ".version 7.8\n.target sm_90\n"), 1) << gpu;
    }
}

TEST(EarlyLaunch, TextThatAsksForMoreKeepsIt) {
    const std::string text =
        launched_early(expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_90a")), Architecture("sm_90a"));
    EXPECT_EQ(count(text, ".version 8.0"), 1);
    EXPECT_EQ(count(text, ".target sm_90a"), 1);
    EXPECT_EQ(count(text, beginning), 1);
}

TEST(EarlyLaunch, EarlierGpusHaveNoSuchInstructions) { EXPECT_EQ(launched_early(kernels, Architecture("sm_80")), kernels); }

}  // namespace
}  // namespace conv_transpose::testing
