// Products that are added to a warpgroup's tile: one function for each way in which operands lie in shared memory, as
// tensor_core_instructions.h draws them.
#ifndef CONV_TRANSPOSE_COMPILER_PRODUCTS_H
#define CONV_TRANSPOSE_COMPILER_PRODUCTS_H

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

// With `at_base` shared memory begins at %tc_begin.

/// wgmma reads both operands from shared memory.
void multiply_wgmma(const CallSite &site, bool at_base, PtxWriter &out);
/// ldmatrix reads both, for mma.sync.
void multiply_mma_sync(const CallSite &site, PtxWriter &out);
/// Both operands are transposed words: lanes read mma.sync's fragments of both element by element.
void multiply_fragments(const CallSite &site, PtxWriter &out);
/// Columns are transposed words: lanes read them element by element, as wgmma's rows.
void multiply_turned(const CallSite &site, bool at_base, PtxWriter &out);
/// Columns lie side by side in lines: lanes read all that they have of a k at once, as wgmma's rows.
void multiply_lines(const CallSite &site, PtxWriter &out);
/// Rows are words, of which each warpgroup multiplies one half.
void multiply_halves(const CallSite &site, PtxWriter &out);

}  // namespace conv_transpose

#endif
