// What the processor and the GPU at hand can run.
#ifndef CONV_TRANSPOSE_RUNTIME_MACHINE_H
#define CONV_TRANSPOSE_RUNTIME_MACHINE_H

#include <cstdint>

#include "choice/registry.h"

namespace conv_transpose {

/// The GPU is that of the calling thread's current CUDA context, or device 0.
Machine this_machine();

/// Floats that a core's second-level cache holds.
int64_t second_cache_floats();

}  // namespace conv_transpose

#endif
