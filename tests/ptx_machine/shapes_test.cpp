// The kernels on the problems of shapes.txt, which between them execute nearly every instruction of each
// (find_shapes.cpp chose them), against the oracle. For ptx_machine; any GPU will do. CONV_TRANSPOSE_SHAPES names another file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "kernel_run.h"
#include "run_plan.h"

namespace conv_transpose::testing {

void PrintTo(const KernelRun &run, std::ostream *out) {
    *out << run.str();
}

namespace {

using Runs = std::vector<KernelRun>;

/// Names of kernels that a build with all of them has, and this one has not.
std::set<std::string> kernels_left_out() {
    std::ifstream file(KERNELS_LEFT_OUT);
    return {std::istream_iterator<std::string>(file), {}};
}

/// By kernel.
std::map<std::string, Runs> runs_of_file() {
    const std::set<std::string> left_out = kernels_left_out();
    std::map<std::string, Runs> all;
    const char *const other = std::getenv("CONV_TRANSPOSE_SHAPES");
    std::ifstream file(other ? other : SHAPES);
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') {
            const KernelRun run = KernelRun::parse(line);
            if (!left_out.count(run.kernel)) all[run.kernel].push_back(run);
        }
    return all;
}

class Shapes : public ::testing::TestWithParam<std::pair<const std::string, Runs>> {};

TEST_P(Shapes, EqualTheOracle) {
    if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
    int runs = 0;
    for (const KernelRun &run : GetParam().second) {
        try {
            ASSERT_EQ(run.error(), "") << run.str();
            runs++;
        } catch (const Unsupported &error) {
            // Some kernels are for newer GPUs alone, or their tiles fit no other's shared memory.
            const std::string reason = error.what();
            ASSERT_TRUE(reason.find("bytes of shared memory") != std::string::npos ||
                        reason.find("compute capability is") != std::string::npos)
                << reason;
        }
    }
    if (runs == 0) std::cout << "no problem of " << GetParam().first << " runs on this GPU\n";  // mutants.py looks for it
}

INSTANTIATE_TEST_SUITE_P(Kernel, Shapes, ::testing::ValuesIn(runs_of_file()),
                         [](const auto &info) { return info.param.first; });

}  // namespace
}  // namespace conv_transpose::testing
