// What a schedule declares of itself: bases of the schedules. A schedule shadows a member to change it, and declares
// `family`, which names it among those of its operation and device.
#ifndef CONV_TRANSPOSE_SCHEDULES_SHARED_SCHEDULE_DEFAULTS_H
#define CONV_TRANSPOSE_SCHEDULES_SHARED_SCHEDULE_DEFAULTS_H

#include "Halide.h"

namespace conv_transpose {

struct ScheduleDefaults {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// One of Halide's autoschedulers makes the schedule, for either device; apply() is not called.
    static constexpr bool autoscheduled = false;
    static constexpr bool on_gpu = false, on_tensor_cores = false;
    /// Pictures are read by tensor maps (compiler/passes/tensor_boxes.h).
    static constexpr bool tensor_maps = false;
    /// Blocks may have fewer steps than the loop (compiler/passes/guarded_pipeline.h).
    static constexpr bool guarded_pipeline = false;
    /// Staging is made of asynchronous copies (compiler/passes/async_copies.h).
    static constexpr bool async_copies = false;
    /// Single rows are computed, not all phases together.
    static constexpr bool single_rows = false;
    /// Weights are staged as given, all of an input channel in one dimension.
    static constexpr bool weight_in_a_row = false;
    /// ForwardFuncs::activated has a branch without an activation.
    static constexpr bool specializes_no_activation = false;
};

struct CpuSchedule : ScheduleDefaults {};

struct CudaSchedule : ScheduleDefaults {
    static constexpr bool on_gpu = true;
};

struct TensorCoreSchedule : CudaSchedule {
    static constexpr bool on_tensor_cores = true;
};

}  // namespace conv_transpose

#endif
