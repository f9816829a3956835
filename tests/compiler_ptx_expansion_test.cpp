// The PTX expansion: the instructions that stand in the place of placeholder calls.
#include <gtest/gtest.h>

#include "compiler/ptx_expansion.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

TEST(PtxExpansion, HopperGetsWgmma) {
    const std::string ptx = expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_90a"));
    EXPECT_EQ(count(ptx, "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32"), 3);
    EXPECT_EQ(count(ptx, "conv_tc_"), count(ptx, "// conv_tc_"));
    EXPECT_EQ(count(ptx, ".target sm_90a"), 1);
    EXPECT_EQ(count(ptx, ".maxntid 32, 4, 1"), 1);
    EXPECT_EQ(count(ptx, "mma.sync.aligned.m16n8k8"), 0);
}

TEST(PtxExpansion, OthersGetMmaSync) {
    const std::string ptx = expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_80"));
    // 32 columns are four fragments; three copies of the loop's body.
    EXPECT_EQ(count(ptx, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), 3 * 4);
    EXPECT_EQ(count(ptx, "wgmma"), 0);
    EXPECT_EQ(count(ptx, "fence.proxy"), 0);
}

TEST(PtxExpansion, TextWithoutCallsStaysAsItIs) {
    MatrixProduct product;
    product.pass = false;
    const std::string ptx = product.ptx();
    EXPECT_EQ(expand_tensor_core_calls(ptx, Architecture("sm_90a")), ptx);
    EXPECT_EQ(expand_tensor_core_calls(ptx, Architecture("sm_50")), ptx);
}

TEST(PtxExpansion, OnlyTensorCoreCodeNeedsTheSpecialArchitecture) {
    MatrixProduct product;
    EXPECT_EQ(Architecture("sm_90").best_for(product.ptx()).name(), "sm_90a");
    EXPECT_EQ(Architecture("sm_80").best_for(product.ptx()).name(), "sm_80");
    product.pass = false;
    EXPECT_EQ(Architecture("sm_90").best_for(product.ptx()).name(), "sm_90");
}

TEST(PtxExpansion, RefusesWhatItCannotDo) {
    EXPECT_THROW(expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_75")), PtxExpansionError);
    EXPECT_THROW(Architecture("sm90"), PtxExpansionError);
    EXPECT_THROW(Architecture("sm_"), PtxExpansionError);
}

}  // namespace
}  // namespace conv_transpose::testing
