// What one launch of a kernel may span; larger problems are cut (launch_ranges.h), or other kernels serve them.
#ifndef CONV_TRANSPOSE_RUNTIME_LAUNCH_LIMITS_H
#define CONV_TRANSPOSE_RUNTIME_LAUNCH_LIMITS_H

#include <cstdint>

namespace conv_transpose {

/// Elements that one launch may span in a tensor, for kernels without 64-bit indices: 2^31 - 1.
int64_t max_elements_32bit() noexcept;

/// CUDA's limit for the second and third axis of a grid: 65535.
int64_t max_grid() noexcept;

/// For tests: so that small problems are cut as large ones are. Plans that were made before must not be run until
/// restore_launch_limits().
void limit_launches(int64_t elements, int64_t grid) noexcept;
void restore_launch_limits() noexcept;

}  // namespace conv_transpose

#endif
