// That ptx_machine computes, and that it finds what it is there to find: a test of kernels on it could else
// not fail.
#include "ptx_machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tensor_map.h"

namespace {

using namespace ptx_machine;

/// A program with two parameters, the address of `floats` and a tensor map, and one block of `threads` threads, or a cluster of
/// such along y.
void run_program(const std::string &body, std::vector<float> &floats, unsigned threads, int shared_bytes = 0,
                 Timing timing = Timing::early, const TensorMap &map = {}, unsigned blocks = 1) {
    const Module module = decode(
        ".extern .shared .align 16 .b8 memory[];\n"
        ".visible .entry program(.param .u64 floats,\n.param .align 64 .b8 map[128])\n{\n"
        ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n.reg .f32 %f<99>;\n"
        "ld.param.u64 %rd1, [floats];\n"
        "mov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4;\n"
        "add.s64 %rd3, %rd1, %rd2;\n"  // the address of this thread's float
        "shl.b32 %r2, %r1, 2;\n" +     // the same in shared memory
        body +
        "ret;\n}\n");
    const auto address = reinterpret_cast<uint64_t>(floats.data());
    DeviceMemoryMap memory;
    memory.add(address, floats.size() * sizeof(float));
    std::vector<uint8_t> parameters(64 + 128);
    std::memcpy(parameters.data(), &address, sizeof address);
    std::memcpy(parameters.data() + 64, &map, sizeof map);
    run({*module.at("program"), {1, blocks, 1}, {threads, 1, 1}, shared_bytes, parameters, memory, timing, {1, blocks, 1}});
}

std::string error_of(const std::string &body, unsigned threads, int shared_bytes = 0, Timing timing = Timing::early) {
    std::vector<float> floats(threads, 1.f);
    try {
        run_program(body, floats, threads, shared_bytes, timing);
    } catch (const PtxError &error) {
        return error.what();
    }
    return "none";
}

std::string replaced(std::string text, const std::string &part, const std::string &other) {
    const size_t at = text.find(part);
    return at == std::string::npos ? "no " + part : text.replace(at, part.size(), other);
}

std::vector<float> counting(size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.f);
    return values;
}

const std::string load = "ld.global.f32 %f1, [%rd3];\n", store = "st.global.f32 [%rd3], %f2;\n";
const std::string to_shared = "st.shared.f32 [%r2], %f1;\n", barrier = "bar.sync 0;\n";
// From the thread 32 further on, of 64.
const std::string from_shared = "xor.b32 %r3, %r2, 128;\nld.shared.f32 %f2, [%r3];\n";

TEST(PtxMachine, Computes) {
    std::vector<float> floats = counting(40);
    run_program(load + "fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n" + store, floats, 40);
    for (int i = 0; i < 40; i++) EXPECT_EQ(floats[i], 2.f * i + 1);
}

TEST(PtxMachine, ExtendsTheSignOfASignedField) {
    for (const bool is_signed : {false, true}) {
        std::vector<float> floats(32);
        run_program("bfe." + std::string(is_signed ? "s" : "u") + "32 %r3, %r1, 1, 2;\ncvt.rn.f32.s32 %f2, %r3;\n" + store, floats, 32);
        for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i / 2 % 4 - (is_signed && i & 4 ? 4 : 0)) << i;
    }
}

TEST(PtxMachine, ConvertsTheLowHalfOfAWideRegister) {
    std::vector<float> floats(32);
    run_program("cvt.u64.u32 %rd4, %r1;\ncvt.s64.s32 %rd5, %rd4;\ncvt.u32.u64 %r3, %rd5;\ncvt.rn.f32.s32 %f2, %r3;\n" + store,
                floats, 32);
    for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i);
}

TEST(PtxMachine, BranchesApartAndTogetherAgain) {
    std::vector<float> floats = counting(32);
    run_program(load +
                    "setp.lt.s32 %p1, %r1, 5;\n@%p1 bra LOW;\nmov.f32 %f2, 0f00000000;\nbra.uni END;\n"
                    "LOW:\nmov.f32 %f2, %f1;\nEND:\n" +
                    store,
                floats, 32);
    for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i < 5 ? i : 0);
}

TEST(PtxMachine, SharesMemoryAcrossABarrier) {
    std::vector<float> floats = counting(64);
    run_program(load + to_shared + barrier + from_shared + store, floats, 64, 256);
    for (int i = 0; i < 64; i++) EXPECT_EQ(floats[i], (i + 32) % 64);
}

TEST(PtxMachine, FindsReadsThatNoBarrierOrders) {
    EXPECT_NE(error_of(load + to_shared + from_shared + store, 64, 256).find("race"), std::string::npos);
}

TEST(PtxMachine, FindsWritesThatNoBarrierOrders) {
    const std::string error = error_of(load + to_shared + barrier + from_shared + to_shared, 64, 256);
    EXPECT_NE(error.find("race"), std::string::npos) << error;
}

// Each of three blocks has the threads' numbers and its own, and reads those of the second.
const std::string of_block = "mov.u32 %r9, memory;\nadd.u32 %r2, %r2, %r9;\nmov.u32 %r4, %ctaid.y;\nadd.u32 %r5, %r1, %r4;\ncvt.rn.f32.u32 %f1, %r5;\n",
                  meet = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n",
                  from_second = "mapa.shared::cluster.u32 %r6, %r2, 1;\nld.shared::cluster.f32 %f2, [%r6];\n",
                  in_order = "mul.wide.u32 %rd4, %r4, 128;\nadd.s64 %rd3, %rd3, %rd4;\n";

std::string error_of_cluster(const std::string &body) {
    constexpr unsigned blocks = 3;
    std::vector<float> floats(32 * blocks);
    try {
        run_program(of_block + to_shared + body + in_order + store, floats, 32, 128, Timing::early, {}, blocks);
    } catch (const PtxError &error) {
        return error.what();
    }
    for (unsigned i = 0; i < floats.size(); i++)
        if (floats[i] != static_cast<float>(i % 32 + 1)) return "wrong";
    return "none";
}

TEST(PtxMachine, SharesMemoryAcrossABarrierOfACluster) { EXPECT_EQ(error_of_cluster(meet + from_second + meet), "none"); }

TEST(PtxMachine, FindsWhatABarrierOfAClusterDoesNotOrder) {
    const auto expect = [](const std::string &body, const char *words) {
        const std::string error = error_of_cluster(body);
        EXPECT_NE(error.find(words), std::string::npos) << "'" << words << "' in: " << error;
    };
    expect(barrier + from_second + meet, "written without a barrier of it since");
    expect(meet + replaced(from_second, "%r2, 1", "%r2, 2"), "block 2 of the cluster has ended");
    expect(meet + from_second, "ends while another may read");
    expect(meet + from_second + "barrier.cluster.arrive.release;\n", "ends while another may read");
    expect(meet + from_second + to_shared + meet, "is read in the cluster without a barrier of it since");
    expect("barrier.cluster.arrive.release;\n" + meet, "arrives again");
    expect("shl.b32 %r2, %r1, 2;\n" + to_shared, "not in the block's 128 bytes");
    expect(meet + "mapa.shared::cluster.u32 %r6, %r2, 3;\nld.shared::cluster.f32 %f2, [%r6];\n", "no block 3");
}

TEST(PtxMachine, FindsAccessesOutsideOfMemory) {
    EXPECT_NE(
        error_of("ld.global.f32 %f1, [%rd3+4];\n" + to_shared, 32, 128).find("beyond the device's memory"),
        std::string::npos);
    EXPECT_NE(error_of(load + "st.shared.f32 [%r2+4], %f1;\n", 32, 128).find("shared address 128"),
              std::string::npos);
    EXPECT_NE(error_of("ld.global.v2.f32 {%f1, %f2}, [%rd3];\n" + to_shared, 8, 32).find("not aligned"),
              std::string::npos);
}

TEST(PtxMachine, FindsBarriersThatNotAllReach) {
    EXPECT_NE(error_of("setp.lt.s32 %p1, %r1, 5;\n@%p1 bra END;\n" + barrier + "END:\n" + barrier, 32)
                  .find("only some lanes"),
              std::string::npos);
}

// Warp 0 hands warp 1 what it loads, once, by barriers of two warps; warp 1 stores it and its own index.
const std::string roles =
    "setp.lt.s32 %p1, %r1, 32;\n@!%p1 bra CONSUMER;\n" + load + to_shared + "bar.arrive 1, 64;\n";
const std::string consumer = "bra.uni END;\nCONSUMER:\nmov.u32 %r8, 1;\n";
const std::string consume = "bar.sync %r8, 64;\n" + from_shared + store;

TEST(PtxMachine, HandsOverAtABarrierOfTwoWarps) {
    std::vector<float> floats = counting(96);
    run_program("setp.ge.s32 %p1, %r1, 64;\n@%p1 bra END;\n" + roles + consumer + consume + "END:\n", floats, 96,
                256);
    for (int i = 0; i < 96; i++) EXPECT_EQ(floats[i], i < 32 || i >= 64 ? i : i - 32);
}

TEST(PtxMachine, FindsAPlaceThatIsFilledAgainWhileItIsRead) {
    const std::string again = "bar.sync 2, 64;\n" + to_shared;
    const std::string end = "END:\n";
    EXPECT_EQ(error_of(roles + again + consumer + consume + "bar.arrive 2, 64;\n" + end, 64, 256), "none");
    const std::string early = error_of(
        roles + again + consumer + "bar.sync %r8, 64;\nbar.arrive 2, 64;\n" + from_shared + store + end, 64, 256);
    EXPECT_NE(early.find("race"), std::string::npos) << early;
    EXPECT_NE(error_of(roles + to_shared + consumer + consume + end, 64, 256).find("race"), std::string::npos);
}

TEST(PtxMachine, FindsLanesThatDoNotWaitForEachOtherWhereTheirWarpOnlyArrives) {
    const std::string of_neighbour = "xor.b32 %r3, %r2, 4;\nld.shared.f32 %f2, [%r3];\n", end = consumer + consume + "END:\n";
    EXPECT_NE(error_of(roles + of_neighbour + end, 64, 256).find("race"), std::string::npos);
    EXPECT_EQ(error_of(roles + "bar.warp.sync 0xffffffff;\n" + of_neighbour + end, 64, 256), "none");
}

TEST(PtxMachine, FindsBarriersThatAreMiscounted) {
    const std::string end = "END:\n";
    EXPECT_NE(error_of(roles + consumer + "bar.sync 1, 96;\n" + end, 64, 256).find("another number of threads"),
              std::string::npos);
    EXPECT_NE(error_of(roles + consumer + "bar.sync 2, 64;\n" + end, 64, 256).find("wait for each other"),
              std::string::npos);
    EXPECT_NE(error_of("bar.arrive 1, 64;\nbar.arrive 1, 64;\n", 32).find("arrives again"), std::string::npos);
    EXPECT_NE(error_of(roles + consumer + end, 64, 256).find("for which nobody waits"), std::string::npos);
    EXPECT_NE(error_of("bar.arrive 16, 64;\n", 32).find("a block has 0 to 15"), std::string::npos);
    EXPECT_NE(error_of("bar.sync 1, 40;\n", 32).find("no whole warps"), std::string::npos);
}

const std::string copy = "cp.async.ca.shared.global [%r2], [%rd3], 4, 4;\ncp.async.commit_group;\n";
const std::string wait = "cp.async.wait_group 0;\n";

TEST(PtxMachine, CopiesEarlyAndLate) {
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats = counting(64);
        run_program(copy + wait + barrier + from_shared + store, floats, 64, 256, timing);
        for (int i = 0; i < 64; i++) EXPECT_EQ(floats[i], (i + 32) % 64);
    }
}

const Timing timings[] = {Timing::early, Timing::late, Timing::late_copies, Timing::late_products};

TEST(PtxMachine, FindsACopyThatIsNotWaitedFor) {
    for (const Timing timing : timings) {
        const std::string error = error_of(copy + barrier + from_shared + store + wait, 64, 256, timing);
        EXPECT_NE(error.find("a copy that nobody waited for writes"), std::string::npos) << error;
    }
    // Nor may its own thread read, or write.
    EXPECT_NE(error_of(copy + "ld.shared.f32 %f2, [%r2];\n" + wait, 64, 256).find("race"), std::string::npos);
    EXPECT_NE(error_of(load + copy + to_shared + wait, 64, 256).find("race"), std::string::npos);
    EXPECT_EQ(error_of(copy + wait + "ld.shared.f32 %f2, [%r2];\n", 64, 256), "none");
}

TEST(PtxMachine, FindsAWaitForOneCopyTooFew) {
    const std::string second = "add.s32 %r2, %r2, 256;\n" + copy;
    EXPECT_EQ(error_of(copy + second + "cp.async.wait_group 1;\nadd.s32 %r2, %r2, -256;\n" + barrier + from_shared + wait, 64, 512),
              "none");
    EXPECT_NE(error_of(copy + second + "cp.async.wait_group 1;\n" + barrier + from_shared + wait, 64, 512).find("race"),
              std::string::npos);
}

// 64 x 8 by 8 x 8, both of the value 1, at 0 and at 2048.
const std::string fill =
    "mov.f32 %f1, 0f3F800000;\nmul.lo.s32 %r4, %r1, 20;\n"
    "st.shared.f32 [%r4], %f1;\nst.shared.f32 [%r4+4], %f1;\nst.shared.f32 [%r4+8], %f1;\n"
    "st.shared.f32 [%r4+12], %f1;\nst.shared.f32 [%r4+16], %f1;\n";
const std::string fence = "fence.proxy.async.shared::cta;\n";
const std::string product =
    // Start 0 and 2048, 4 further k 128 bytes on (of b: 128), 8 further rows 256 on; in units of 16 bytes.
    "mov.u64 %rd8, 68720001024;\nmov.u64 %rd9, 68720001152;\nmov.u32 %r9, 1;\nsetp.ne.s32 %p2, %r9, 0;\n"
    "mov.f32 %f10, 0f3F800000;\nmov.f32 %f11, %f10;\nmov.f32 %f12, %f10;\nmov.f32 %f13, %f10;\n"
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f10, %f11, %f12, %f13}, %rd8, %rd9, %p2, 1, 1;\n"
    "wgmma.commit_group.sync.aligned;\n";
const std::string wait_for_product = "wgmma.wait_group.sync.aligned 0;\n";
const std::string store_product = "mov.f32 %f2, %f13;\n" + store;

TEST(PtxMachine, MultipliesOnTensorCores) {
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats(128);
        run_program(fill + fence + barrier + product + wait_for_product + store_product, floats, 128, 2560,
                    timing);
        for (const float sum : floats) EXPECT_EQ(sum, 9.f);
    }
}

TEST(PtxMachine, FindsRegistersOfAProductThatIsNotWaitedFor) {
    for (const Timing timing : timings) {
        const std::string error = error_of(fill + fence + barrier + product + store_product + wait_for_product, 128, 2560, timing);
        EXPECT_NE(error.find("a register of a product that nobody has waited for"), std::string::npos) << error;
    }
    // Written, too.
    EXPECT_NE(error_of(fill + fence + barrier + product + "mov.f32 %f11, %f1;\n" + wait_for_product, 128, 2560)
                  .find("a register of a product that nobody has waited for"), std::string::npos);
    const std::string one_too_few = "wgmma.wait_group.sync.aligned 1;\n";
    EXPECT_NE(error_of(fill + fence + barrier + product + one_too_few + store_product + wait_for_product, 128, 2560)
                  .find("a register of a product that nobody has waited for"), std::string::npos);
}

TEST(PtxMachine, FindsAProductThatIsNotCommittedOrNeverWaitedFor) {
    std::string uncommitted = product;
    uncommitted.erase(uncommitted.find("wgmma.commit"));
    EXPECT_NE(error_of(fill + fence + barrier + uncommitted + wait_for_product + store_product, 128, 2560).find("waited for"),
              std::string::npos);
    EXPECT_NE(error_of(fill + fence + barrier + product, 128, 2560).find("the block ends"), std::string::npos);
}

TEST(PtxMachine, FindsAMissingFenceOfRegisters) {
    const std::string of_registers = "wgmma.fence.sync.aligned;\n";
    std::string unfenced = product;
    unfenced.erase(unfenced.find(of_registers), of_registers.size());
    EXPECT_NE(error_of(fill + fence + barrier + unfenced + wait_for_product, 128, 2560).find("no wgmma.fence"), std::string::npos);
    EXPECT_NE(error_of(fill + fence + barrier + of_registers + unfenced + wait_for_product, 128, 2560)
                  .find("without a wgmma.fence since"), std::string::npos);
    // Products that follow each other on the same registers need none in between.
    const std::string again = unfenced.substr(unfenced.find("wgmma.mma_async"));
    EXPECT_EQ(error_of(fill + fence + barrier + product + again + wait_for_product, 128, 2560), "none");
    EXPECT_NE(error_of(fill + fence + barrier + product + wait_for_product + store_product + again + wait_for_product, 128, 2560)
                  .find("without a wgmma.fence since"), std::string::npos);
}

TEST(PtxMachine, FindsSharedMemoryThatIsWrittenBeforeAProductHasReadIt) {
    const std::string own = "st.shared.f32 [%r4], %f1;\n";
    for (const Timing timing : timings) {
        const std::string error = error_of(fill + fence + barrier + product + barrier + own + wait_for_product, 128, 2560, timing);
        EXPECT_NE(error.find("a product reads that nobody has waited for"), std::string::npos) << error;
    }
    // Waited for, but by other warps than this one.
    EXPECT_NE(error_of(fill + fence + barrier + product + wait_for_product + own, 128, 2560).find("a product of another warp"),
              std::string::npos);
    EXPECT_EQ(error_of(fill + fence + barrier + product + wait_for_product + barrier + own, 128, 2560), "none");
}

TEST(PtxMachine, FindsAProxyFenceThatComesAfterTheBarrier) {
    EXPECT_NE(error_of(fill + barrier + fence + product + wait_for_product, 128, 2560).find("proxy fence"), std::string::npos);
}

// Every word of both operands has 2 and 1 side by side, of 16 bits: each sum is 8 times 2 * 2 + 1 * 1.
TEST(PtxMachine, MultipliesNumbersOf16Bits) {
    for (const auto &[type, two_and_one] : {std::pair("f16", "mov.b32 %f1, 0x3C004000;\n"),
                                            std::pair("bf16", "mov.b32 %f1, 0x3F804000;\n")}) {
        std::vector<float> floats(128);
        const std::string both = std::string(".") + type + "." + type;
        const std::string by_wgmma =
            replaced(replaced(product, "k8.f32.tf32.tf32", "k16.f32" + both), "1, 1;\nwgmma", "1, 1, 0, 0;\nwgmma");
        run_program(replaced(fill, "mov.f32 %f1, 0f3F800000;\n", two_and_one) + fence + barrier + by_wgmma +
                        wait_for_product + store_product,
                    floats, 128, 2560);
        for (const float sum : floats) EXPECT_EQ(sum, 41.f) << type;
        run_program(two_and_one +
                        ("mov.f32 %f2, 0f3F800000;\nmma.sync.aligned.m16n8k16.row.col.f32" + both +
                         ".f32 {%f2, %f3, %f4, %f5}, {%f1, %f1, %f1, %f1}, {%f1, %f1}, {%f2, %f2, %f2, %f2};\n") +
                        store,
                    floats, 32);
        EXPECT_EQ(floats[0], 41.f) << type;
    }
}

// Row r of the matrix holds r in all its words, so lane l of the transposed one gets rows 2 (l % 4) and the next.
TEST(PtxMachine, LoadsTransposedMatrices) {
    std::vector<float> floats(32);
    run_program("shl.b32 %r4, %r1, 2;\nshr.u32 %r5, %r1, 2;\nmul.lo.s32 %r5, %r5, 0x00010001;\nst.shared.u32 [%r4], %r5;\n"
                "bar.sync 0;\nand.b32 %r6, %r1, 7;\nshl.b32 %r6, %r6, 4;\n"
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n"
                "cvt.rn.f32.u32 %f2, %r7;\n" + store, floats, 32, 128);
    for (int l = 0; l < 32; l++) EXPECT_EQ(floats[l], float(2 * (l % 4) + (2 * (l % 4) + 1) * 65536)) << l;
}

// Row r and column c of a matrix have 8 r + c, so lane l of the transposed one has 16 (l % 4) + l / 4 and 8 more.
const std::string numbered_matrix = "shl.b32 %r4, %r1, 1;\nshl.b32 %r5, %r1, 17;\nadd.s32 %r5, %r5, 65536;\nor.b32 %r5, %r5, %r4;\n"
                                    "and.b32 %r6, %r1, 7;\nshl.b32 %r6, %r6, 4;\n";
const std::string word_to_float = "cvt.rn.f32.u32 %f2, %r7;\n" + store;

void expect_transposed(const std::string &body) {
    std::vector<float> floats(32);
    run_program(numbered_matrix + body + word_to_float, floats, 32, 128);
    for (int l = 0; l < 32; l++) {
        const int low = 16 * (l % 4) + l / 4;
        EXPECT_EQ(floats[l], float(low + (low + 8) * 65536)) << l << " of " << body;
    }
}

TEST(PtxMachine, StoresAndMovesMatrices) {
    const std::string synced = "bar.warp.sync 0xffffffff;\n", word = "ld.shared.u32 %r7, [%r2];\n";
    expect_transposed("movmatrix.sync.aligned.m8n8.trans.b16 %r7, %r5;\n");
    expect_transposed("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r6], {%r5};\n" + synced + word);
    expect_transposed("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r5};\n" + synced +
                      "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n");
    EXPECT_NE(error_of(numbered_matrix + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r5};\n"
                                         "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n", 32, 128).find("race"),
              std::string::npos);
    EXPECT_NE(error_of(numbered_matrix + "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r6], {%r5};\n", 32, 128).find("number of matrices"),
              std::string::npos);
}

// A copy reads all of its four bytes or none; the rest is zero.
TEST(PtxMachine, FillsCopiesUpWithZeros) {
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats(32, 1.f);  // 0x3F800000
        run_program("and.b32 %r3, %r1, 1;\nshl.b32 %r3, %r3, 2;\ncp.async.ca.shared.global [%r2], [%rd3], 4, %r3;\n"
                    "cp.async.commit_group;\n" + wait + "ld.shared.f32 %f2, [%r2];\n" + store, floats, 32, 128, timing);
        for (int l = 0; l < 32; l++) EXPECT_EQ(floats[l], float(l % 2)) << l;
    }
}

// Lane 4 g + t has k = 2t and 2t+1 of row g of A, and of column g of B.
TEST(PtxMachine, KnowsTheFragmentsOfProductsOf16Bits) {
    std::vector<float> floats(32);
    // A is 1 at row 0, k = 3 (register 0, lane 1, upper half), else 0. B has the column's number at k = 2 and 3, else 0.
    run_program("setp.eq.s32 %p1, %r1, 1;\nselp.b32 %r4, 0x3C000000, 0, %p1;\nmov.b32 %r5, 0;\n"
                "shr.u32 %r6, %r1, 2;\ncvt.rn.f32.u32 %f3, %r6;\ncvt.rn.f16x2.f32 %r7, %f3, %f3;\n"
                "and.b32 %r8, %r1, 3;\nsetp.eq.s32 %p1, %r8, 1;\nselp.b32 %r7, %r7, 0, %p1;\n"
                "mov.f32 %f4, 0f00000000;\n"
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f5, %f6, %f7}, {%r4, %r5, %r5, %r5}, "
                "{%r7, %r5}, {%f4, %f4, %f4, %f4};\n" + store,
                floats, 32);
    for (int l = 0; l < 32; l++) EXPECT_EQ(floats[l], l < 4 ? 2.f * l : 0.f) << l;
}

// B is 1; rows of A have their lanes' numbers at k = 0 and, eight rows below, at k = 8.
TEST(PtxMachine, MultipliesRegisters) {
    const std::string ones = replaced(fill, "mov.f32 %f1, 0f3F800000;\n", "mov.b32 %f1, 0x3C003C00;\n");
    const std::string rows = "shr.u32 %r10, %r1, 2;\ncvt.rn.f32.u32 %f20, %r10;\nmov.f32 %f21, 0f00000000;\n"
                             "and.b32 %r10, %r1, 3;\nsetp.eq.s32 %p1, %r10, 0;\ncvt.rn.f16x2.f32 %r11, %f21, %f20;\n"
                             "selp.b32 %r11, %r11, 0, %p1;\nmov.b32 %r12, 0;\n";
    const std::string by_registers = replaced(replaced(product, "k8.f32.tf32.tf32", "k16.f32.f16.f16"), "%rd8, %rd9, %p2, 1, 1;\nwgmma",
                                              "{%r11, %r12, %r12, %r11}, %rd9, %p2, 1, 1, 0;\nwgmma");
    for (const Timing timing : timings) {
        std::vector<float> floats(128);
        run_program(ones + fence + barrier + rows + by_registers + wait_for_product + "add.f32 %f2, %f10, %f13;\n" + store, floats, 128,
                    2560, timing);
        for (int l = 0; l < 128; l++) EXPECT_EQ(floats[l], 2 + 2 * float(l / 4)) << l;
        const std::string early = error_of(ones + fence + barrier + rows + by_registers + "mov.b32 %r12, 1;\n" + wait_for_product, 128, 2560, timing);
        EXPECT_NE(early.find("a register of a product that nobody has waited for"), std::string::npos) << early;
        const std::string unfenced = error_of(
            ones + fence + barrier + rows + by_registers + wait_for_product + "mov.b32 %r12, 1;\n" +
                by_registers.substr(by_registers.find("wgmma.mma_async")) + wait_for_product, 128, 2560, timing);
        EXPECT_NE(unfenced.find("without a wgmma.fence since"), std::string::npos) << unfenced;
    }
}

TEST(PtxMachine, RoundsTo16BitsToNearestEven) {
    // 2049 and 2051 lie between numbers of float16, 257 and 259 between those of bfloat16.
    const struct {
        const char *type;
        float value, rounded;
    } cases[] = {{"f16", 2049, 2048}, {"f16", 2051, 2052}, {"bf16", 257, 256}, {"bf16", 259, 260}, {"f16", 65520, HUGE_VALF}};
    for (const auto &c : cases) {
        std::vector<float> floats(32, c.value);
        const std::string type = c.type;
        run_program(".reg .b16 %rs<9>;\n" + load + "mov.f32 %f3, 0f3F800000;\ncvt.rn." + type + "x2.f32 %r3, %f3, %f1;\n" +
                        "mov.b32 {%rs1, %rs2}, %r3;\nmov.b32 %r4, {%rs2, %rs1};\nmov.b32 {%rs3, %rs4}, %r4;\n" +
                        "cvt.f32." + type + " %f2, %rs4;\n" + store,
                    floats, 32);
        EXPECT_EQ(floats[5], c.rounded) << type;
    }
}

TEST(PtxMachine, StoresHalvesOfWords) {
    std::vector<float> floats(32, 0.f);
    run_program(".reg .b16 %rs<9>;\nmov.b16 %rs1, 0x3F80;\nst.global.b16 [%rd3+2], %rs1;\n", floats, 32);
    for (const float value : floats) EXPECT_EQ(value, 1.f);
}

TEST(PtxMachine, FindsAMissingProxyFence) {
    EXPECT_NE(error_of(fill + barrier + product + wait_for_product, 128, 2560).find("proxy fence"),
              std::string::npos);
    EXPECT_NE(error_of(fill + fence + product + wait_for_product, 128, 2560).find("race"), std::string::npos);
}

// Thread 0 has the floats of 64 threads copied, to the beginning of shared memory; an mbarrier lies behind them.
const std::string by_one = "setp.ne.s32 %p3, %r1, 0;\nmov.u32 %r20, 256;\nmov.u32 %r21, 0;\n";
const std::string init = "@%p3 bra READY;\nmbarrier.init.shared.b64 [%r20], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\n";
const std::string expect = "@%p3 bra STARTED;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 256;\n";
const std::string bulk_copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd1], 256, [%r20];\n";
const std::string started = "STARTED:\n";
const std::string wait_for_bytes = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r20], 0;\n@!%p4 bra WAIT;\n";
const std::string start_bulk = by_one + init + barrier + expect + bulk_copy + started;

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
    for (const Timing timing : timings) {
        const std::string error = error_of_bulk(body, timing);
        EXPECT_NE(error.find(words), std::string::npos) << "'" << words << "' in: " << error;
    }
}

TEST(PtxMachine, CopiesInBulkEarlyAndLate) {
    expect_error(start_bulk + wait_for_bytes + from_shared + store, "none");
}

TEST(PtxMachine, FindsABulkCopyThatIsNotWaitedFor) { expect_error(start_bulk + from_shared + store, "race"); }

TEST(PtxMachine, FindsAWrongNumberOfBytes) {
    const std::string rest = wait_for_bytes + from_shared + store;
    const auto expecting = [&](const char *bytes) { return replaced(start_bulk, "[%r20], 256;", std::string("[%r20], ") + bytes + ";"); };
    expect_error(expecting("272") + rest, "misses 16 bytes");
    expect_error(expecting("240") + rest, "misses -16 bytes");
    expect_error(expecting("256") + rest, "none");
    expect_error(by_one + init + barrier + "@%p3 bra STARTED;\n" + bulk_copy + started + rest, "misses -256 bytes and 1 arrivals");
}

TEST(PtxMachine, FindsAPlaceThatIsCopiedToWhileItIsRead) {
    // Another copy to the same place, in the barrier's next phase.
    const std::string again = replaced(expect, "STARTED", "AGAIN") + bulk_copy + "AGAIN:\n" +
                              replaced(replaced(replaced(wait_for_bytes, "WAIT", "WAIT_AGAIN"), "bra WAIT", "bra WAIT_AGAIN"), "[%r20], 0", "[%r20], 1");
    const std::string read = start_bulk + wait_for_bytes + from_shared;
    expect_error(read + barrier + again + store, "none");
    expect_error(read + again + store, "race");
}

TEST(PtxMachine, FindsAnMbarrierThatIsUsedTooSoon) {
    const std::string rest = expect + bulk_copy + started + wait_for_bytes + from_shared + store;
    expect_error(by_one + init + rest, "race");
    expect_error(by_one + rest, "no mbarrier at shared address 256");
    const std::string without_fence = replaced(init, "fence.mbarrier_init.release.cluster;\n", "");
    expect_error(by_one + without_fence + barrier + rest, "no fence has followed its initialization");
    expect_error(by_one + without_fence + fence + barrier + rest, "none");
    expect_error(start_bulk + "@%p3 bra TWICE;\nmbarrier.arrive.shared.b64 _, [%r20];\nTWICE:\n" + wait_for_bytes + from_shared + store,
                 "more arrivals than 1", {Timing::late});
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
    expect_error(written + replaced(bulk_store, "[%rd1]", "[%rd1+16]") + commit + wait, "beyond");
    expect_error(written + replaced(bulk_store, "[%rd1]", "[%rd1+8]") + commit + wait, "16 aligned bytes");
}

// A block of 8 x 4 x 2 floats to a tensor of 6 x 4 x 2, from its second row on; the copy engine permutes 16 bytes from 128 on.
TEST(PtxMachine, StoresBlocksOfTensors) {
    const std::string map_of_parameter = "mov.b64 %rd5, map;\ncvta.param.u64 %rd5, %rd5;\nmov.u32 %r22, 1;\n";
    const std::string store_block = "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd5, {%r21, %r22, %r21}], [%r21];\n";
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
        map.block[0] = 0;
        EXPECT_THROW(run_program(whole, floats, 128, 512, timing, map), PtxError);
    }
    expect_error(whole, "no tensor map of so many dimensions");
}

TEST(PtxMachine, RefusesWhatIsNoTensorMap) {
    const std::string box = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r21], "
                            "[%rd1, {%r21, %r21, %r21}], [%r20], {%rs1};\n";
    expect_error(by_one + init + barrier + expect + ".reg .b16 %rs<2>;\nmov.u16 %rs1, 0;\n" + box + started, "a tensor map is a parameter");
    const std::string block = "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r21], "
                              "[%rd1, {%r21, %r21, %r21}], [%r20];\n";
    expect_error(by_one + init + barrier + expect + block + started, "a tensor map is a parameter");
}

TEST(PtxMachine, RefusesWhatItDoesNotKnow) {
    EXPECT_NE(error_of("dp4a.s32.s32 %r3, %r1, %r1, %r1;\n", 32).find("dp4a"), std::string::npos);
    EXPECT_NE(error_of("mov.u32 %q3, %r1;\n", 32).find("no register %q3"), std::string::npos);
    EXPECT_NE(error_of("bra NOWHERE;\n", 32).find("no label NOWHERE"), std::string::npos);
}

}  // namespace
