// What the processor and the GPU at hand can run.
#ifndef CONV_TRANSPOSE_RUNTIME_MACHINE_H
#define CONV_TRANSPOSE_RUNTIME_MACHINE_H

#include <cstdint>

namespace conv_transpose {

enum class CpuLevel { baseline, avx2, avx512, avx512_bf16 };

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
