// An operand of a pipeline that is the same in all tiles of a block (further_tiles.h), such as weights: its chunks have places
// of their own in shared memory, behind the stages, and come with the first tile alone. So the second-level cache is asked for
// the other operand only, and what a step costs there is no more than that.
//
//     [stage 0 .. stages - 1: the other operand] [kept chunk 0 .. kept_chunks - 1] [barriers] [what stores use]
//
// A schedule asks for it by the names of the loops that stage the operand, "bulk_kept...", and by
// SoftwarePipelineOptions::kept_chunks. What this pass cannot see the runtime must promise: that a chunk of the operand depends on
// its number in the tile, and on the number of the block among those that are launched, alone; and that all tiles have as many
// chunks, kept_chunks at most.
#ifndef CONV_TRANSPOSE_COMPILER_KEPT_OPERAND_H
#define CONV_TRANSPOSE_COMPILER_KEPT_OPERAND_H

#include <string>

#include "Halide.h"

namespace conv_transpose {

inline constexpr const char *kept_loops = "bulk_kept";

/// Whether a schedule named a loop so.
bool is_of_kept_operand(const Halide::Internal::For *loop);

/// Where a stage has the operand, in floats, as lowered.
struct KeptOperand {
    int begin = 0, floats = 0;
};

/// What loops named bulk_kept store to the allocation. It refuses a place that changes.
KeptOperand kept_operand(const Halide::Internal::Stmt &statement, const std::string &allocation);

}  // namespace conv_transpose

#endif
