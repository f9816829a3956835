#include "choice/views_of_rows.h"

#include <algorithm>
#include <numeric>

#include "choice/kernel_properties.h"
#include "choice/launch_limits.h"
#include "choice/picture_frame.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

std::optional<Computation> with_rows_as_given(const Computation &given) {
    if (channels_innermost(given.read_format) || read_positions(given) != 1) return {};
    Computation rows = given;
    rows.read_format.layout = Layout::channels_last;
    return rows;
}

std::optional<Computation> with_one_row(const Computation &given) {
    const auto is_plain = [](const Axis &a) {
        return a.kernel == 1 && a.stride == 1 && a.padding == 0 && a.output_padding == 0;
    };
    const Problem &p = given.problem;
    const bool joins_images = channels_innermost(given.read_format);
    const bool lies_so = given.written_format == given.read_format && (!joins_images || bytes_of(given.read_format.type) == 2);
    const int64_t images = joins_images ? p.batch : 1, positions = input_positions(p);
    if (given.by_phases || !lies_so || given.has_wide_pixels() || images == 0 || images * positions == p.width().input ||
        double(images) * double(positions) * double(std::max(p.in_channels, p.out_channels)) > max_elements_32bit() ||
        !std::all_of(p.axes.begin(), p.axes.end(), is_plain))
        return {};
    Computation row = given;
    row.problem.batch /= images, row.problem.rank = 2, row.problem.axes = {};
    row.problem.width().input = images * positions;
    return row;
}

std::optional<Computation> with_joined_positions_of_images(const Computation &given) {
    const Problem &p = given.problem;
    const bool plain = std::all_of(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a == Axis{.input = a.input}; });
    const bool channels_last = given.read_format == given.written_format && channels_innermost(given.read_format) &&
                               bytes_of(given.read_format.type) == 2;
    const int64_t channels = std::gcd(p.in_channels, p.out_channels), joined = 8 / std::gcd(channels, int64_t{8});
    const int64_t positions = p.batch * input_positions(p);
    const double most = double(std::max(p.in_channels, p.out_channels)), row = double(joined) * most;
    if (!plain || !channels_last || p.groups != 1 || joined == 1 || positions % joined != 0 || positions == 0 ||
        std::max(double(positions) * most, row * row) > double(max_elements_32bit()))
        return {};
    Computation rows = given;
    rows.joined_positions = joined;
    rows.problem.rank = 1, rows.problem.batch = 1, rows.problem.axes = {};
    rows.problem.width().input = positions / joined;
    rows.problem.in_channels *= joined, rows.problem.out_channels *= joined;
    return rows;
}

std::optional<Computation> with_long_rows(const Computation &given) {
    constexpr int64_t short_row = 64;
    Problem p = given.problem;
    for (int joined = 1; joined < max_rank; joined++) {
        const Axis x = p.width(), y = p.height();
        const bool is_own_column = x.kernel == 1 && x.stride == 1 && x.padding == 0 && x.output_padding == 0;
        const bool pays = y.kernel == 1 || x.input <= short_row;
        const double longest = double(x.input) * (double(y.input) + double(y.kernel - 1) * double(y.dilation));
        if (!is_own_column || y.stride != 1 || y.output_padding != 0 || !pays || longest > max_elements_32bit()) break;
        p.width() = {.input = y.input * x.input, .kernel = y.kernel, .padding = y.padding * x.input};
        if (y.kernel > 1) p.width().dilation = y.dilation * x.input;
        p.height() = p.depth();
        p.depth() = {};
    }
    if (given.has_wide_pixels() || p.width() == given.problem.width()) return {};
    Computation rows = given;
    rows.problem = p;
    return rows;
}

int64_t packed_row_channels(const KernelTraits &k, const Computation &c) {
    const int64_t summed =
        (c.operation == Operation::forward ? c.problem.in_channels : c.problem.out_channels) /
        c.problem.groups;
    if (copies_packed_taps(k)) return round_up(summed, k.out_channel_multiple);
    if (c.problem.groups > 1) return round_up(summed, k.weight_in_channel_multiple);
    const int64_t values = 16 / bytes_of(c.read_format.type);
    return c.operation == Operation::weight_gradient ? round_up(summed, values) : in_whole_sectors(summed, values);
}

// In channels_first TF32 gained nothing, and of kernels that store single channels, with taps that are no
// channels, estimates are up to 1.6 times too short (twelve layers, H200, 2026-11-28).
bool packs_weight_rows(const KernelTraits &k, const Computation &c) {
    const bool maps_gradient = maps_weights(k) && c.operation == Operation::input_gradient && channels_innermost(k.input);
    const bool fills_rows = maps_gradient && c.problem.out_channels / c.problem.groups % k.out_channel_multiple != 0;
    const bool is_measured = taps(c.problem) == 1 || !k.stores_single_channels;
    return c.packed_rows && (copies_packed_taps(k) || (fills_rows && is_measured));
}

int64_t in_whole_sectors(int64_t channels, int64_t values) { return round_up(channels, channels > values ? 2 * values : values); }

}  // namespace conv_transpose
