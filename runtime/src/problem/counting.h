// Arithmetic of counts.
#ifndef CONV_TRANSPOSE_RUNTIME_COUNTING_H
#define CONV_TRANSPOSE_RUNTIME_COUNTING_H

#include <algorithm>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t round_up(int64_t value, int64_t multiple) { return ceil_divide(value, multiple) * multiple; }

/// The product of extent(axis) over all axes.
template <class Extent>
int64_t product_of_axes(const Problem &p, Extent extent) {
    int64_t product = 1;
    for (const Axis &axis : p.axes) product *= extent(axis);
    return product;
}

/// Elements of a channel of one image, and positions of a kernel.
inline int64_t input_positions(const Problem &p) {
    return product_of_axes(p, [](const Axis &a) { return a.input; });
}
inline int64_t output_positions(const Problem &p) {
    return product_of_axes(p, [](const Axis &a) { return a.output(); });
}
inline int64_t taps(const Problem &p) {
    return product_of_axes(p, [](const Axis &a) { return a.kernel; });
}

/// The share of the output's positions that kernels see whose taps leave some of each stride out.
inline double share_seen(const Problem &p) {
    double seen = 1;
    for (const Axis &a : p.axes) seen *= std::min(1.0, double(a.kernel) / double(a.stride));
    return seen;
}

}  // namespace conv_transpose

#endif
