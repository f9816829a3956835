// That ptx_machine computes, and that it finds what it is there to find: a test of kernels on it could else
// not fail. Here: single instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

TEST(PtxMachine, Computes) {
    std::vector<float> floats = counting(40);
    run_program(load + "fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n" + store, floats, 40);
    for (int i = 0; i < 40; i++) EXPECT_EQ(floats[i], 2.f * i + 1);
}

TEST(PtxMachine, ExtendsTheSignOfASignedField) {
    for (const bool is_signed : {false, true}) {
        std::vector<float> floats(32);
        const std::string type = is_signed ? "s32" : "u32";
        run_program("bfe." + type + " %r3, %r1, 1, 2;\ncvt.rn.f32.s32 %f2, %r3;\n" + store, floats, 32);
        for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i / 2 % 4 - (is_signed && i & 4 ? 4 : 0)) << i;
    }
}

TEST(PtxMachine, ConvertsTheLowHalfOfAWideRegister) {
    std::vector<float> floats(32);
    run_program("cvt.u64.u32 %rd4, %r1;\ncvt.s64.s32 %rd5, %rd4;\ncvt.u32.u64 %r3, %rd5;\ncvt.rn.f32.s32 %f2, %r3;\n" + store,
                floats, 32);
    for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i);
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

TEST(PtxMachine, BranchesApartAndTogetherAgain) {
    std::vector<float> floats = counting(32);
    run_program(load +
                    "setp.lt.s32 %p1, %r1, 5;\n@%p1 bra LOW;\nmov.f32 %f2, 0f00000000;\nbra.uni END;\n"
                    "LOW:\nmov.f32 %f2, %f1;\nEND:\n" +
                    store,
                floats, 32);
    for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], i < 5 ? i : 0);
}

TEST(PtxMachine, FindsAccessesOutsideOfMemory) {
    EXPECT_TRUE(tells(error_of("ld.global.f32 %f1, [%rd3+4];\n" + to_shared, 32, 128), "beyond the device's memory"));
    EXPECT_TRUE(tells(error_of(load + "st.shared.f32 [%r2+4], %f1;\n", 32, 128), "shared address 128"));
    EXPECT_TRUE(tells(error_of("ld.global.v2.f32 {%f1, %f2}, [%rd3];\n" + to_shared, 8, 32), "not aligned"));
}

TEST(PtxMachine, RefusesWhatItDoesNotKnow) {
    EXPECT_TRUE(tells(error_of("dp4a.s32.s32 %r3, %r1, %r1, %r1;\n", 32), "dp4a"));
    EXPECT_TRUE(tells(error_of("mov.u32 %q3, %r1;\n", 32), "no register %q3"));
    EXPECT_TRUE(tells(error_of("bra NOWHERE;\n", 32), "no label NOWHERE"));
}

}  // namespace
}  // namespace ptx_machine
