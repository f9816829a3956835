// The registry: every compiled kernel, and which of them may serve a problem.
#ifndef CONV_TRANSPOSE_RUNTIME_REGISTRY_H
#define CONV_TRANSPOSE_RUNTIME_REGISTRY_H

#include <span>
#include <string>

#include "kernel_traits.h"

namespace conv_transpose {

/// What the processor or GPU at hand can run.
struct Machine {
    CpuLevel cpu_level = CpuLevel::baseline;
    int compute_capability = 0;  ///< 0 without a usable GPU
};

/// In order of preference: the order of generators/kernels.cmake.
std::span<const KernelTraits> registry();

/// Why a kernel cannot serve; empty if it can.
std::string rejection(const KernelTraits &kernel, const Problem &problem, Operation operation, Device device,
                      Precision precision, const Machine &machine);

/// The kernels of roles other than `compute`; null if this build has none.
const KernelTraits *weight_packing_kernel(WeightLayout layout, Device device);
const KernelTraits *sum_of_parts_kernel(Device device);

/// Elements that one launch may span in a tensor, for kernels without 64-bit indices.
constexpr int64_t max_elements_32bit = (int64_t{1} << 31) - 1;

}  // namespace conv_transpose

#endif
