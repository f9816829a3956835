// Bulk copies: how staging by one thread becomes them, and what is refused.
#include <gtest/gtest.h>

#include "compiler/ptx/ptx_expansion.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

MatrixProduct product_by_bulk_copies() {
    MatrixProduct product;
    product.packed = product.columns_of_b = true;
    product.staging_threads = 1;
    return product;
}

TEST(BulkCopies, RowsSideBySideAreOneCopy) {
    const std::string ptx = product_by_bulk_copies().ptx();
    // One before the loop, in the loop, and in its last turns. 64 rows of a are one copy for each of two k4, rows of b
    // lie apart.
    EXPECT_EQ(calls(ptx, "bulk_copy__bytes1024, "), 3);
    EXPECT_EQ(calls(ptx, "bulk_copy__bytes16, "), 3);
    // All bytes of a chunk: 2 * (64 + 32) rows of 16.
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes3072, "), 3);
    EXPECT_EQ(calls(ptx, "mbarrier_init__count1, "), 2);
    EXPECT_EQ(calls(ptx, "mbarrier_wait_, "), 3);
    EXPECT_EQ(calls(ptx, "copy_wait_"), 0);
    EXPECT_EQ(count(ptx, "st.shared"), 0);
}

TEST(BulkCopies, AProducerStartsThem) {
    MatrixProduct product = with_producer(product_by_bulk_copies());
    product.stages = 4;
    const std::string ptx = product.ptx();
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes5120, "), 1);
    // All threads wait until the barriers are there; each consumer waits for the first chunk and for those of the loop.
    EXPECT_EQ(calls(ptx, "barrier_sync__threads384, "), 1 + 1);
    EXPECT_EQ(calls(ptx, "mbarrier_wait_, "), 2);
    EXPECT_EQ(calls(ptx, "barrier_arrive__threads256, "), 0);
    EXPECT_EQ(calls(ptx, "barrier_arrive__threads384, "), 1);
}

TEST(BulkCopies, AProducerBeginsFurtherTiles) {
    MatrixProduct product = with_producer(product_by_bulk_copies());
    product.stages = 4, product.row_stores = true, product.options.resident_blocks = 132;
    const std::string ptx = product.ptx();
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes5120, "), 1);
    // Until the barriers are there, for a stage in the loop, and behind the last tile for each of four. Consumers meet nowhere.
    EXPECT_EQ(calls(ptx, "barrier_sync__threads384, "), 1 + 1 + 4);
    EXPECT_EQ(count(ptx, "bar.sync"), 0);
    // Every chunk's stage is told to be empty, the last one's behind its products.
    EXPECT_EQ(calls(ptx, "barrier_arrive__threads384, "), 2);
    // Behind four stages of 5120 bytes, at multiples of 1024, and their barriers, eight rows of each warp at a time.
    EXPECT_EQ(calls(ptx, "turn__at20512_half0_m64_n32_pitch40_r1_rep0_row0_rows8_tile0_tiles1, "), 1);
    EXPECT_EQ(calls(ptx, "turn__at20512_half1_m64_n32_pitch40_r1_rep0_row0_rows8_tile0_tiles1, "), 1);
    EXPECT_EQ(calls(ptx, "row_store__format0, "), 2 * 2);
    product.options.producer = false, product.staging_warpgroups = 0;
    expect_refusal(product, "resident_blocks is 132 without a producer");
}

MatrixProduct product_stored_by_boxes() {
    MatrixProduct product = with_producer(product_by_bulk_copies());
    product.type = product.type_of_b = Halide::Float(16), product.k_at_once = 16;
    product.stages = 4, product.row_stores = product.box_stores = true, product.options.resident_blocks = 132;
    return product;
}

TEST(BulkCopies, TheCopyEngineStoresBoxes) {
    const std::string ptx = product_stored_by_boxes().ptx();
    // Columns of 64 bytes of 64 rows are one box, of whose sums a lane has 16, in pairs.
    EXPECT_EQ(calls(ptx, "sum_of_register__"), 16);
    EXPECT_EQ(calls(ptx, "pair_of_sums__format1, "), 8);
    EXPECT_EQ(calls(ptx, "box_store__map1, "), 1);
    // Before the tile, and behind the last.
    EXPECT_EQ(calls(ptx, "box_wait_, "), 2);
    expect_words(ptx, {"conv_tc_box_publish_", "conv_tc_box_commit_", "conv_tc_row_store"});
    const std::string hopper = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    expect_words(hopper, {"cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group", "cp.async.bulk.wait_group.read 0;"});
    EXPECT_THROW(expand_tensor_core_calls(ptx, Architecture("sm_80")), PtxExpansionError);
}

TEST(BulkCopies, RefusesBoxesThatCannotBeStored) {
    MatrixProduct product = product_stored_by_boxes();
    product.scales_rows = true;
    expect_words(refusal(product), {"what boxes store may depend on the column, not on the row"});
    product = product_stored_by_boxes(), product.options.resident_blocks = 0;
    expect_words(refusal(product), {"boxes are stored of 16 bits", "while a block's further tiles are on their way"});
    product = product_stored_by_boxes(), product.type = product.type_of_b = Halide::Float(32), product.k_at_once = 8;
    expect_words(refusal(product), {"boxes are stored of 16 bits"});
}

TEST(BulkCopies, AnOperandIsKeptForFurtherTiles) {
    MatrixProduct product = with_producer(product_by_bulk_copies());
    product.stages = 4, product.row_stores = product.keeps_b = true;
    product.options.resident_blocks = 132, product.options.tiles_in_rounds = true, product.options.kept_chunks = 8;
    const std::string ptx = product.ptx();
    // With the first tile 1024 bytes of b come, too: two places of copies, of which that of b is behind a condition.
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes5120, "), 1);
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes4096, "), 1);
    // Four stages of 4096 bytes of a, eight chunks of b, barriers, and then what stores use.
    EXPECT_EQ(calls(ptx, "turn__at24608_half0_m64_n32_pitch40_r1_rep0_row0_rows8_tile0_tiles1, "), 1);
    product.options.tiles_in_rounds = false;
    expect_refusal(product, "kept_chunks is 8 without resident blocks whose tiles are in rounds");
    product.options.tiles_in_rounds = true, product.keeps_b = false;
    expect_refusal(product, "stage an operand of 0 floats; the rule is a multiple of 256");
}

TEST(BulkCopies, HaveInstructionsOnHopperAndLoopsElsewhere) {
    const std::string ptx = product_by_bulk_copies().ptx();
    const std::string hopper = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    EXPECT_EQ(count(hopper, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ["), 6);
    EXPECT_EQ(count(hopper, "mbarrier.arrive.expect_tx.shared::cta.b64 _, ["), 3);
    const std::string other = expand_tensor_core_calls(ptx, Architecture("sm_80"));
    EXPECT_EQ(count(other, "cp.async"), 0);
    EXPECT_EQ(count(other, "mbarrier.arrive.shared.b64 state, ["), 3);
    EXPECT_EQ(count(other, ".version 7.1"), 1);
}

MatrixProduct product_by_boxes() {
    MatrixProduct product = product_by_bulk_copies();
    product.packed = false, product.boxed = true;
    return product;
}

TEST(BulkCopies, BoxesOfATensorAreOneCopy) {
    const std::string ptx = product_by_boxes().ptx();
    EXPECT_EQ(calls(ptx, "tensor_copy__coordinates3_map0_offsets1, "), 3);
    EXPECT_EQ(calls(ptx, "bulk_expect__bytes3072, "), 3);
    EXPECT_EQ(calls(ptx, "multiply__ak16_asw32_bk512_br0_bs128_k8_m64_n32_r1_row0_tile0, "), 3);
    const std::string hopper = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    EXPECT_EQ(count(hopper,
                    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                    "[to], [map, {"),
              3);
    EXPECT_EQ(count(hopper, ", .param .align 64 .b8 "), 1);
    EXPECT_FALSE(Architecture("sm_80").has_instructions_of(ptx));
    EXPECT_THROW(expand_tensor_core_calls(ptx, Architecture("sm_80")), PtxExpansionError);
}

TEST(BulkCopies, RowsOfATileAreStoredAtOnce) {
    MatrixProduct product = product_by_boxes();
    product.row_stores = true;
    const std::string ptx = product.ptx();
    // 16 rows of 32 columns a warp: 8 lanes a row, 4 columns each.
    EXPECT_EQ(calls(ptx, "row_store__format0, "), 4);
    const std::string hopper = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    EXPECT_EQ(count(hopper, "@inside st.global.v4.b32 ["), 4);
    product.alternating = 2, product.rows = 128;
    expect_refusal(product, "row stores are of tiles of 64 or 128 rows");
    product = product_by_boxes();
    product.row_stores = true, product.columns = 96;  // 24 times 16 bytes: 8 lanes a row, three times
    EXPECT_EQ(calls(product.ptx(), "row_store__format0, "), 12);
    product.columns = 24;
    expect_refusal(product, "a multiple of 64 bytes");
}

TEST(BulkCopies, RunsOfATileAreStoredAtOnce) {
    MatrixProduct product = product_by_boxes();
    product.columns = 128, product.run_stores = true;
    const std::string ptx = product.ptx();
    // 16 rows of 128 columns a warp, 8 a turn: a lane has four columns of a row, or two pairs, or four single ones.
    EXPECT_EQ(calls(ptx, "store_run__values4, "), 16);
    EXPECT_EQ(calls(ptx, "store_run__values2, "), 32);
    EXPECT_EQ(calls(ptx, "store_run__values1, "), 64);
    const std::string hopper = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    EXPECT_EQ(count(hopper, "@inside st.global.v4.b32 ["), 16);
    EXPECT_EQ(count(hopper, "@inside st.global.v2.b32 ["), 32);
    EXPECT_EQ(count(hopper, "@inside st.global.b32 ["), 64);
    product.columns = 32;
    EXPECT_EQ(calls(product.ptx(), "store_run__values2, "), 0);  // of which lanes would have none
    product.columns = 16;
    expect_refusal(product, "a multiple of 32");
}

// The last lane's four, or pair, is of both ends of a row: their halves are stored alone.
TEST(BulkCopies, RunsOfATileMayBeginLate) {
    MatrixProduct product = product_by_boxes();
    product.columns = 128, product.run_stores = product.late_runs = true;
    const std::string ptx = product.ptx();
    EXPECT_EQ(calls(ptx, "store_run__values4, "), 16 + 16);
    EXPECT_EQ(calls(ptx, "store_run__values2, "), 32 + 16 * 2 + 32);
    EXPECT_EQ(calls(ptx, "store_run__values1, "), 64 + 16 * 2);
}

TEST(BulkCopies, RefusesWhatIsNoBox) {
    MatrixProduct product = product_by_boxes();
    product.rows_of_boxes = false;  // as rows of 16 bytes
    expect_refusal(product, "without gaps");
    product = product_by_boxes();
    product.staging_threads = 0;
    expect_refusal(product, "staged in bulk");
    product = product_by_boxes();
    product.k_at_once = 24, product.terms = 48;
    expect_refusal(product, "an operand has strides 24 along mma_m");
}

TEST(BulkCopies, RefusesWhatIsNoCopyOfWholeRows) {
    MatrixProduct product = product_by_bulk_copies();
    product.staging_threads = 2;
    expect_refusal(product, "must be started by one thread");
    product = product_by_bulk_copies();
    product.columns_of_b = false;  // transposed on the way
    expect_refusal(product, "neighbours to neighbours");
    product = product_by_bulk_copies();
    product.zero_outside = true;
    expect_refusal(product, "without conditions");
}

}  // namespace
}  // namespace conv_transpose::testing
