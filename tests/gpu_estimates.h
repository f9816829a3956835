// Tests of what kernels for GPUs are estimated to take, which need no GPU, but a build that has them.
#ifndef CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H
#define CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "choice/alternatives.h"
#include "choice/candidate.h"
#include "choice/estimated_time.h"
#include "choice/registry.h"
#include "device/machine.h"

namespace conv_transpose::testing {

constexpr Machine h200{.compute_capability = 90, .shared_bytes = 227 << 10, .multiprocessors = 132};

/// What a kernel may compute for a problem, all of whose tensors have the format: the problem as it is given first.
inline std::vector<Computation> computations(const KernelTraits &k, const char *problem, TensorFormat format) {
    PlanOptions options;
    options.device = Device::cuda, options.operation = k.operation;
    options.input = options.weight = options.output = format;
    return alternatives(Problem::parse(problem), options);
}

/// The kernel of that name, of which `is` is true, for a problem as it is given. Fails where there is none.
template <class Is>
std::optional<Candidate> gpu_candidate(const std::string &kernel, const char *problem, Is is, TensorFormat format = {}) {
    const auto &all = registry();
    const auto k = std::find_if(all.begin(), all.end(), [&](const KernelTraits &of) { return of.name == kernel; });
    if (k == all.end() || !is(*k)) {
        ADD_FAILURE() << kernel << " is not there, or has no such estimate";
        return std::nullopt;
    }
    return Candidate{*k, computations(*k, problem, format)[0], 0};
}

/// Of such a kernel and problem.
template <class Is>
double estimated_microseconds(const std::string &kernel, const char *problem, Is is, TensorFormat format = {}) {
    const auto candidate = gpu_candidate(kernel, problem, is, format);
    return candidate ? 1e6 * estimated_time(*candidate, h200) : 0;
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
