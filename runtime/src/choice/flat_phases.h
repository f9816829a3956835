// What flat matrix products of all phases at once multiply (algorithm/flat_phases.h).
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_PHASES_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_PHASES_H

#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Products of a place for each summed channel, of so many channels that lie in one block: those of all lanes of its register tiles,
/// with the zeros of lanes whose phases have no tap there.
double products_of_phases(const KernelTraits &, const Problem &, int64_t block_channels);

}  // namespace conv_transpose

#endif
