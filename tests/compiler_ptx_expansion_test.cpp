// The PTX expansion: the instructions that stand in the place of placeholder calls.
#include <gtest/gtest.h>

#include <regex>

#include "compiler/ptx/ptx_expansion.h"
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

// A tensor may begin at any element.
TEST(PtxExpansion, StoresPairsTogetherWhereTheyLieOnEightBytes) {
    const std::string ptx = expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_90a"));
    const int together = count(ptx, "@aligned st.global.v2.b32");
    EXPECT_GT(together, 0);
    EXPECT_EQ(count(ptx, "and.b32 low, low, 7; setp.eq.u32 aligned, low, 0;"), together);
    EXPECT_EQ(count(ptx, "st.global.v2"), together);
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

// LLVM may copy the value of a load that stands for its address, where paths join: the address is copied along.
TEST(PtxExpansion, AddressesFollowCopiesOfWhatWasLoaded) {
    MatrixProduct product;
    product.columns_of_b = true;
    const std::string ptx = product.ptx();
    const std::string usual = expand_tensor_core_calls(ptx, Architecture("sm_80"));
    std::smatch load;
    ASSERT_TRUE(std::regex_search(ptx, load, std::regex("ld\\.global[^%]*\\{?(%[a-z]+[0-9]+)[^\n]*\n")));
    const std::string value = load[1], argument = "[param1], " + value + ";";
    ASSERT_EQ(count(ptx, argument), 1) << "the first load does not stand for an address";
    std::string copied = ptx;
    copied.replace(copied.find(argument), argument.size(), "[param1], %r99999;");
    copied.insert(load.position() + load.length(), "\tmov.b32 \t%r88888, " + value + ";\n\tmov.b32 \t%r99999, %r88888;\n");
    const std::string expanded = expand_tensor_core_calls(copied, Architecture("sm_80"));
    EXPECT_EQ(count(expanded, "mov.b64 \t%tc_address"), count(usual, "mov.b64 \t%tc_address") + 2);
    EXPECT_EQ(count(expanded, "cp.async."), count(usual, "cp.async."));

    copied.replace(copied.find("%r88888, " + value), 9 + value.size(), "%r88888, %r77777");
    EXPECT_THROW(expand_tensor_core_calls(copied, Architecture("sm_80")), PtxExpansionError);
}

// A single thread may copy to a place that is known while compiling; ptxas takes no constant as an address.
TEST(PtxExpansion, CopiesToConstantPlaces) {
    const std::string ptx = MatrixProduct().ptx();
    std::smatch call;
    ASSERT_TRUE(std::regex_search(ptx, call, std::regex("\\[param0\\], (%r[0-9]+);(?=[^}]*conv_tc_copy__bytes)")));
    std::string constant = ptx;
    constant.replace(call.position(), call.length(), "[param0], 640;");
    const std::string expanded = expand_tensor_core_calls(constant, Architecture("sm_80"));
    EXPECT_EQ(count(expanded, "mov.b32 constant, 640; cp.async."), 1);
    EXPECT_EQ(count(expanded, ".global [640]"), 0);
    EXPECT_EQ(count(expanded, "cp.async."), count(expand_tensor_core_calls(ptx, Architecture("sm_80")), "cp.async."));
}

TEST(PtxExpansion, RefusesWhatItCannotDo) {
    EXPECT_THROW(expand_tensor_core_calls(MatrixProduct().ptx(), Architecture("sm_75")), PtxExpansionError);
    EXPECT_THROW(Architecture("sm90"), PtxExpansionError);
    EXPECT_THROW(Architecture("sm_"), PtxExpansionError);
}

}  // namespace
}  // namespace conv_transpose::testing
