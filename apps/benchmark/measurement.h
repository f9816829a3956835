// One measurement: a problem by one kernel, verified and then timed.
#ifndef CONV_TRANSPOSE_BENCHMARK_MEASUREMENT_H
#define CONV_TRANSPOSE_BENCHMARK_MEASUREMENT_H

#include <string>

#include "peaks.h"
#include "problem_list.h"

namespace conv_transpose::benchmark {

struct MeasuringRules {
    double seconds = 0.3;  ///< of timed work, for one kernel on one problem
    int min_repeats = 5, max_repeats = 1000;
    bool packed_weights = false;  ///< weights packed once, before the clock starts
    /// A kernel is given up, after its first repeats, once it is this many times slower than the best of its
    /// problem.
    double give_up_ratio = 1e30;
};

struct Measurement {
    NamedProblem problem;
    PlanOptions options;
    Device device = Device::cpu;
    std::string kernel;
    /// What failed, instead of times; empty if all is well.
    std::string error;
    double ms_min = 0, ms_median = 0, limit_ms = 0;
    int repeats = 0;
    Work work{{}, {}};

    double tflops() const { return work.flops / ms_median * 1e-9; }
    double gb_per_second() const { return work.bytes / ms_median * 1e-6; }
    double percent_of_limit() const { return 100 * limit_ms / ms_median; }
};

/// `options.kernel` may name the kernel; a failure of any kind is told in the result. `best_ms` is the time
/// of the best kernel for this problem so far, or 0.
Measurement measure(const NamedProblem &problem, const PlanOptions &options, const Peaks &peaks,
                    const MeasuringRules &rules, double best_ms = 0);

}  // namespace conv_transpose::benchmark

#endif
