// The choice of a kernel by measurement, as frameworks make it where their "benchmark" switch is on. A plan chooses by estimate:
// in no time, always the same, by rates of an H200. On other GPUs, and for problems that estimates get wrong, it may pay to
// measure once.
#ifndef CONV_TRANSPOSE_FASTEST_KERNEL_H
#define CONV_TRANSPOSE_FASTEST_KERNEL_H

#include <string>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

struct MeasurementRules {
    /// Kernels that are timed: those that should be fastest by estimate. For layers that nobody had fitted estimates to
    /// the best of eight took 1.000 to 1.008 of the fastest's time on average (330 choices, H200, 2026-11-27).
    int candidates = 8;
    /// A kernel runs for so long, at least twice.
    double milliseconds = 3;
    /// Weights are packed before the clock starts, for a caller who gives Arguments::packed_weight later.
    bool packed_weights = false;
};

/// Name of the kernel that takes least time for the problem on this device, for PlanOptions::kernel. options.kernel is ignored.
/// The kernels run on the caller's tensors, which Plan::run() describes, the same for all; arguments.packed_weight is not read.
/// What is written holds a result afterwards. Workspaces are allocated and given back. Waits for the stream and for the
/// measurement; must not be called while the stream is captured. Kernels that cannot run here (for want of memory, or as tensors
/// lie at odd addresses) are left out.
/// Throws as Plan does; std::invalid_argument for rules that ask for nothing, and std::runtime_error where no kernel runs, with
/// what the first said.
std::string fastest_kernel(const Problem &problem, const PlanOptions &options, const Arguments &arguments, Stream stream = {},
                           const MeasurementRules &rules = {});

}  // namespace conv_transpose

#endif
