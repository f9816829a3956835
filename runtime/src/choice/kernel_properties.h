// What follows from a kernel's traits: how it reads and stores tensors, and what a launch of it spans.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_PROPERTIES_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_PROPERTIES_H

#include "choice/kernel_traits.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"
#include "problem/layouts.h"

namespace conv_transpose {

/// How many positions before the output a launch of the kernel begins on an axis of the problem.
inline int64_t early_positions(const KernelTraits &kernel, const Problem &problem, const Axis &axis) {
    const bool whole_cells = kernel.whole_cells && (!kernel.phases_along_width || &axis == &problem.width());
    return whole_cells ? axis.padding % axis.stride : 0;
}

/// The extent of the output on it, as the launch spans it.
inline int64_t spanned_output(const KernelTraits &kernel, const Problem &problem, const Axis &axis) {
    return axis.output() + early_positions(kernel, problem, axis);
}

/// All positions of the output, likewise.
inline int64_t spanned_outputs(const KernelTraits &kernel, const Problem &problem) {
    return product_of_axes(problem, [&](const Axis &axis) { return spanned_output(kernel, problem, axis); });
}

/// A kernel that reads packed channels has so many planes for those of one group, of 16 bytes at each position.
inline int64_t packed_planes(const KernelTraits &kernel, int64_t channels) {
    return round_up(channels, kernel.weight_in_channel_multiple) / (kernel.input.type == ElementType::float32 ? 4 : 8);
}

inline bool reads_pairs_of(const KernelTraits &kernel, Operation operation) {
    return kernel.reads_pairs && kernel.operation == operation;
}

/// Whether it reads a picture in channels_first as it lies, by a tensor map: box_positions of a row, of a chunk of channels.
inline bool reads_as_it_lies(const KernelTraits &kernel) {
    return reads_pairs_of(kernel, Operation::input_gradient) ||
           (kernel.box_positions > 0 && kernel.operation == Operation::forward && !channels_innermost(kernel.input));
}

/// Whether the inputs of such a picture are its cells, so that those of an image lie in one row: kernels as large as strides.
inline bool reads_one_row(const KernelTraits &kernel) { return reads_as_it_lies(kernel) && kernel.phases_as_channels; }

/// Whether it is an implicit product of a weight gradient that reads pictures in channels_first as they lie.
inline bool sums_as_it_lies(const KernelTraits &kernel) {
    return kernel.family == Family::weight_gradient_implicit_gemm && !channels_innermost(kernel.input);
}

/// Whether it reads such pictures by tensor maps.
inline bool sums_boxes(const KernelTraits &kernel) { return sums_as_it_lies(kernel) && kernel.box_positions > 0; }

/// Whether these are runs of positions, all of an image in one row (in_one_row() in weight_gradient_parts.h).
inline bool sums_runs(const KernelTraits &kernel) { return sums_boxes(kernel) && !kernel.reads_pairs; }

/// Whether it is an implicit product of weights that nothing packs.
inline bool reads_weights_as_given(const KernelTraits &kernel) {
    return kernel.counts_through_images && kernel.weight_layout == WeightLayout::as_given;
}

/// Whether it is one on tensor cores, for which generators/gemm_weight_packing.cpp packs weights in runs of 64 channels.
inline bool reads_packed_runs(const KernelTraits &kernel) {
    return kernel.counts_through_images && kernel.weight_layout != WeightLayout::as_given &&
           kernel.weight_layout != WeightLayout::channels_innermost;
}

/// Whether its threads load them one by one, from wherever they lie, and multiply them on tensor cores.
inline bool loads_weights_as_given(const KernelTraits &kernel) {
    const bool on_tensor_cores = kernel.precision == Precision::tf32 || bytes_of(kernel.output.type) == 2;
    return reads_weights_as_given(kernel) && kernel.operation == Operation::forward && kernel.box_positions == 0 && on_tensor_cores;
}

/// Whether it sums over kernel positions like channels, of pixels and weights that threads copy 16 bytes, or less, at a time.
inline bool copies_taps(const KernelTraits &kernel) {
    return kernel.taps_as_channels && reads_weights_as_given(kernel) && channels_innermost(kernel.output);
}

/// Whether what it copies may be packed before, pixels and weights: both as rows of 16 bytes of output channels.
inline bool copies_packed_taps(const KernelTraits &kernel) {
    return copies_taps(kernel) && kernel.out_channel_multiple == 8;
}

/// Whether it stores 16 bytes of neighbouring positions at once, where it does: rows of the output are multiples of that, and
/// phases that are channels those of one stride along the width.
inline bool stores_runs_of_positions(const KernelTraits &kernel) {
    return reads_pairs_of(kernel, Operation::input_gradient) || (reads_as_it_lies(kernel) && kernel.output_width_multiple > 1);
}

/// Whether it copies pictures 16 bytes at a time, from multiples of as many: those of 16 bits with channels innermost, and
/// vectors of channels. Bias gradients load single elements.
inline bool copies_16_bytes(const KernelTraits &kernel) {
    const auto of_16_bits = [](TensorFormat f) {
        return f.type != ElementType::float32 && channels_innermost(f);
    };
    const bool reads_input = kernel.operation != Operation::input_gradient,
               reads_output = kernel.operation != Operation::forward;
    return kernel.role == KernelRole::compute && kernel.device == Device::cuda && !kernel.any_layout &&
           kernel.operation != Operation::bias_gradient &&
           (kernel.vectors_of_channels || reads_as_it_lies(kernel) || (reads_input && of_16_bits(kernel.input)) ||
            (reads_output && of_16_bits(kernel.output)));
}

/// Whether it takes tensors of any layout with any channels and is no product: it serves what no other kernel does, and is slow.
inline bool is_last_resort(const KernelTraits &kernel) {
    const bool is_product = kernel.family == Family::flat_forward || kernel.family == Family::flat_input_gradient ||
                            kernel.family == Family::flat_weight_gradient;
    return kernel.role == KernelRole::compute && kernel.any_layout && kernel.in_channels == 0 && !is_product;
}

}  // namespace conv_transpose

#endif
