// Blocks of a cluster, and what their barriers order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "programs.h"

namespace ptx_machine {
namespace {

// Each of three blocks has the threads' numbers and its own, and reads those of the second.
const std::string of_block = "mov.u32 %r9, memory;\nadd.u32 %r2, %r2, %r9;\nmov.u32 %r4, %ctaid.y;\nadd.u32 %r5, %r1, %r4;\n"
                             "cvt.rn.f32.u32 %f1, %r5;\n",
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
    const auto expect = [](const std::string &body, const char *words) { EXPECT_TRUE(tells(error_of_cluster(body), words)); };
    expect(barrier + from_second + meet, "written without a barrier of it since");
    expect(meet + replaced(from_second, "%r2, 1", "%r2, 2"), "block 2 of the cluster has ended");
    expect(meet + from_second, "ends while another may read");
    expect(meet + from_second + "barrier.cluster.arrive.release;\n", "ends while another may read");
    expect(meet + from_second + to_shared + meet, "is read in the cluster without a barrier of it since");
    expect("barrier.cluster.arrive.release;\n" + meet, "arrives again");
    expect("shl.b32 %r2, %r1, 2;\n" + to_shared, "not in the block's 128 bytes");
    expect(meet + "mapa.shared::cluster.u32 %r6, %r2, 3;\nld.shared::cluster.f32 %f2, [%r6];\n", "no block 3");
}

}  // namespace
}  // namespace ptx_machine
