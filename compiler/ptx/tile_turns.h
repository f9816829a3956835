// Sums on their way from a tile's registers to where they are stored: through shared memory, or to other columns.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_TURNS_H
#define CONV_TRANSPOSE_COMPILER_TILE_TURNS_H

#include <string>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// What a warp stores it has turned itself.
void wait_for_warp(PtxWriter &out);
/// What a warp stores all warps of its warpgroup have turned.
void wait_for_warpgroup(PtxWriter &out);

/// Write 8 rows of every warp to the warp's part of shared memory; of two tiles of 64 rows, their elements in turns. turn_columns
/// is for tiles that are columns x rows, turn_lines for those among them that are RegistersOfLines.
void turn_rows(const PlaceholderCall &turn, PtxWriter &out);
void turn_columns(const PlaceholderCall &turn, PtxWriter &out);
void turn_lines(const PlaceholderCall &turn, PtxWriter &out);

/// Adds the sums of taps that are rows (compiler/passes/shifted_sums.h). The argument is the centre. Labels begin with `label`.
void add_shifted(const CallSite &site, const std::string &label, PtxWriter &out);

/// Adds what a warp's turns brought to the shared memory of all blocks of a cluster: the rows from the first argument to before
/// the second. The third is the number of blocks.
void add_of_cluster(const CallSite &site, PtxWriter &out);

}  // namespace conv_transpose

#endif
