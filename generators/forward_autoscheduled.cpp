// The forward operation as Halide's autoschedulers schedule it, on either device.
#include "generators/forward.h"
#include "schedules/autoscheduled.h"

namespace conv_transpose {
using ForwardAutoscheduled = Forward<Autoscheduled>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardAutoscheduled, forward_autoscheduled)
