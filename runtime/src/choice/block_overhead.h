// What a block of a kernel for implicit matrix products takes beside its products, as measured on an H200, and the kinds of such
// kernels that differ in it.
#ifndef CONV_TRANSPOSE_RUNTIME_BLOCK_OVERHEAD_H
#define CONV_TRANSPOSE_RUNTIME_BLOCK_OVERHEAD_H

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Blocks of small problems, of which a multiprocessor has one (input gradients: fitted to 25 layers, a tenth off, H200,
/// 2026-11-22).
bool is_for_small_problems(const KernelTraits &kernel);

/// Forward products on CUDA cores, whose longest phases come first.
bool is_forward_on_cuda_cores(const KernelTraits &kernel);

/// Input gradients of pictures of float32, of which a multiprocessor has several blocks.
bool is_gradient_on_cuda_cores(const KernelTraits &kernel);

/// Whether runs of phases that are channels, in channels_first, are stored by 2 bytes.
bool stores_at_odd_elements(const KernelTraits &kernel, const Problem &problem);

/// Once, before the first blocks have something to compute. In seconds, as all of it.
double before_first_block(const KernelTraits &kernel);

/// What each block takes beside its products; its elements are sums of so many.
double block_overhead(const KernelTraits &kernel, const Problem &problem, double products);

}  // namespace conv_transpose

#endif
