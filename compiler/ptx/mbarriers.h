// Barriers in shared memory, at which threads wait for bytes that the copy engine brings.
#ifndef CONV_TRANSPOSE_COMPILER_MBARRIERS_H
#define CONV_TRANSPOSE_COMPILER_MBARRIERS_H

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// Expands a call if it is one of such a barrier, and says whether. Without a copy engine the thread that has copied arrives at
/// last.
bool expand_mbarrier(const CallSite &site, bool has_copy_engine, Labels &labels, PtxWriter &out);

}  // namespace conv_transpose

#endif
