// The software pipeline: how the loop is rewritten, and what is refused.
#include <gtest/gtest.h>

#include "compiler/passes/private_accumulators.h"
#include "compiler/passes/shared_memory.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

TEST(SoftwarePipeline, CopiesAlignedRowsAndLoadsTheRestAhead) {
    const std::string ptx = MatrixProduct().ptx();
    // a is copied in rows of 16 aligned bytes: one before the loop, and one in the loop and in each of its last two
    // turns that still have a chunk ahead of them; 64 rows x 2 are one row a thread.
    EXPECT_EQ(calls(ptx, "copy__bytes16, "), 3);
    EXPECT_EQ(calls(ptx, "copy_commit_"), 3);
    // b is transposed on the way, through registers.
    EXPECT_EQ(calls(ptx, "multiply"), 3);
    EXPECT_EQ(calls(ptx, "copy_wait_"), 3);
}

TEST(SoftwarePipeline, KeepsASerialLoopWithoutTheName) {
    MatrixProduct product;
    product.pipelined = false;
    const std::string ptx = product.ptx();
    EXPECT_EQ(count(ptx, "conv_tc_copy"), 0);
    EXPECT_EQ(calls(ptx, "multiply"), 1);
}

TEST(SoftwarePipeline, MoreStagesLetProductsRunOn) {
    MatrixProduct product;
    product.stages = 3;
    EXPECT_GT(count(product.ptx(), "conv_tc_wait__pending1"), 0);
}

TEST(SoftwarePipeline, CopiesToAllFreeBuffers) {
    MatrixProduct product;
    product.columns = 64, product.columns_of_b = true, product.stages = 5;
    const std::string ptx = product.ptx();
    // One buffer is multiplied, the products of another may still run: three chunks are on their way. The loop and the
    // last three chunks wait until 2, 2, 1, 0 further ones are.
    EXPECT_EQ(calls(ptx, "copy_commit_"), 3 + 1);
    EXPECT_EQ(calls(ptx, "copy_wait__pending2"), 2);
    EXPECT_EQ(calls(ptx, "copy_wait__pending1"), 1);
    EXPECT_EQ(calls(ptx, "copy_wait__pending0"), 1);
    EXPECT_EQ(calls(ptx, "wait__pending1"), 4);
}

TEST(SoftwarePipeline, BoundariesStayConditions) {
    MatrixProduct product;
    product.zero_outside = true;
    EXPECT_EQ(calls(product.ptx(), "multiply"), 3);
}

/// Sums over chunks of rows, which are staged in shared memory; they meet a table there, before the loop or behind it.
std::string rows_and_a_table(bool before) {
    using namespace Halide;
    Var x{"x"}, y{"y"}, block{"block"}, lane{"lane"};
    RVar pipeline{"pipeline"}, row{"row"};
    ImageParam picture(Float(32), 2, "picture"), factors(Float(32), 1, "factors");
    Func staged{"staged"}, table{"table"}, sum{"sum"}, result{"result"};
    RDom r(0, 64, "r");
    staged(x, y) = picture(x, y);
    table(x) = factors(x) * 2.f;
    sum(x) = 0.f;
    sum(x) += before ? staged(x, r) * table(31 - x % 32) : staged(x, r);
    result(x) = before ? sum(x) : sum(x) * table(31 - x % 32);
    result.split(x, block, lane, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(lane);
    sum.compute_at(result, block).store_in(MemoryType::Register).bound_extent(x, 32).gpu_threads(x);
    sum.update().split(r, pipeline, row, 8).reorder(row, x, pipeline).gpu_threads(x);
    staged.compute_at(sum, pipeline).store_in(MemoryType::GPUShared).bound_extent(x, 32).bound_extent(y, 8).gpu_threads(x);
    table.compute_at(result, block).store_in(MemoryType::GPUShared).bound_extent(x, 32).gpu_threads(x);
    Pipeline p(result);
    p.add_custom_lowering_pass(new PrivateAccumulators);
    p.add_custom_lowering_pass(new SoftwarePipelinePass({.stages = 2, .single_floats = true}));
    return device_ptx(p.compile_to_module({picture, factors}, "rows",
                                          Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
}

TEST(SoftwarePipeline, LeavesSharedMemoryToWhatFollowsTheLoop) {
    EXPECT_GT(count(rows_and_a_table(false), "st.shared"), 0);
}

TEST(SoftwarePipeline, RefusesSharedMemoryThatOutlivesTheLoop) {
    EXPECT_THROW(rows_and_a_table(true), SoftwarePipelineRefusal);
}

// LLVM makes an offset of a load of what is added last.
TEST(SoftwarePipeline, ConstantsOfIndicesAreAddedLast) {
    using namespace Halide::Internal;
    const Halide::Expr lane = Variable::make(Halide::Int(32), "lane"),
                       buffer = Variable::make(Halide::Int(32), "buffer");
    const Stmt read = Evaluate::make(Load::make(Halide::Float(32), "shared", lane * 4 + 3, Halide::Buffer<>(),
                                                Halide::Parameter(), const_true(), ModulusRemainder()));
    const auto index = [&](bool constants_last) {
        const Stmt moved = shifted_in_shared_memory(read, "shared", buffer, constants_last);
        return moved.as<Evaluate>()->value.as<Load>()->index;
    };
    EXPECT_TRUE(equal(index(true), (lane * 4 + buffer) + 3)) << index(true);
    EXPECT_TRUE(equal(index(false), (lane * 4 + 3) + buffer)) << index(false);
}

/// The staged rows of b are as many as a warpgroup has threads, so that no condition stands around them.
MatrixProduct product_with_producer() {
    MatrixProduct product;
    product.columns = 64;
    return with_producer(product);
}

TEST(SoftwarePipeline, AProducerStagesForTwoConsumers) {
    const std::string ptx = product_with_producer().ptx();
    EXPECT_EQ(calls(ptx, "launch__blocks1_consumers256_x32_y4_z3, "), 1);
    // 128 rows x 2 of a are two a thread.
    EXPECT_EQ(calls(ptx, "copy__bytes16, "), 2);
    // A chunk is handed over to each consumer.
    EXPECT_EQ(calls(ptx, "barrier_arrive__threads256, "), 2);
    EXPECT_EQ(calls(ptx, "barrier_sync__threads384, "), 1);
    // The first chunk is multiplied before the loop over the others: no stage is given back there.
    EXPECT_EQ(calls(ptx, "multiply"), 2);
    EXPECT_EQ(calls(ptx, "barrier_sync__threads256, "), 2);
    EXPECT_EQ(calls(ptx, "barrier_arrive__threads384, "), 1);
    // A thread has 168 registers at launch: a producer's keeps 40 of them, so that the consumers' get 232.
    EXPECT_EQ(calls(ptx, "fewer_registers__count40, "), 1);
    EXPECT_EQ(calls(ptx, "more_registers__count232, "), 1);
}

TEST(SoftwarePipeline, RefusesAProducerThatCannotBe) {
    MatrixProduct product = product_with_producer();
    product.staging_warpgroups = 2;
    expect_refusal(product, "one warpgroup, but those with z = 1 stage, too");
    product = product_with_producer();
    product.stages = 8;
    expect_refusal(product, "stages is 8; with a producer and 2 consumers the rule is at most 5");
    product = product_with_producer();
    for (const int registers : {16, 36, 176}) {
        product.options.producer_registers = registers;
        expect_refusal(product, "the rule is a multiple of 8 from 24 to the 168 at launch");
    }
}

TEST(SoftwarePipeline, RefusesFewerThanTwoStages) {
    expect_words(refusal([] { SoftwarePipelinePass({.stages = 1}); }), {"stages is 1; the rule is at least 2"});
}

}  // namespace
}  // namespace conv_transpose::testing
