// Simpler problems with the same result, whose tensors lie in the same memory.
#ifndef CONV_TRANSPOSE_RUNTIME_SIMPLER_PROBLEMS_H
#define CONV_TRANSPOSE_RUNTIME_SIMPLER_PROBLEMS_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// An axis of one position is no axis: 1-D is 2-D with pictures of one row.
Problem with_two_axes(const Problem &p);

/// A picture of one pixel is a linear layer, whose outputs are the positions of the channels: output position k is that
/// of kernel position k. As a gather each of them would meet all taps, of which one is inside. A bias is one for all
/// positions of a channel.
Problem with_positions_as_channels(const Problem &p, const PlanOptions &options);

/// Every output of the axis is seen by one tap.
bool is_side_by_side(const Axis &a);

/// Where the taps of a row lie side by side in the output, and channels innermost, they are channels, of tensors that lie as
/// they did: steps of a sum are fuller, and what they read of a row has no gaps.
Problem with_row_taps_as_channels(const Problem &p, const PlanOptions &options);

/// Where the taps of the outermost axis lie side by side, its inputs are images, each of which sees a kernel's outputs.
Problem with_outermost_inputs_as_images(const Problem &p);

}  // namespace conv_transpose

#endif
