// Turns the placeholder calls of the lowering passes, in PTX text, into tensor-core and asynchronous-copy
// instructions.
#ifndef CONV_TRANSPOSE_COMPILER_PTX_EXPANSION_H
#define CONV_TRANSPOSE_COMPILER_PTX_EXPANSION_H

#include <string>

#include "compiler/ptx/architecture.h"
#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// PTX text for this architecture without placeholder calls. Text that has none is returned as it is. Throws
/// PtxExpansionError when a call cannot be expanded, or when the architecture (before sm_80) has no such
/// instructions.
std::string expand_tensor_core_calls(const std::string &ptx, const Architecture &architecture);

}  // namespace conv_transpose

#endif
