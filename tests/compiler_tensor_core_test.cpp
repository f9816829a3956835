// The tensor-core pass: what it recognises and what it refuses, with which words.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "compiler/passes/placeholder_calls.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

TEST(TensorCorePass, ReplacesEveryNestOfAMatrixProduct) {
    MatrixProduct product;
    product.pipelined = false;
    const std::string ptx = product.ptx();
    expect_words(ptx, {"conv_tc_launch__blocks1_x32_y4_z1", "conv_tc_clear__m64_n32_r1_tile0",
                       "conv_tc_multiply__ak1024_bk512_br0_bs128_k8_m64_n32_r1_row0_tile0", "conv_tc_turn__half0_m64_n32_pitch40",
                       "conv_tc_store_pair_"});
}

TEST(TensorCorePass, TakesGroupsOfColumnsWithTheirDistance) {
    MatrixProduct product;
    product.run = 8;
    expect_words(product.ptx(), {"conv_tc_multiply__ak1024_bk512_br0_bs128_k8_m64_n32_r1_row0_tile0"});
}

TEST(TensorCorePass, RefusesGroupsOfOtherThan8Columns) {
    MatrixProduct product;
    product.run = 16;
    expect_words(refusal(product), {"mma_n has extent 16 beside mma_n_group", "the rule is 8"});
}

TEST(TensorCorePass, MultipliesSetsOf64RowsApartAndStoresThemTogether) {
    MatrixProduct product;
    product.rows = 128, product.alternating = 2;
    const std::string ptx = product.ptx();
    expect_words(ptx, {"_k8_m64_n32_r1_row0_tile0", "_k8_m64_n32_r1_row1_tile0", "_pitch80_r1_rep0_row0_tile0_tiles2"});
    // Pairs of neighbours, one from each set.
    EXPECT_GT(count(ptx, "conv_tc_store_pair_"), 0);
}

TEST(TensorCorePass, RefusesToInterleaveMoreThanTwoSets) {
    MatrixProduct product;
    product.rows = 192, product.alternating = 3;
    expect_words(refusal(product), {"mma_m_tile runs over 192 rows", "the rule is 128"});
}

TEST(TensorCorePass, AddsTheTilesOfAClusterBeforeItStores) {
    MatrixProduct product;
    product.pipelined = false, product.row_stores = true, product.adds_in_clusters = true;
    const std::string ptx = product.ptx();
    expect_words(ptx, {"conv_tc_cluster_sum__n32_pitch40_rows16", "conv_tc_row_store"});
    for (const char *call : {"cluster_arrive_", "cluster_wait_"})
        EXPECT_EQ(calls(ptx, call), 2) << call;
    product.row_stores = false;
    expect_words(refusal(product), {"blocks of a cluster add tiles that are stored by rows or in runs, one tile each"});
    product.run_stores = true;
    expect_words(product.ptx(), {"conv_tc_cluster_sum__n32_pitch40_rows16", "conv_tc_store_run_"});
}

// Nothing makes a second buffer of it then.
TEST(TensorCorePass, GivesTheTurnItsMemoryWhereThereIsASingleChunk) {
    MatrixProduct product;
    product.stages = 3, product.terms = product.k_at_once, product.columns = 128;
    const Halide::Module module = product.lower();
    std::ostringstream text;
    for (const auto &function : module.functions()) text << function.body;
    std::smatch floats;
    const std::string host = text.str();
    ASSERT_TRUE(std::regex_search(host, floats, std::regex("halide_cuda_run\\(.* \\+ \\(([0-9]+)\\*4\\)"))) << host;
    EXPECT_GE(std::stoi(floats[1]), 4 * 8 * (128 + 8));  // of each of four warps eight rows of all columns
}

TEST(TensorCorePass, LeavesOtherKernelsAlone) {
    MatrixProduct product;
    product.pass = false;
    EXPECT_EQ(count(product.ptx(), "conv_tc_"), 0);
}

TEST(TensorCorePass, RefusesRowsThatAreNoMultipleOf64) {
    MatrixProduct product;
    product.rows = 32;
    expect_words(refusal(product), {"mma_m has extent 32", "multiple of 64"});
}

TEST(TensorCorePass, RefusesColumnsThatAreNoMultipleOf8) {
    MatrixProduct product;
    product.columns = 20;
    expect_words(refusal(product), {"mma_n has extent 20", "multiple of 8"});
}

TEST(TensorCorePass, RefusesMoreAccumulatorsThanAThreadHasRegisters) {
    MatrixProduct product;
    product.rows = 128, product.columns = 248;
    expect_words(refusal(product), {".s0.", "248 registers"});
}

TEST(TensorCorePass, RefusesAnOddNumberOfGroupsOfFour) {
    MatrixProduct product;
    product.k_at_once = 4;
    expect_words(refusal(product), {"mma_k has extent 4", "even number"});
}

TEST(TensorCorePass, RefusesOperandsOutsideOfSharedMemory) {
    MatrixProduct product;
    product.staged_in_shared_memory = false;
    expect_words(refusal(product), {".s1.", "is not a load from shared memory"});
}

TEST(TensorCorePass, RefusesATileThatSeveralLanesShare) {
    MatrixProduct product;
    product.one_lane = false;
    expect_words(refusal(product), {"one lane"});
}

TEST(PlaceholderCall, ReadsWhatItWrites) {
    const PlaceholderCall call{"multiply", {{"m", 64}, {"n", 152}}};
    EXPECT_EQ(call.name(), "conv_tc_multiply__m64_n152");
    const PlaceholderCall read = PlaceholderCall::parse(call.name());
    EXPECT_EQ(read.kind, "multiply");
    EXPECT_EQ(read.fields, call.fields);
    EXPECT_EQ(PlaceholderCall::parse(PlaceholderCall{"commit", {}}.name()).kind, "commit");
    EXPECT_THROW(PlaceholderCall::parse("printf"), std::invalid_argument);
    EXPECT_THROW(PlaceholderCall::parse("conv_tc_clear__m"), std::invalid_argument);
    EXPECT_THROW(read.field("k"), std::invalid_argument);
}

}  // namespace
}  // namespace conv_transpose::testing
