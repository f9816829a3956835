// Copies and stores of the copy engine, by bytes and by blocks of tensors, and the mbarriers that wait for them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "programs.h"
#include "tensor_map.h"

namespace ptx_machine {
namespace {

// Thread 0 has the floats of 64 threads copied, to the beginning of shared memory; an mbarrier lies behind them.
const std::string by_one = "setp.ne.s32 %p3, %r1, 0;\nmov.u32 %r20, 256;\nmov.u32 %r21, 0;\n";
const std::string init = "@%p3 bra READY;\nmbarrier.init.shared.b64 [%r20], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\n";
const std::string expect_bytes = "@%p3 bra STARTED;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 256;\n";
const std::string bulk_copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd1], 256, [%r20];\n";
const std::string started = "STARTED:\n";
const std::string wait_for_bytes = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r20], 0;\n@!%p4 bra WAIT;\n";
const std::string start_bulk = by_one + init + barrier + expect_bytes + bulk_copy + started;

std::string error_of_bulk(const std::string &body, Timing timing) {
    std::vector<float> floats = counting(64);
    try {
        run_program(body, floats, 64, 264, timing);
    } catch (const PtxError &error) {
        return error.what();
    }
    for (int i = 0; i < 64; i++)
        if (floats[i] != (i + 32) % 64) return "wrong";
    return "none";
}

void expect_error(const std::string &body, const char *words, std::vector<Timing> timings = {Timing::early, Timing::late}) {
    for (const Timing timing : timings) EXPECT_TRUE(tells(error_of_bulk(body, timing), words));
}

TEST(PtxMachine, CopiesInBulkEarlyAndLate) { expect_error(start_bulk + wait_for_bytes + from_shared + store, "none"); }

TEST(PtxMachine, FindsABulkCopyThatIsNotWaitedFor) { expect_error(start_bulk + from_shared + store, "race"); }

TEST(PtxMachine, FindsAWrongNumberOfBytes) {
    const std::string rest = wait_for_bytes + from_shared + store;
    const auto expecting = [&](const std::string &bytes) { return replaced(start_bulk, "[%r20], 256;", "[%r20], " + bytes + ";"); };
    expect_error(expecting("272") + rest, "misses 16 bytes");
    expect_error(expecting("240") + rest, "misses -16 bytes");
    expect_error(expecting("256") + rest, "none");
    expect_error(by_one + init + barrier + "@%p3 bra STARTED;\n" + bulk_copy + started + rest, "misses -256 bytes and 1 arrivals");
}

TEST(PtxMachine, FindsAPlaceThatIsCopiedToWhileItIsRead) {
    // Another copy to the same place, in the barrier's next phase.
    const std::string in_next_phase = replaced(wait_for_bytes, "[%r20], 0", "[%r20], 1");
    const std::string again = replaced(expect_bytes, "STARTED", "AGAIN") + bulk_copy + "AGAIN:\n" +
                              replaced(replaced(in_next_phase, "WAIT", "WAIT_AGAIN"), "bra WAIT", "bra WAIT_AGAIN");
    const std::string read = start_bulk + wait_for_bytes + from_shared;
    expect_error(read + barrier + again + store, "none");
    expect_error(read + again + store, "race");
}

TEST(PtxMachine, FindsAnMbarrierThatIsUsedTooSoon) {
    const std::string rest = expect_bytes + bulk_copy + started + wait_for_bytes + from_shared + store;
    expect_error(by_one + init + rest, "race");
    expect_error(by_one + rest, "no mbarrier at shared address 256");
    const std::string without_fence = replaced(init, "fence.mbarrier_init.release.cluster;\n", "");
    expect_error(by_one + without_fence + barrier + rest, "no fence has followed its initialization");
    expect_error(by_one + without_fence + fence + barrier + rest, "none");
    const std::string arrive = "@%p3 bra TWICE;\nmbarrier.arrive.shared.b64 _, [%r20];\nTWICE:\n";
    expect_error(start_bulk + arrive + wait_for_bytes + from_shared + store, "more arrivals than 1", {Timing::late});
}

TEST(PtxMachine, FindsBulkCopiesThatAreNotAligned) {
    expect_error(replaced(start_bulk, "mov.u32 %r21, 0", "mov.u32 %r21, 8") + wait_for_bytes, "16 aligned bytes");
    expect_error(replaced(start_bulk, "[%rd1], 256", "[%rd1+16], 256") + wait_for_bytes, "beyond");
}

// What was stored is in another order with the copy engine unless a fence stands between them.
TEST(PtxMachine, FindsStoresThatACopyMayOvertake) {
    const std::string rest = start_bulk + wait_for_bytes + from_shared + store;
    expect_error(load + to_shared + rest, "written without a proxy fence");
    expect_error(load + to_shared + fence + rest, "none");
}

// Thread 0 stores what all have written to shared memory.
TEST(PtxMachine, StoresInBulk) {
    const std::string written = by_one + load + to_shared + fence + barrier + "@%p3 bra STORED;\n";
    const std::string bulk_store = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r21], 256;\n";
    const std::string commit = "cp.async.bulk.commit_group;\n", wait = "cp.async.bulk.wait_group.read 0;\nSTORED:\n";
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats = counting(64);
        run_program(written + bulk_store + commit + wait, floats, 64, 264, timing);
        EXPECT_EQ(floats, counting(64));
    }
    const std::string one_group_left = replaced(wait, "read 0", "read 1");
    EXPECT_EQ(error_of(written + bulk_store + commit + commit + one_group_left, 64, 264), "none");
    expect_error(written + bulk_store + commit + one_group_left, "while its shared memory is being stored");
    expect_error(written + bulk_store + wait, "while its shared memory is being stored");
    expect_error(written + bulk_store + commit + "STORED:\n", "while its shared memory is being stored");
    expect_error(replaced(written, fence, "") + bulk_store + commit + wait, "written without a proxy fence");
    const std::string again = "st.shared.u32 [%r21], %r21;\n";
    expect_error(written + bulk_store + commit + again + wait, "the copy engine reads that nobody has waited for");
    EXPECT_EQ(error_of(written + bulk_store + commit + replaced(wait, "STORED:", again + "STORED:"), 64, 264), "none");
    expect_error(written + replaced(bulk_store, "[%rd1]", "[%rd1+16]") + commit + wait, "beyond");
    expect_error(written + replaced(bulk_store, "[%rd1]", "[%rd1+8]") + commit + wait, "16 aligned bytes");
}

// A block of 8 x 4 x 2 floats to a tensor of 6 x 4 x 2, from its second row on; the copy engine permutes 16 bytes from 128 on.
TEST(PtxMachine, StoresBlocksOfTensors) {
    const std::string map_of_parameter = "mov.b64 %rd5, map;\ncvta.param.u64 %rd5, %rd5;\nmov.u32 %r22, 1;\n";
    const std::string store_block =
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd5, {%r21, %r22, %r21}], [%r21];\n";
    const std::string whole = by_one + map_of_parameter + load + to_shared + fence + barrier + "@%p3 bra STORED;\n" + store_block +
                              "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nSTORED:\n";
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats = counting(128);
        TensorMap map{};
        map.mark = TensorMap::known, map.dimensions = 3, map.element_bytes = 4, map.row_bits = 5;
        map.address = reinterpret_cast<uint64_t>(floats.data() + 64);
        const uint32_t extents[] = {6, 4, 2}, block[] = {8, 4, 2};
        for (int d = 0; d < 3; d++) map.extents[d] = extents[d], map.block[d] = static_cast<uint16_t>(block[d]);
        map.strides[0] = 32, map.strides[1] = 128;
        run_program(whole, floats, 128, 512, timing, map);
        for (int i = 0; i < 64; i++) {
            const bool inside = i % 8 < 6 && i / 8 % 4 >= 1;
            EXPECT_EQ(floats[64 + i], inside ? (i - 8) ^ (i >= 40 ? 4 : 0) : 64 + i) << i;
        }
        EXPECT_THROW(run_program(replaced(whole, "%r22, 1", "%r22, -1"), floats, 128, 512, timing, map), PtxError);
        map.block[0] = 0;
        EXPECT_THROW(run_program(whole, floats, 128, 512, timing, map), PtxError);
    }
    expect_error(whole, "no tensor map of so many dimensions");
}

TEST(PtxMachine, RefusesWhatIsNoTensorMap) {
    const std::string box = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r21], "
                            "[%rd1, {%r21, %r21, %r21}], [%r20], {%rs1};\n";
    const std::string offset = ".reg .b16 %rs<2>;\nmov.u16 %rs1, 0;\n";
    expect_error(by_one + init + barrier + expect_bytes + offset + box + started, "a tensor map is a parameter");
    const std::string block = "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r21], "
                              "[%rd1, {%r21, %r21, %r21}], [%r20];\n";
    expect_error(by_one + init + barrier + expect_bytes + block + started, "a tensor map is a parameter");
}

}  // namespace
}  // namespace ptx_machine
