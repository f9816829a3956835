// Products of tensor cores, and what has to happen between them and other uses of their operands.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

// 64 x 8 by 8 x 8, both of the value 1, at 0 and at 2048.
const std::string fill =
    "mov.f32 %f1, 0f3F800000;\nmul.lo.s32 %r4, %r1, 20;\n"
    "st.shared.f32 [%r4], %f1;\nst.shared.f32 [%r4+4], %f1;\nst.shared.f32 [%r4+8], %f1;\n"
    "st.shared.f32 [%r4+12], %f1;\nst.shared.f32 [%r4+16], %f1;\n";
const std::string product =
    // Start 0 and 2048, 4 further k 128 bytes on (of b: 128), 8 further rows 256 on; in units of 16 bytes.
    "mov.u64 %rd8, 68720001024;\nmov.u64 %rd9, 68720001152;\nmov.u32 %r9, 1;\nsetp.ne.s32 %p2, %r9, 0;\n"
    "mov.f32 %f10, 0f3F800000;\nmov.f32 %f11, %f10;\nmov.f32 %f12, %f10;\nmov.f32 %f13, %f10;\n"
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f10, %f11, %f12, %f13}, %rd8, %rd9, %p2, 1, 1;\n"
    "wgmma.commit_group.sync.aligned;\n";
const std::string wait_for_product = "wgmma.wait_group.sync.aligned 0;\n";
const std::string store_product = "mov.f32 %f2, %f13;\n" + store;
const std::string ready = fence + barrier;
const char *const in_use = "a register of a product that nobody has waited for", *const no_fence = "without a wgmma.fence since";

/// What is wrong with a program that begins with filling the operands.
std::string error_of_product(const std::string &body, Timing timing = Timing::early) {
    return error_of(fill + body, 128, 2560, timing);
}

TEST(PtxMachine, MultipliesOnTensorCores) {
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats(128);
        run_program(fill + ready + product + wait_for_product + store_product, floats, 128, 2560, timing);
        for (const float sum : floats) EXPECT_EQ(sum, 9.f);
    }
}

// Every word of both operands has 2 and 1 side by side, of 16 bits: each sum is 8 times 2 * 2 + 1 * 1.
TEST(PtxMachine, MultipliesNumbersOf16Bits) {
    for (const auto &[type, two_and_one] : {std::pair("f16", "mov.b32 %f1, 0x3C004000;\n"),
                                            std::pair("bf16", "mov.b32 %f1, 0x3F804000;\n")}) {
        std::vector<float> floats(128);
        const std::string both = std::string(".") + type + "." + type;
        const std::string by_wgmma =
            replaced(replaced(product, "k8.f32.tf32.tf32", "k16.f32" + both), "1, 1;\nwgmma", "1, 1, 0, 0;\nwgmma");
        run_program(replaced(fill, "mov.f32 %f1, 0f3F800000;\n", two_and_one) + ready + by_wgmma +
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
    const std::string by_registers =
        replaced(replaced(product, "k8.f32.tf32.tf32", "k16.f32.f16.f16"), "%rd8, %rd9, %p2, 1, 1;\nwgmma",
                 "{%r11, %r12, %r12, %r11}, %rd9, %p2, 1, 1, 0;\nwgmma");
    const std::string multiplied = ones + ready + rows + by_registers, changed = "mov.b32 %r12, 1;\n";
    for (const Timing timing : timings) {
        std::vector<float> floats(128);
        run_program(multiplied + wait_for_product + "add.f32 %f2, %f10, %f13;\n" + store, floats, 128, 2560, timing);
        for (int l = 0; l < 128; l++) EXPECT_EQ(floats[l], 2 + 2 * float(l / 4)) << l;
        EXPECT_TRUE(tells(error_of(multiplied + changed + wait_for_product, 128, 2560, timing), in_use));
        const std::string again = by_registers.substr(by_registers.find("wgmma.mma_async"));
        EXPECT_TRUE(tells(
            error_of(multiplied + wait_for_product + changed + again + wait_for_product, 128, 2560, timing), no_fence));
    }
}

TEST(PtxMachine, FindsRegistersOfAProductThatIsNotWaitedFor) {
    for (const Timing timing : timings)
        EXPECT_TRUE(tells(error_of_product(ready + product + store_product + wait_for_product, timing), in_use));
    // Written, too.
    EXPECT_TRUE(tells(error_of_product(ready + product + "mov.f32 %f11, %f1;\n" + wait_for_product), in_use));
    const std::string one_too_few = "wgmma.wait_group.sync.aligned 1;\n";
    EXPECT_TRUE(tells(error_of_product(ready + product + one_too_few + store_product + wait_for_product), in_use));
}

TEST(PtxMachine, FindsAProductThatIsNotCommittedOrNeverWaitedFor) {
    std::string uncommitted = product;
    uncommitted.erase(uncommitted.find("wgmma.commit"));
    EXPECT_TRUE(tells(error_of_product(ready + uncommitted + wait_for_product + store_product), "waited for"));
    EXPECT_TRUE(tells(error_of_product(ready + product), "the block ends"));
}

TEST(PtxMachine, FindsAMissingFenceOfRegisters) {
    const std::string of_registers = "wgmma.fence.sync.aligned;\n";
    std::string unfenced = product;
    unfenced.erase(unfenced.find(of_registers), of_registers.size());
    EXPECT_TRUE(tells(error_of_product(ready + unfenced + wait_for_product), "no wgmma.fence"));
    EXPECT_TRUE(tells(error_of_product(ready + of_registers + unfenced + wait_for_product), no_fence));
    // Products that follow each other on the same registers need none in between.
    const std::string again = unfenced.substr(unfenced.find("wgmma.mma_async"));
    EXPECT_EQ(error_of_product(ready + product + again + wait_for_product), "none");
    EXPECT_TRUE(tells(error_of_product(ready + product + wait_for_product + store_product + again + wait_for_product), no_fence));
}

TEST(PtxMachine, FindsSharedMemoryThatIsWrittenBeforeAProductHasReadIt) {
    const std::string own = "st.shared.f32 [%r4], %f1;\n";
    for (const Timing timing : timings)
        EXPECT_TRUE(tells(error_of_product(ready + product + barrier + own + wait_for_product, timing),
                          "a product reads that nobody has waited for"));
    // Waited for, but by other warps than this one.
    EXPECT_TRUE(tells(error_of_product(ready + product + wait_for_product + own), "a product of another warp"));
    EXPECT_EQ(error_of_product(ready + product + wait_for_product + barrier + own), "none");
}

// All groups of eight rows of A are the same: it begins at 2048 and ends at 2304, counted side by side at 4096.
TEST(PtxMachine, FindsOperandsThatEndBehindSharedMemoryForComputeSanitizer) {
    const std::string overlapping = fill + ready + replaced(product, "68720001024", "524416") + wait_for_product;
    EXPECT_TRUE(tells(error_of(overlapping, 128, 4080), "compute-sanitizer"));
    EXPECT_EQ(error_of(overlapping, 128, 4096), "none");
}

TEST(PtxMachine, FindsAMissingProxyFence) {
    EXPECT_TRUE(tells(error_of_product(barrier + product + wait_for_product), "proxy fence"));
    EXPECT_TRUE(tells(error_of_product(fence + product + wait_for_product), "race"));
}

TEST(PtxMachine, FindsAProxyFenceThatComesAfterTheBarrier) {
    EXPECT_TRUE(tells(error_of_product(barrier + fence + product + wait_for_product), "proxy fence"));
}

}  // namespace
}  // namespace ptx_machine
