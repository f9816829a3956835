// The software pipeline: how the loop is rewritten, and what is refused.
#include <gtest/gtest.h>

#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

TEST(SoftwarePipeline, CopiesAlignedRowsAndLoadsTheRestAhead) {
    const std::string ptx = MatrixProduct().ptx();
    // a is copied in rows of 16 aligned bytes: one before the loop, and one in the loop and in each of its last two
    // turns that still have a chunk ahead of them; 64 rows x 2 are one row a thread.
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy__bytes16, "), 3);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy_commit_"), 3);
    // b is transposed on the way, through registers.
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_multiply"), 3);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy_wait_"), 3);
}

TEST(SoftwarePipeline, KeepsASerialLoopWithoutTheName) {
    MatrixProduct product;
    product.pipelined = false;
    const std::string ptx = product.ptx();
    EXPECT_EQ(count(ptx, "conv_tc_copy"), 0);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_multiply"), 1);
}

TEST(SoftwarePipeline, MoreStagesLetProductsRunOn) {
    MatrixProduct product;
    product.stages = 3;
    EXPECT_GT(count(product.ptx(), "conv_tc_wait__pending1"), 0);
}

TEST(SoftwarePipeline, BoundariesStayConditions) {
    MatrixProduct product;
    product.zero_outside = true;
    EXPECT_EQ(count(product.ptx(), "call.uni (retval0), conv_tc_multiply"), 3);
}

TEST(SoftwarePipeline, RefusesFewerThanTwoStages) {
    try {
        SoftwarePipelinePass pass({1});
        FAIL() << "one stage was accepted";
    } catch (const SoftwarePipelineRefusal &error) {
        EXPECT_NE(std::string(error.what()).find("stages is 1; the rule is at least 2"), std::string::npos);
    }
}

}  // namespace
}  // namespace conv_transpose::testing
