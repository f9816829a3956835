// Matrices of tensor cores that a warp loads, stores and turns.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

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
    const std::string store_matrix = numbered_matrix + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r5};\n";
    EXPECT_TRUE(tells(error_of(store_matrix + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n", 32, 128), "race"));
    EXPECT_TRUE(tells(error_of(replaced(store_matrix, "x1", "x2"), 32, 128), "number of matrices"));
}

TEST(PtxMachine, MovesNumbersBetweenLanes) {
    const auto moved = [](const std::string &shuffle) {
        std::vector<float> floats(32);
        run_program("mov.u32 %r5, %r1;\n" + shuffle + word_to_float, floats, 32, 128);
        return floats;
    };
    const std::vector<float> up = moved("shfl.sync.up.b32 %r7, %r5, 4, 0, 0xffffffff;\n"),
                             down = moved("shfl.sync.down.b32 %r7, %r5, 4, 31, 0xffffffff;\n");
    for (int l = 0; l < 32; l++) {
        EXPECT_EQ(up[l], float(l < 4 ? l : l - 4)) << l;
        EXPECT_EQ(down[l], float(l < 28 ? l + 4 : l)) << l;
    }
    EXPECT_TRUE(tells(error_of("shfl.sync.up.b32 %r7, %r5, 4, 0, 0xffff;\n", 32, 128), "other lanes than all"));
}

}  // namespace
}  // namespace ptx_machine
