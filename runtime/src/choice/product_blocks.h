// How much a kernel that computes an operation as implicit matrix products (algorithm/implicit_gemm.h)
// has to do: its blocks of threads, and the steps of their loop, each one tap of a chunk of channels.
#ifndef CONV_TRANSPOSE_RUNTIME_PRODUCT_BLOCKS_H
#define CONV_TRANSPOSE_RUNTIME_PRODUCT_BLOCKS_H

#include "problem/counting.h"
#include "choice/kernel_traits.h"

namespace conv_transpose {

struct ProductBlocks {
    int64_t blocks = 0;
    int64_t chunks = 0;  ///< of the channels that are summed over
    int64_t steps = 0;   ///< of a phase, on average, rounded up

    /// Of a forward or input gradient kernel that counts through images.
    ProductBlocks(const KernelTraits &k, const Problem &p) {
        const bool forward = k.operation == Operation::forward;
        const int64_t phases = forward ? product_of_axes(p, [](const Axis &a) { return a.stride; }) : 1;
        const int64_t cells = p.batch * product_of_axes(p, [&](const Axis &a) {
                                  return forward ? ceil_divide(a.output(), a.stride) : a.input;
                              });
        const int64_t channels = (forward ? p.out_channels : p.in_channels) / p.groups;
        chunks = ceil_divide((forward ? p.in_channels : p.out_channels) / p.groups, k.weight_in_channel_multiple);
        blocks = ceil_divide(cells, k.block_positions.height * k.block_positions.width) *
                 ceil_divide(channels, k.block_channels) * phases * p.groups;
        steps = ceil_divide(taps(p), phases) * chunks;
    }
};

}  // namespace conv_transpose

#endif
