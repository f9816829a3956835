#include "choice/simpler_problems.h"

#include <algorithm>

#include "choice/launch_limits.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

Problem with_two_axes(const Problem &p) {
    const Axis &d = p.depth();
    if (d.input != 1 || d.kernel != 1 || d.padding != 0 || d.output_padding != 0) return p;
    Problem plane = p;
    plane.rank = 2;
    plane.depth() = {};
    return plane;
}

Problem with_positions_as_channels(const Problem &p, const PlanOptions &options) {
    const auto is_linear = [](const Axis &a) {
        return a.input == 1 && a.dilation == 1 && a.padding == 0 && a.output_padding == 0;
    };
    const bool linear = taps(p) > 1 && std::all_of(p.axes.begin(), p.axes.end(), is_linear);
    const bool same_tensors = options.operation != Operation::bias_gradient && !options.epilogue.bias;
    // With channels innermost, positions lie outside of all channels, in both tensors.
    const bool same_order = options.output.layout == options.weight.layout &&
                            (!channels_innermost(options.output) || p.groups == 1);
    const double channels = double(p.out_channels) * taps(p);
    if (!same_order || !linear || !same_tensors || channels > max_elements_32bit()) return p;
    Problem layer = p;
    layer.out_channels *= taps(p);
    layer.rank = 2, layer.axes = {};
    return layer;
}

bool is_side_by_side(const Axis &a) {
    return a.kernel == a.stride && a.dilation == 1 && a.padding == 0 && a.output_padding == 0;
}

Problem with_row_taps_as_channels(const Problem &p, const PlanOptions &options) {
    const Axis &x = p.width();
    const bool rows_of_channels = channels_innermost(options.output) &&
                                  channels_innermost(options.weight) && p.groups == 1;
    const double channels = double(p.out_channels) * double(x.kernel);
    if (!is_side_by_side(x) || !rows_of_channels || channels > max_elements_32bit()) return p;
    Problem joined = p;
    joined.out_channels *= x.kernel;
    joined.width() = {.input = x.input};
    return joined;
}

Problem with_outermost_inputs_as_images(const Problem &p) {
    const auto outermost = std::find_if(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a != Axis{}; });
    const double images = outermost == p.axes.end() ? 0 : double(p.batch) * double(outermost->input);
    if (images == 0 || outermost->kernel == 1 || !is_side_by_side(*outermost) || images > max_elements_32bit()) return p;
    Problem images_of_one = p;
    Axis &axis = images_of_one.axes[outermost - p.axes.begin()];
    images_of_one.batch *= axis.input;
    axis = {.input = 1, .kernel = axis.kernel};
    return images_of_one;
}

}  // namespace conv_transpose
