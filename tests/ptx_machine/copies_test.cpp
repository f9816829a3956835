// Copies by threads (cp.async), and who has to wait for them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

const std::string copy = "cp.async.ca.shared.global [%r2], [%rd3], 4, 4;\ncp.async.commit_group;\n";
const std::string wait = "cp.async.wait_group 0;\n";

TEST(PtxMachine, CopiesEarlyAndLate) {
    for (const Timing timing : {Timing::early, Timing::late}) {
        std::vector<float> floats = counting(64);
        run_program(copy + wait + barrier + from_shared + store, floats, 64, 256, timing);
        for (int i = 0; i < 64; i++) EXPECT_EQ(floats[i], (i + 32) % 64);
    }
}

TEST(PtxMachine, FindsACopyThatIsNotWaitedFor) {
    for (const Timing timing : timings) {
        const std::string error = error_of(copy + barrier + from_shared + store + wait, 64, 256, timing);
        EXPECT_TRUE(tells(error, "a copy that nobody waited for writes"));
    }
    // Nor may its own thread read, or write.
    EXPECT_TRUE(tells(error_of(copy + "ld.shared.f32 %f2, [%r2];\n" + wait, 64, 256), "race"));
    EXPECT_TRUE(tells(error_of(load + copy + to_shared + wait, 64, 256), "race"));
    EXPECT_EQ(error_of(copy + wait + "ld.shared.f32 %f2, [%r2];\n", 64, 256), "none");
}

TEST(PtxMachine, FindsAWaitForOneCopyTooFew) {
    const std::string second = "add.s32 %r2, %r2, 256;\n" + copy;
    EXPECT_EQ(error_of(copy + second + "cp.async.wait_group 1;\nadd.s32 %r2, %r2, -256;\n" + barrier + from_shared + wait, 64, 512),
              "none");
    EXPECT_TRUE(tells(error_of(copy + second + "cp.async.wait_group 1;\n" + barrier + from_shared + wait, 64, 512), "race"));
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

}  // namespace
}  // namespace ptx_machine
