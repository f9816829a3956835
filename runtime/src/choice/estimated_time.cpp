// An estimate of time: see estimated_time.h.
#include "choice/estimated_time.h"

#include "choice/depthwise_gradient_time.h"
#include "choice/gather_time.h"
#include "choice/other_steps_time.h"
#include "choice/product_memory_time.h"
#include "choice/product_time.h"
#include "choice/weight_gradient_time.h"
#include "choice/winograd_sizes.h"

namespace conv_transpose {

bool has_estimate(const KernelTraits &k) { return k.h200_tflops > 0 || k.max_products > 0 || sums_single_channels(k); }

namespace {

// Of pictures that lie as the kernel reads and writes them.
double time_of_steps(const Candidate &candidate, const Machine &machine) {
    const KernelTraits &k = candidate.kernel;
    const Computation &c = candidate.computation;
    const double packing = c.operation == Operation::weight_gradient ? 0 : weight_packing_time(k, c);
    if (k.family == Family::winograd_product) return winograd_time(k, c, machine) + packing;
    if (sums_single_channels(k)) return depthwise_gradient_time(k, c, machine);
    if (k.operation == Operation::weight_gradient) return weight_gradient_time(k, c, machine) + group_packing_time(c);
    if (k.max_products > 0) return serial_time(k, c);
    if (k.parts > 0) return gather_time(k, c, machine) + packing;
    return picture_packing_time(k, c) + product_time(k, c, machine) + strided_loads_time(k, c, machine) + adding_time(k, c) +
           cell_packing_time(c) + group_packing_time(c) + mirroring_time(k, c) + packing;
}

}  // namespace

double estimated_time(const Candidate &candidate, const Machine &machine) {
    const Computation &c = candidate.computation;
    return time_of_steps(candidate, machine) + turning_time(c) + time_of_tap_products(c) + conversion_time(candidate.kernel, c);
}

}  // namespace conv_transpose
