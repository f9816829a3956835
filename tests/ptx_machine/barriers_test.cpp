// Barriers of a block and of some of its warps, and the races that they prevent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

TEST(PtxMachine, SharesMemoryAcrossABarrier) {
    std::vector<float> floats = counting(64);
    run_program(load + to_shared + barrier + from_shared + store, floats, 64, 256);
    for (int i = 0; i < 64; i++) EXPECT_EQ(floats[i], (i + 32) % 64);
}

TEST(PtxMachine, FindsReadsThatNoBarrierOrders) {
    EXPECT_TRUE(tells(error_of(load + to_shared + from_shared + store, 64, 256), "race"));
}

TEST(PtxMachine, FindsWritesThatNoBarrierOrders) {
    EXPECT_TRUE(tells(error_of(load + to_shared + barrier + from_shared + to_shared, 64, 256), "race"));
}

TEST(PtxMachine, FindsBarriersThatNotAllReach) {
    EXPECT_TRUE(tells(error_of("setp.lt.s32 %p1, %r1, 5;\n@%p1 bra END;\n" + barrier + "END:\n" + barrier, 32), "only some lanes"));
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
    EXPECT_TRUE(tells(early, "race"));
    EXPECT_TRUE(tells(error_of(roles + to_shared + consumer + consume + end, 64, 256), "race"));
}

TEST(PtxMachine, FindsLanesThatDoNotWaitForEachOtherWhereTheirWarpOnlyArrives) {
    const std::string of_neighbour = "xor.b32 %r3, %r2, 4;\nld.shared.f32 %f2, [%r3];\n", end = consumer + consume + "END:\n";
    EXPECT_TRUE(tells(error_of(roles + of_neighbour + end, 64, 256), "race"));
    EXPECT_EQ(error_of(roles + "bar.warp.sync 0xffffffff;\n" + of_neighbour + end, 64, 256), "none");
}

TEST(PtxMachine, FindsLanesThatEndWhereTheOthersWaitForThem) {
    const std::string synced = "bar.warp.sync 0xffffffff;\n", some = "setp.ge.s32 %p1, %r1, 16;\n@%p1 bra END;\n";
    const std::string read = "xor.b32 %r3, %r2, 64;\nld.shared.f32 %f2, [%r3];\n";
    EXPECT_EQ(error_of(load + to_shared + synced + some + read + "END:\n", 32, 128), "none");
    EXPECT_TRUE(tells(error_of(load + to_shared + some + synced + read + "END:\n", 32, 128), "have ended that it waits for"));
    EXPECT_EQ(error_of(load + to_shared + some + synced + read + "ret;\nEND:\n" + synced, 32, 128), "none");
}

TEST(PtxMachine, FindsBarriersThatAreMiscounted) {
    const std::string end = "END:\n";
    EXPECT_TRUE(tells(error_of(roles + consumer + "bar.sync 1, 96;\n" + end, 64, 256), "another number of threads"));
    EXPECT_TRUE(tells(error_of(roles + consumer + "bar.sync 2, 64;\n" + end, 64, 256), "wait for each other"));
    EXPECT_TRUE(tells(error_of("bar.arrive 1, 64;\nbar.arrive 1, 64;\n", 32), "arrives again"));
    EXPECT_TRUE(tells(error_of(roles + consumer + end, 64, 256), "for which nobody waits"));
    EXPECT_TRUE(tells(error_of("bar.arrive 16, 64;\n", 32), "a block has 0 to 15"));
    EXPECT_TRUE(tells(error_of("bar.sync 1, 40;\n", 32), "no whole warps"));
}

}  // namespace
}  // namespace ptx_machine
