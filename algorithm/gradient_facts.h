// What the schedule of a gradient may rely on, and its search space depend on.
#ifndef CONV_TRANSPOSE_ALGORITHM_GRADIENT_FACTS_H
#define CONV_TRANSPOSE_ALGORITHM_GRADIENT_FACTS_H

#include "algorithm/strided_axis.h"

namespace conv_transpose {

struct GradientFacts {
    StridedAxis x_axis, y_axis;
    /// Channels of one group; 0 stands for a run-time value, also below.
    int in_channels = 0, out_channels = 0;
    int input_width = 0, input_height = 0;
};

}  // namespace conv_transpose

#endif
