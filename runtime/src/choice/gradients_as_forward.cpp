#include "choice/gradients_as_forward.h"

#include <algorithm>

#include "choice/launch_limits.h"
#include "problem/counting.h"

namespace conv_transpose {

std::optional<Problem> forward_of_input_gradient(const Problem &p) {
    Problem forward = p;
    std::swap(forward.in_channels, forward.out_channels);
    for (Axis &axis : forward.axes) {
        if (axis.stride != 1 || axis.output_padding != 0) return {};
        axis.input = axis.output();
        axis.padding = (axis.kernel - 1) * axis.dilation - axis.padding;
        if (axis.padding < 0) return {};
    }
    return forward;
}

std::optional<Problem> forward_over_phases(const Problem &p) {
    Problem forward = p;
    std::swap(forward.in_channels, forward.out_channels);
    double channels = double(forward.in_channels);
    for (Axis &axis : forward.axes) {
        if (axis.kernel == 1) axis.dilation = 1;
        if (axis.stride > 1 && axis.dilation > 1) return {};
        const Axis given = axis;
        channels *= double(given.stride);
        if (channels > max_elements_32bit()) return {};
        forward.in_channels *= given.stride;
        axis.kernel = ceil_divide(given.kernel, given.stride), axis.stride = 1;
        const int64_t reach = (axis.kernel - 1) * axis.dilation;
        const int64_t left_out = std::min(given.padding / given.stride, reach);
        axis.padding = reach - left_out;
        axis.input = ceil_divide(given.output() + given.padding, given.stride) - left_out;
        axis.output_padding = 0;
        axis.output_padding = given.input - axis.output();  // what cells there are need not tell how many inputs
    }
    return forward;
}

std::optional<Computation> forward_of_weight_gradient(const Computation &given) {
    const Problem &p = given.problem;
    const bool linear = std::all_of(p.axes.begin(), p.axes.end(), [](const Axis &a) {
        return a.input == 1 && a.kernel == 1 && a.padding == 0 && a.output_padding == 0;
    });
    if (!linear || p.groups != 1 || p.batch == 0) return {};
    Problem layer;
    layer.rank = 2, layer.batch = 1, layer.in_channels = p.batch, layer.out_channels = p.in_channels;
    layer.width().input = p.out_channels;
    Computation forward{Operation::forward, layer, Operand::output_gradient, Operand::weight_gradient};
    forward.weight_operand = Operand::input;
    forward.read_format.type = given.written_format.type, forward.written_format.type = given.weight_format.type;
    forward.weight_format.type = given.read_format.type;
    return forward;
}

}  // namespace conv_transpose
