// Tests of what kernels for GPUs are estimated to take, which need no GPU, but a build that has them.
#ifndef CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H
#define CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "choice/alternatives.h"
#include "choice/candidate.h"
#include "choice/registry.h"
#include "device/machine.h"

namespace conv_transpose::testing {

constexpr Machine h200{.compute_capability = 90, .shared_bytes = 227 << 10, .multiprocessors = 132};

/// The kernel of that name, of which `is` is true, for a problem as it is given, all of whose tensors have the format. Fails where
/// there is none.
template <class Is>
std::optional<Candidate> gpu_candidate(const std::string &kernel, const char *problem, Is is, TensorFormat format = {}) {
    const auto &all = registry();
    const auto k = std::find_if(all.begin(), all.end(), [&](const KernelTraits &of) { return of.name == kernel; });
    if (k == all.end() || !is(*k)) {
        ADD_FAILURE() << kernel << " is not there, or has no such estimate";
        return std::nullopt;
    }
    PlanOptions options;
    options.device = Device::cuda, options.operation = k->operation;
    options.input = options.weight = options.output = format;
    return Candidate{*k, alternatives(Problem::parse(problem), options)[0], 0};
}

class GpuEstimates : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto &all = registry();
        if (std::none_of(all.begin(), all.end(), [](const KernelTraits &k) { return k.device == Device::cuda; }))
            GTEST_SKIP() << "this build has no kernels for GPUs";
    }
};

}  // namespace conv_transpose::testing

#endif
