// What the processor and the GPU at hand can run.
#ifndef CONV_TRANSPOSE_RUNTIME_MACHINE_H
#define CONV_TRANSPOSE_RUNTIME_MACHINE_H

#include <cstdint>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

enum class CpuLevel { baseline, avx2, avx512, avx512_bf16, amx };

struct Machine {
    CpuLevel cpu_level = CpuLevel::baseline;
    int compute_capability = 0;  ///< 0 without a usable GPU
    int64_t shared_bytes = 0;    ///< that a block may have
    int multiprocessors = 0;
};

/// The GPU is that of the calling thread's current CUDA context, or device 0. For the CPU nothing is asked of the CUDA driver: it
/// would start, which takes 0.4 s, and children that are forked later could not use it.
Machine this_machine(Device device);

/// Whether kernels for CpuLevel::amx may run: Linux saves tile registers for processes that have asked. The first call asks for all
/// threads, those that there are as well. From then on alternative signal stacks must have room for 8 KB more, so it is refused
/// where there is one that has not; so nobody asks but for a kernel that is to be taken.
bool may_use_tile_registers();

/// Floats that a core's second-level cache holds.
int64_t second_cache_floats();

}  // namespace conv_transpose

#endif
