// What the processor and the GPU at hand can run.
#ifndef CONV_TRANSPOSE_RUNTIME_MACHINE_H
#define CONV_TRANSPOSE_RUNTIME_MACHINE_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

struct Machine {
    CpuLevel cpu_level = CpuLevel::baseline;
    int compute_capability = 0;  ///< 0 without a usable GPU
    int64_t shared_bytes = 0;    ///< that a block may have
    int multiprocessors = 0;
};

/// The GPU is that of the calling thread's current CUDA context, or device 0.
Machine this_machine();

/// Floats that a core's second-level cache holds.
int64_t second_cache_floats();

}  // namespace conv_transpose

#endif
