// Neighbouring inputs as channels. Input m * cell + j of a row reaches the outputs stride * (m * cell + j) + dilation * k -
// padding: so a transposed convolution of stride s is one of stride s * m, whose input channels are those of m neighbours,
// and whose kernels are spread by the dilation and shifted by s * j. The picture lies in memory as it did.
//
// With phases along the width as channels of a product, few output channels fill a tile: 16 channels, kernel 7 and stride 1
// are 64 with four inputs a cell, and three taps of four inputs in place of four times seven. Zeros are multiplied where
// kernels do not reach.
#ifndef CONV_TRANSPOSE_RUNTIME_INPUT_CELLS_H
#define CONV_TRANSPOSE_RUNTIME_INPUT_CELLS_H

#include <optional>
#include <vector>

#include "choice/computation.h"

namespace conv_transpose {

/// Neighbouring positions of a row of both pictures as channels, in channels_last: 20 and 10 channels are 80 and 40 of four
/// positions, whole rows of 16 bytes, and of stride s the outputs are s times as many positions. Products of what an output does
/// not see are with zeros. One for each number of inputs that may be worth its while.
std::vector<Computation> with_joined_positions_of_rows(const Computation &computation, const Epilogue &epilogue);

/// In the cells that cost the kernel least; none where it takes none, or nothing is gained.
std::optional<Computation> with_input_cells(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
