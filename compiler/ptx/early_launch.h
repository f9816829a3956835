// Kernels that are launched before the one before them has quite ended: CUDA's programmatic dependent launch.
#ifndef CONV_TRANSPOSE_COMPILER_EARLY_LAUNCH_H
#define CONV_TRANSPOSE_COMPILER_EARLY_LAUNCH_H

#include <string>

#include "compiler/ptx/architecture.h"

namespace conv_transpose {

/// PTX text in which every kernel first waits until the one before it in the stream has ended and what that wrote can be
/// seen. So it may be launched early: its blocks come as soon as the last ones of the other have ended, and their order is
/// as before. All of 60 layers of 4 to 280 us took 0.965 of their time so, those of several launches 0.9 (H200, 2026-11-23).
/// None lets the next come still earlier (griddepcontrol.launch_dependents): blocks would fill the multiprocessors that
/// become free first, not all alike, and layers of blocks that share a multiprocessor took up to 2.4 times as long.
/// GPUs before sm_90 have no such instruction: their text is returned as it is.
std::string launched_early(const std::string &ptx, const Architecture &architecture);

}  // namespace conv_transpose

#endif
