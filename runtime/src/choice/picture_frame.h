// The frame of positions that a kernel's boxes are cut from, where it reads its picture by a tensor map: what the sum reads
// of the picture at its first step, and how far further on later steps read (Geometry in algorithm/implicit_gemm.h).
#ifndef CONV_TRANSPOSE_RUNTIME_PICTURE_FRAME_H
#define CONV_TRANSPOSE_RUNTIME_PICTURE_FRAME_H

#include <cstddef>
#include <string>

#include "choice/computation.h"

namespace conv_transpose {

/// One axis has `count` positions from `first` on, `step` apart, and offsets from 0 to `most_offset`.
struct FrameAxis {
    int64_t first, count, step, most_offset;

    /// As the kernel counts them; `along_x` is the axis that its windows run along.
    FrameAxis(const KernelTraits &, const Axis &, bool along_x);

    /// The last position, from the end of a picture of so many.
    int64_t behind(int64_t extent) const { return first + (count - 1) * step - (extent - 1); }
};

/// Whether a kernel reads its weights, too, as they are given, by a map of their own behind the picture's.
inline bool maps_weights(const KernelTraits &k) {
    return k.box_positions > 0 && k.operation != Operation::weight_gradient && k.weight_layout == WeightLayout::as_given;
}

/// Whether these are weights of the operation whose input gradient it computes as a forward operation: rows of the channels that
/// are summed over.
inline bool maps_rows_of_gradient(const KernelTraits &k) {
    return maps_weights(k) && k.operation == Operation::forward && k.box_channels == 0;
}

/// How many maps a kernel has: of what it reads, a weight gradient of the input and the output gradient, and of what it stores.
inline std::size_t tensor_maps(const KernelTraits &k) {
    if (k.box_positions == 0) return 0;
    return (maps_weights(k) || k.operation == Operation::weight_gradient ? 2 : 1) + (k.stored_box_channels > 0 ? 1 : 0);
}

/// Whether a row of weights as they are given, of an input channel, has the phases of each output channel: kernels as large as
/// their strides, in channels_first.
inline bool maps_weights_of_phases(const KernelTraits &k) { return maps_weights(k) && k.phases_as_channels; }

/// Whether weights in channels_first are turned before, for a kernel that maps those in channels_last.
bool turns_weights(const KernelTraits &, const Computation &);

/// Why a kernel that reads a tensor map cannot compute a problem so; empty if it can.
std::string picture_frame_rejection(const KernelTraits &, const Computation &);

}  // namespace conv_transpose

#endif
