// Kernels that are launched early wait before they do anything.
#include <gtest/gtest.h>

#include <string>

#include "programs.h"

namespace ptx_machine {
namespace {

std::string error_of_early(const std::string &body) {
    const Module module = decode(".target sm_90a\n.visible .entry program()\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n" +
                                 body + "ret;\n}\n");
    const Kernel &kernel = *module.at("program");
    if (kernel.target != 90) return "target " + std::to_string(kernel.target);
    try {
        run({kernel, {1, 1, 1}, {32, 1, 1}, 0, {}, DeviceMemoryMap(), Timing::early, {1, 1, 1}, true});
    } catch (const PtxError &error) {
        return error.what();
    }
    return "none";
}

const std::string wait = "griddepcontrol.wait;\n", work = "mov.u32 %r1, %tid.x;\n";

TEST(EarlyLaunch, ComputesBehindTheWait) { EXPECT_EQ(error_of_early(wait + work), "none"); }

TEST(EarlyLaunch, FindsWorkBeforeTheWait) {
    for (const std::string &body : {work, work + wait, "@%p1 " + wait + work})
        EXPECT_TRUE(tells(error_of_early(body), "does not begin with griddepcontrol.wait")) << body;
}

}  // namespace
}  // namespace ptx_machine
