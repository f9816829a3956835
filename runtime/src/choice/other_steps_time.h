// How long the steps before a kernel's own and behind it take, in seconds of an H200: 0 where a computation has none of the kind.
#ifndef CONV_TRANSPOSE_RUNTIME_OTHER_STEPS_TIME_H
#define CONV_TRANSPOSE_RUNTIME_OTHER_STEPS_TIME_H

#include "choice/computation.h"

namespace conv_transpose {

/// A step of its own, before the kernel's or behind it, waits for what is before.
constexpr double launch = 2.1e-6;

double picture_packing_time(const KernelTraits &kernel, const Computation &computation);
double weight_packing_time(const KernelTraits &kernel, const Computation &computation);
double conversion_time(const KernelTraits &kernel, const Computation &computation);
double cell_packing_time(const Computation &computation);
double group_packing_time(const Computation &computation);
double mirroring_time(const KernelTraits &kernel, const Computation &computation);

/// What blocks of a cluster take to meet, and to add their parts of a tile.
double cluster_time(double tile_elements);

/// What it takes to turn pictures before and after a kernel.
double turning_time(const Computation &computation);

/// What it takes to write the products of taps, and to add them.
double time_of_tap_products(const Computation &computation);

/// What adding the parts of a sum takes.
double adding_time(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
