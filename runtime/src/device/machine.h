// What the processor and the GPU at hand can run.
#ifndef CONV_TRANSPOSE_RUNTIME_MACHINE_H
#define CONV_TRANSPOSE_RUNTIME_MACHINE_H

#include "choice/registry.h"

namespace conv_transpose {

/// The GPU is that of the calling thread's current CUDA context, or device 0.
Machine this_machine();

}  // namespace conv_transpose

#endif
