// Stores of a tile's sums to global memory, which convert them to the output's format.
#ifndef CONV_TRANSPOSE_COMPILER_GLOBAL_STORES_H
#define CONV_TRANSPOSE_COMPILER_GLOBAL_STORES_H

#include "compiler/ptx/global_addresses.h"

namespace conv_transpose {

/// Expands a call if it is such a store, and says whether.
bool expand_store(const CallSite &site, const GlobalAddresses &addresses, PtxWriter &out);

}  // namespace conv_transpose

#endif
