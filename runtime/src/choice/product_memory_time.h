// What memory and caches add to the time of implicit matrix products, as measured on an H200.
#ifndef CONV_TRANSPOSE_RUNTIME_PRODUCT_MEMORY_TIME_H
#define CONV_TRANSPOSE_RUNTIME_PRODUCT_MEMORY_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// The least time, in seconds, in which what is read and written passes through the caches and memory, however fast products are.
double least_moving_time(const KernelTraits &kernel, const Computation &computation);

/// What pictures take at least to come and go, in seconds, of kernels whose products may be few beside them; else 0.
double pictures_time(const KernelTraits &kernel, const Computation &computation);

/// How much longer products take whose pixels begin inside of lines of the second-level cache.
double split_lines_factor(const KernelTraits &kernel, const Computation &computation);

/// What stores take that products do not hide, in seconds: of outputs a stride apart, of phases without taps, and of single
/// elements.
double scattered_stores_time(const KernelTraits &kernel, const Computation &computation);
double bare_stores_time(const KernelTraits &kernel, const Computation &computation);
double single_stores_time(const KernelTraits &kernel, const Computation &computation);

/// What copies of one group's channels take that memory brings with those of others, in seconds.
double other_groups_time(const KernelTraits &kernel, const Computation &computation);

/// What loads of pixels take that are no neighbours, in seconds.
double strided_loads_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif
