// A kernel that may compute a problem in one of the ways that lead to its result.
#ifndef CONV_TRANSPOSE_RUNTIME_CANDIDATE_H
#define CONV_TRANSPOSE_RUNTIME_CANDIDATE_H

#include "choice/computation.h"
#include "choice/kernel_traits.h"

namespace conv_transpose {

/// A kernel and what it is to compute.
struct Candidate {
    const KernelTraits &kernel;
    Computation computation;
    double seconds = 0;  ///< estimated, of a kernel that has an estimate
};

}  // namespace conv_transpose

#endif
