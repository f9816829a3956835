// The axes' arguments of kernels that compute the forward operation (algorithm/gather.h).
#ifndef CONV_TRANSPOSE_RUNTIME_GATHER_AXES_H
#define CONV_TRANSPOSE_RUNTIME_GATHER_AXES_H

#include <numeric>
#include <tuple>

#include "plan/step.h"

namespace conv_transpose {

/// The inverse of a modulo m, for coprime a and m; 0 for m = 1.
inline int64_t modular_inverse(int64_t a, int64_t m) {
    int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
    while (r1 != 0) {
        const int64_t q = r0 / r1;
        std::tie(r0, r1) = std::pair{r1, r0 - q * r1};
        std::tie(t0, t1) = std::pair{t1, t0 - q * t1};
    }
    return m == 1 ? 0 : (t0 % m + m) % m;
}

inline int64_t inverse(const Axis &a) {
    const int64_t gcd = std::gcd(a.stride, a.dilation);
    return modular_inverse(a.dilation / gcd, a.stride / gcd);
}

template <Family family>
Launch<family> &set_gather_axes(Launch<family> &launch, const Problem &p) {
    return launch.set_axes("stride", p, [](const Axis &a) { return a.stride; })
        .set_axes("dilation", p, [](const Axis &a) { return a.dilation; })
        .set_axes("padding_phase", p, [](const Axis &a) { return a.padding % a.stride; })
        .set_axes("gcd", p, [](const Axis &a) { return std::gcd(a.stride, a.dilation); })
        .set_axes("inverse", p, inverse)
        .set_axes("kernel", p, [](const Axis &a) { return a.kernel; });
}

}  // namespace conv_transpose

#endif
