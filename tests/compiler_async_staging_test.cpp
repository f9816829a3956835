// Asynchronous staging: which stores become copies, how the loop is rewritten, and what is refused.
#include <gtest/gtest.h>

#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

TEST(AsyncStaging, CopiesAlignedRowsAndLoadsTheRestAhead) {
    const std::string ptx = MatrixProduct().ptx();
    // a is copied in rows of 16 aligned bytes: one before the loop, and one in the loop and in each of its last two
    // turns that still have a chunk ahead of them; 64 rows x 2 are one row a thread.
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy__bytes16, "), 3);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy_commit_"), 3);
    // b is transposed on the way, through registers.
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_multiply"), 3);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy_wait_"), 3);
}

TEST(AsyncStaging, KeepsASerialLoopWithoutTheName) {
    MatrixProduct product;
    product.pipelined = false;
    const std::string ptx = product.ptx();
    EXPECT_EQ(count(ptx, "conv_tc_copy"), 0);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_multiply"), 1);
}

TEST(AsyncStaging, MoreStagesLetProductsRunOn) {
    MatrixProduct product;
    product.stages = 3;
    EXPECT_GT(count(product.ptx(), "conv_tc_wait__pending1"), 0);
}

TEST(AsyncStaging, BoundariesStayConditions) {
    MatrixProduct product;
    product.zero_outside = true;
    EXPECT_EQ(count(product.ptx(), "call.uni (retval0), conv_tc_multiply"), 3);
}

TEST(AsyncStaging, RefusesFewerThanTwoStages) {
    try {
        AsyncStagingPass pass({1});
        FAIL() << "one stage was accepted";
    } catch (const AsyncStagingRefusal &error) {
        EXPECT_NE(std::string(error.what()).find("stages is 1; the rule is at least 2"), std::string::npos);
    }
}

/// Sums of two neighbours of `scale` times a picture with a zero border, staged in shared memory.
std::string neighbours(float scale, bool pass) {
    using namespace Halide;
    Var x{"x"}, block{"block"}, lane{"lane"}, round{"round"};
    ImageParam picture(Float(32), 1, "picture");
    Func bordered = BoundaryConditions::constant_exterior(picture, 0.f), staged{"staged"}, sum{"sum"};
    staged(x) = scale == 1.f ? bordered(x) : bordered(x) * scale;
    sum(x) = staged(x) + staged(x + 1);
    sum.split(x, block, lane, 32, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(lane).never_partition_all();
    staged.compute_at(sum, block).store_in(MemoryType::GPUShared).bound_extent(x, 33);
    staged.split(x, round, lane, 32, TailStrategy::GuardWithIf).gpu_threads(lane).never_partition_all();
    Pipeline p(sum);
    if (pass) p.add_custom_lowering_pass(new AsyncCopyPass);
    return device_ptx(p.compile_to_module({picture}, "neighbours", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
}

TEST(AsyncCopy, MovesSingleFloatsPastTheRegisters) {
    const std::string ptx = neighbours(1.f, true);
    EXPECT_GT(count(ptx, "call.uni (retval0), conv_tc_copy__bytes4, "), 0);
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_copy_wait_"), 1);
    EXPECT_EQ(count(ptx, "st.shared"), 0);
    EXPECT_GT(count(neighbours(1.f, false), "st.shared"), 0);
}

TEST(AsyncCopy, LeavesWhatIsChangedOnTheWay) {
    const std::string ptx = neighbours(3.f, true);
    EXPECT_EQ(count(ptx, "conv_tc_"), 0);
    EXPECT_GT(count(ptx, "st.shared"), 0);
}

}  // namespace
}  // namespace conv_transpose::testing
