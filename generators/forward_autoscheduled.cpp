// The forward operation with no schedule of ours: one of Halide's autoschedulers finds it, for one size of problem, on either
// device. The baseline of apps/autotune.
//
// Autoschedulers weigh schedules by estimates of every argument's size, so these kernels need the whole problem; the
// generator driver is asked for with --autoscheduler. None of this library's lowering passes takes part, apart from the
// removal of assertions in device code: what is measured is Halide's own.
#include "generators/forward.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct Autoscheduled : ScheduleDefaults {
    static constexpr const char *family = "autoscheduled";

    /// The size of the problem, beyond its attributes and pictures.
    GeneratorParam<int> batch{"batch", 1}, groups{"groups", 1};

    static constexpr bool autoscheduled = true;
    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}
};

using ForwardAutoscheduled = Forward<Autoscheduled>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardAutoscheduled, forward_autoscheduled)
