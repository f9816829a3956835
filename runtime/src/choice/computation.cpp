#include "choice/computation.h"

#include "problem/counting.h"
#include "problem/layouts.h"

namespace conv_transpose {

bool has_single_phases(const Problem &problem) {
    const int64_t stride = problem.width().stride;
    return stride > 1 && stride % 2 == 1;
}

TurnedPicture weight_picture(const Computation &c) {
    const Problem &p = c.problem;
    const int64_t parts = c.parts_in_groups();
    if (c.operation == Operation::forward) return {p.in_channels, p.out_channels / p.groups, taps(p)};
    return {p.in_channels / parts, p.out_channels * parts / p.groups, taps(p)};
}

int64_t read_positions(const Computation &c) {
    return c.operation == Operation::forward ? input_positions(c.problem) : output_positions(c.problem);
}

bool has_channels_last(const Computation &c) { return channels_innermost(c.read_format) || channels_innermost(c.written_format); }

int64_t summed_phases(const Computation &c) {
    return c.by_phases ? product_of_axes(*c.by_phases, [](const Axis &a) { return a.stride; }) : 1;
}

}  // namespace conv_transpose
