// Pictures as other rows: the same in memory, or packed before.
#ifndef CONV_TRANSPOSE_RUNTIME_VIEWS_OF_ROWS_H
#define CONV_TRANSPOSE_RUNTIME_VIEWS_OF_ROWS_H

#include <optional>

#include "choice/computation.h"

namespace conv_transpose {

/// A picture of one position has its channels innermost.
std::optional<Computation> with_rows_as_given(const Computation &given);

/// Where every output sees one input, the positions of a channel are those of one row, of pictures that lie so; in channels_last
/// those of all images.
std::optional<Computation> with_one_row(const Computation &given);

/// Where the channels of 1x1 kernels in channels_last fill no 16 bytes, those of a few positions do.
std::optional<Computation> with_joined_positions_of_images(const Computation &given);

/// Rows whose pixels see but their own column, as one row: a kernel of one column and stride 1 is one of that row, spread by its
/// former length. For kernels that go through rows, of which short ones cost more. None where there are no such.
std::optional<Computation> with_long_rows(const Computation &given);

/// Channels of a group of the picture that is packed for a kernel, with those that fill up 16 bytes, or, where a box would
/// hold channels of two groups, a chunk.
int64_t packed_row_channels(const KernelTraits &k, const Computation &c);

/// Whether weights are packed as rows of these channels, too, as nothing else makes 16 bytes of them.
bool packs_weight_rows(const KernelTraits &k, const Computation &c);

/// Channels of packed rows, of which `values` are 16 bytes: filled up to these, and rows of more begin with sectors of the
/// second-level cache. Of 73 problems of 12, 20, 24, ... 386 channels in float16 whose rows did not begin with sectors, 70 were as
/// fast or faster so, by 8 % on average, 63 % at most (H200, 2026-11-23).
int64_t in_whole_sectors(int64_t channels, int64_t values);

}  // namespace conv_transpose

#endif
