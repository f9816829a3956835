// How long kernels take that compute an operation as implicit matrix products, by waves of blocks on an H200, or that have tiles
// of a picture likewise.
#ifndef CONV_TRANSPOSE_RUNTIME_PRODUCT_TIME_H
#define CONV_TRANSPOSE_RUNTIME_PRODUCT_TIME_H

#include "choice/computation.h"
#include "device/machine.h"

namespace conv_transpose {

/// How many products an element has, on average.
double products_of_element(const KernelTraits &kernel, const Problem &problem);

/// How long the longest blocks are, in averages of all: phases that have blocks of their own may differ in taps.
double longest_block(const KernelTraits &kernel, const Problem &problem);

/// The kernel's own step, in seconds.
double product_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif
