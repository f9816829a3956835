// The limits of a device, to which times are compared: how fast it computes and how fast it moves memory.
#ifndef CONV_TRANSPOSE_BENCHMARK_PEAKS_H
#define CONV_TRANSPOSE_BENCHMARK_PEAKS_H

#include "conv_transpose/device_timer.h"
#include "operands.h"

namespace conv_transpose::benchmark {

struct Peaks {
    double flops = 0;  ///< a second, of dense products of 16 bits, or float32, or TF32 where the precision allows them
    double bytes = 0;  ///< a second, read and written

    /// GPU: arithmetic from clock and units, bandwidth measured by a large copy. CPU: both measured.
    static Peaks of(const PlanOptions &options);
};

/// What an operation cannot do without: two operations for each product of the definition, and every tensor
/// moved once.
struct Work {
    double flops, bytes;
    Work(const Problem &problem, const PlanOptions &options);
    double limit_ms(const Peaks &peaks) const;
};

}  // namespace conv_transpose::benchmark

#endif
