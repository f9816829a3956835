// Taps as channels of the problem that is computed, so that they fill tiles: of rows that are packed before, or of tensors that lie
// so.
#ifndef CONV_TRANSPOSE_RUNTIME_TAPS_AS_CHANNELS_H
#define CONV_TRANSPOSE_RUNTIME_TAPS_AS_CHANNELS_H

#include <optional>

#include "choice/computation.h"

namespace conv_transpose {

/// What taps of the axes from `first` on see is a row for each position, so that they are channels. With channels_last taps of
/// the last axes lie side by side in a weight, with channels first those of all. None where this changes nothing.
std::optional<Computation> with_packed_taps(const Computation &given, int first);

/// Where kernels are large and channels few: what the kernel's inner axes and one stride of the outermost see is a row, whose
/// values are output channels, so that taps are whole strides of that axis. With rows in the order of the weights, a tap's are
/// neighbours among them.
std::optional<Computation> with_strides_as_taps(const Computation &given);

/// Where output channels are few, what all taps see of them is less than the input, which then is read once.
std::optional<Computation> with_taps_as_rows(const Computation &given);

/// In float32, where output channels are few, or what outputs see lies outside of the input in part: the products of all taps,
/// which fill tiles and see the input once. They lie in channels_first.
std::optional<Computation> with_products_of_taps(const Computation &given);

/// Where every output is seen by one tap, of pictures in channels_last: maps of what a kernel reads have no strides, and taps of
/// few channels fill tiles and boxes.
std::optional<Computation> with_taps_side_by_side(const Computation &given, const PlanOptions &options);

/// Where every output is seen by one tap, two along the width, of pictures of 16 bits in channels_first.
std::optional<Computation> with_lines_as_channels(const Computation &given);

}  // namespace conv_transpose

#endif
