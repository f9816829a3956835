// Tests of what kernels for GPUs are estimated to take, which need no GPU, but a build that has them.
#ifndef CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H
#define CONV_TRANSPOSE_TESTS_GPU_ESTIMATES_H

#include <gtest/gtest.h>

#include <algorithm>

#include "choice/registry.h"

namespace conv_transpose::testing {

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
