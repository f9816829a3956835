// What compiled kernels and the runtime agree on: enumerations that appear on both sides. No Halide, no runtime types.
#ifndef CONV_TRANSPOSE_ALGORITHM_KERNEL_INTERFACE_H
#define CONV_TRANSPOSE_ALGORITHM_KERNEL_INTERFACE_H

namespace conv_transpose {

/// The order in which a kernel reads its weights.
enum class WeightLayout {
    as_given,            ///< (kx, ky, channel, input channel, group): PyTorch's tensor, no packing
    /// (channel, kx, ky, summed channel, group): first the channels that the kernel computes, those of the
    /// output or, in an input gradient, of the input, padded with zeros to a multiple; then those that it
    /// sums over.
    channels_innermost,
    /// (channel in tile, kx, ky, input channel, tile + tiles * group): all weights of a tile lie together, so that they
    /// stay in a CPU's first cache. Channels are padded with zeros to whole tiles.
    channel_tiles,
    /// (channel in tile, summed channel, point x + points * phase x, point y + points * phase y, tile + tiles * group): each
    /// phase's taps, transformed by Winograd's algorithm (flat_winograd.h). Channels as above.
    winograd,
    /// (channel in panel, summed channel, kx, ky, kz, panel + panels * group): at a kernel position all summed channels of a
    /// panel follow each other. Channels as above. Where pairs are summed (KernelTraits::sums_pairs), two channels of a pair lie
    /// side by side in each lane, (pair and channel in panel, pair of summed channels, ...).
    channel_panels,
    /// In tiles for tensor cores, as generators/tensor_core_packing.cpp writes them.
    tensor_core,
    tensor_core_row_pairs,
    tensor_core_split,
    tensor_core_split_row_pairs,
    tensor_core_sub_pixel,
    tensor_core_split_sub_pixel,
    /// layouts::tensor_core_weights (tensor_layout.h) of 16-bit values, in the format of the kernel's output.
    tensor_core_16_bits,
};

/// Values of the `has_bias` argument of every forward kernel. Behind the biases of a group's channels may stand their slopes,
/// in place of the argument of that name, where a kernel knows them (CalledWith::channel_slopes).
enum class BiasKind { none = 0, biases = 1, biases_and_slopes = 2 };

/// Values of the `activation` argument of every forward kernel: a smooth one's number in the public interface
/// (activations.h).
enum class EpilogueKind { piecewise_linear = 0, tanh = 3, sigmoid = 4 };

}  // namespace conv_transpose

#endif
