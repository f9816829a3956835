// The kernels on the problems of shapes.txt, which between them execute nearly every instruction of each
// (find_shapes.cpp chose them), against the oracle. For ptx_machine; any GPU will do.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "kernel_run.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

using Runs = std::vector<KernelRun>;

/// By kernel. Kernels that this build does not have are left out: some are in full builds alone.
std::map<std::string, Runs> runs_of_file() {
    std::map<std::string, Runs> all;
    std::ifstream file(SHAPES);
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') {
            const KernelRun run = KernelRun::parse(line);
            all[run.kernel].push_back(run);
        }
    for (auto kernel = all.begin(); kernel != all.end();) {
        try {
            kernel_named(kernel->first);
            ++kernel;
        } catch (const std::invalid_argument &) {
            kernel = all.erase(kernel);
        }
    }
    return all;
}

class Shapes : public ::testing::TestWithParam<std::pair<const std::string, Runs>> {};

TEST_P(Shapes, EqualTheOracle) {
    if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
    for (const KernelRun &run : GetParam().second) ASSERT_EQ(run.error(), "") << run.str();
}

INSTANTIATE_TEST_SUITE_P(Kernel, Shapes, ::testing::ValuesIn(runs_of_file()),
                         [](const auto &info) { return info.param.first; });

}  // namespace
}  // namespace conv_transpose::testing
