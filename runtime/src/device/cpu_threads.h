// The threads that CPU kernels share their work out to.
#ifndef CONV_TRANSPOSE_RUNTIME_CPU_THREADS_H
#define CONV_TRANSPOSE_RUNTIME_CPU_THREADS_H

#include <cstdint>

namespace conv_transpose {

/// Halide's type of halide_do_par_for().
using ParallelFor = int (*)(void *user_context, int (*task)(void *, int, uint8_t *), int min, int size,
                            uint8_t *closure);

/// Whether the caller's thread runs loops alone.
bool is_only_thread() noexcept;

/// From now on kernels are run by this: in a kernel pack, by the library that has loaded it.
void run_parallel_loops_by(ParallelFor) noexcept;

}  // namespace conv_transpose

#endif
