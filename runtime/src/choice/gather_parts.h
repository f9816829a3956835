// How threads of a gather share the positions of an axis (schedules/cuda_gather.h).
#ifndef CONV_TRANSPOSE_RUNTIME_GATHER_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_GATHER_PARTS_H

#include <algorithm>
#include <numeric>

#include "choice/kernel_traits.h"
#include "problem/counting.h"

namespace conv_transpose {

/// What a gather computes along an axis: outputs, or inputs of an input gradient.
inline int64_t computed_positions(const KernelTraits &k, const Axis &a) {
    return std::max<int64_t>(k.operation == Operation::forward ? a.output() : a.input, 1);
}

/// The axis whose positions are parts of threads.
inline const Axis &axis_of_parts(const KernelTraits &k, const Problem &p) { return k.part_axis == 1 ? p.height() : p.width(); }

/// Threads that compute all positions of that axis. Neighbouring parts of a thread see the same inputs by different taps: they
/// are a common step of stride and dilation apart. Others are far from each other, and begin at multiples of the stride.
inline int64_t threads_of_axis(const KernelTraits &k, const Axis &a) {
    const bool forward = k.operation == Operation::forward;
    const int64_t positions = computed_positions(k, a);
    if (!k.parts_are_neighbours) return std::min(round_up(ceil_divide(positions, k.parts), forward ? a.stride : 1), positions);
    const int64_t step = forward ? std::lcm(a.stride, a.dilation) : a.dilation;
    return ceil_divide(positions, k.parts * step) * step;
}

}  // namespace conv_transpose

#endif
