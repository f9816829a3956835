// Arithmetic of counts.
#ifndef CONV_TRANSPOSE_RUNTIME_COUNTING_H
#define CONV_TRANSPOSE_RUNTIME_COUNTING_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t round_up(int64_t value, int64_t multiple) { return ceil_divide(value, multiple) * multiple; }

/// Elements of a plane, or of a kernel.
inline int64_t area(Size2 size) { return size.height * size.width; }

}  // namespace conv_transpose

#endif
