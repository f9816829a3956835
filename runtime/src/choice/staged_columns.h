// Kernels of depthwise problems whose blocks stage what they see (algorithm/staged_tile.h): which problems they take.
#ifndef CONV_TRANSPOSE_RUNTIME_STAGED_COLUMNS_H
#define CONV_TRANSPOSE_RUNTIME_STAGED_COLUMNS_H

#include <string>

#include "algorithm/staged_row.h"
#include "algorithm/staged_weight_tile.h"
#include "choice/computation.h"
#include "choice/kernel_traits.h"

namespace conv_transpose {

inline bool stages_columns(const Tile &kernel) { return kernel.staged_shape.threads > 0; }

StagedRow<int64_t> staged_row(const StagedShape &shape, const Problem &problem);
StagedWeightTile<int64_t> staged_weight_tile(const StagedShape &shape, const Problem &problem);

/// Why a computation is not for such a kernel; empty if it is.
std::string staged_columns_rejection(const KernelTraits &kernel, const Computation &computation);

/// Whether others that accept the computation, too, should take longer than the kernel; true of any other kernel.
bool staging_pays(const KernelTraits &kernel, const Computation &computation);

}  // namespace conv_transpose

#endif
