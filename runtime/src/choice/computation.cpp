// The list of computations: see computation.h.
#include "choice/computation.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "choice/input_cells.h"
#include "choice/launch_limits.h"
#include "choice/partial_sums.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// An axis of one position is no axis: 1-D is 2-D with pictures of one row.
Problem with_two_axes(const Problem &p) {
    const Axis &d = p.depth();
    if (d.input != 1 || d.kernel != 1 || d.padding != 0 || d.output_padding != 0) return p;
    Problem plane = p;
    plane.rank = 2;
    plane.depth() = {};
    return plane;
}

// A picture of one pixel is a linear layer, whose outputs are the positions of the channels: output position k is that
// of kernel position k. As a gather each of them would meet all taps, of which one is inside. A bias is one for all
// positions of a channel.
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

// Every output of the axis is seen by one tap.
bool is_side_by_side(const Axis &a) {
    return a.kernel == a.stride && a.dilation == 1 && a.padding == 0 && a.output_padding == 0;
}

// Where the taps of a row lie side by side in the output, and channels innermost, they are channels, of tensors that lie as
// they did: steps of a sum are fuller, and what they read of a row has no gaps.
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

// Where the taps of the outermost axis lie side by side, its inputs are images, each of which sees a kernel's outputs.
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

// At stride 1 the input gradient is a transposed convolution itself, of the output gradient with mirrored weights, so
// the fast forward kernels serve it. None if the stride is not 1, or a padding would be below 0.
//
// The gradient at i is the sum over k of g[i - padding + k * dilation] * w[k], and the forward operation's
// output at o that of x[o + padding' - k' * dilation] * w'[k'], so k' = kernel - 1 - k and padding' =
// (kernel - 1) * dilation - padding.
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

// The gradient at i is the sum over k of g[i * stride + k - padding] * w[k]: of taps t and phases r, k = t * stride + r,
// over the cell i + t. Its sum over phases is one over channels, and what is left a convolution of stride 1, so that
// forward kernels serve it. Whole strides of padding hold no cells, as far as taps reach. None where a phase's taps are
// no neighbours.
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

// How many groups of few channels fill a tile of a weight gradient together: products of channels of two groups cost less
// than tiles that are nearly empty. The last pass has a step for each group that is left.
int64_t groups_worth_joining(const Problem &p) {
    constexpr int64_t tile = 64, most_left = 16;
    const int64_t channels = std::max(p.in_channels, p.out_channels) / p.groups;
    for (int64_t joined = std::min(p.groups, tile / channels); joined > 1; joined--)
        if (p.groups % joined == 0) return p.groups / joined <= most_left ? joined : 1;
    return 1;
}

// What taps of the axes from `first` on see is a row for each position, so that they are channels. With channels_last taps of
// the last axes lie side by side in a weight, with channels first those of all. None where this changes nothing.
std::optional<Computation> with_packed_taps(const Computation &given, int first) {
    Computation folded = given;
    Problem &p = folded.problem, seen = given.problem;
    int64_t folded_taps = 1;
    double channels = double(p.out_channels);
    for (int i = 0; i < max_rank; i++) {
        if (i < first) {
            seen.axes[i] = {.input = p.axes[i].output()};
            continue;
        }
        channels *= double(p.axes[i].kernel);
        if (channels > max_elements_32bit()) return {};
        folded_taps *= p.axes[i].kernel;
        p.axes[i] = {.input = p.axes[i].input};
    }
    if (first > 0 && (folded_taps == 1 || taps(p) == 1)) return {};
    p.out_channels *= folded_taps;
    if (first == 0) {  // positions of a kernel of one count through all axes
        const int64_t positions = input_positions(p);
        p.rank = 2, p.axes = {};
        p.width().input = positions;
    }
    folded.packed_rows = true, folded.by_taps = seen;
    return folded;
}

// The weight gradient of a linear layer is a sum over images, of products of an input and an output gradient: the forward
// operation of a picture whose channels are the images and whose positions are the layer's outputs, with the input as the
// weight. All tensors lie as they did.
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

// Where kernels are large and channels few: what the kernel's inner axes and one stride of the outermost see is a row, whose
// values are output channels, so that taps are whole strides of that axis. With rows in the order of the weights, a tap's are
// neighbours among them.
std::optional<Computation> with_strides_as_taps(const Computation &given) {
    Computation folded = given;
    Problem &p = folded.problem, seen = given.problem;
    const auto outermost = std::find_if(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a.kernel > 1; });
    if (p.groups != 1 || p.batch == 0 || p.out_channels > max_grid() || outermost == p.axes.end()) return {};
    const int64_t stride = outermost->stride;
    if (stride == 1 || outermost->kernel < stride || outermost->dilation > 1) return {};
    double channels = double(p.out_channels);
    for (Axis &a : p.axes) {
        const bool by_strides = &a == &*outermost;
        const int64_t in_row = by_strides ? stride : a.kernel;
        channels *= double(in_row);
        if (channels > max_elements_32bit()) return {};
        p.out_channels *= in_row;
        a = {.input = a.input, .kernel = by_strides ? ceil_divide(a.kernel, stride) : 1};
        Axis &cells = seen.axes[&a - p.axes.data()];
        if (!by_strides) continue;
        const int64_t output = cells.output();
        cells = {.input = a.output(), .kernel = stride, .stride = stride, .padding = cells.padding};
        cells.output_padding = output - cells.output();
    }
    folded.packed_rows = true, folded.by_taps = seen, folded.kernel_positions = taps(given.problem);
    return folded;
}

// Where output channels are few, what all taps see of them is less than the input, which then is read once.
std::optional<Computation> with_taps_as_rows(const Computation &given) {
    const Problem &p = given.problem;
    const bool of_floats = given.read_format.type == ElementType::float32 && given.written_format.type == ElementType::float32;
    if (p.groups != 1 || p.batch == 0 || taps(p) == 1 || !of_floats) return {};
    std::optional<Computation> folded = with_packed_taps(given, 0);
    if (folded) folded->kernel_positions = taps(p);
    return folded;
}

// Where the channels of 1x1 kernels in channels_last fill no 16 bytes, those of a few positions do.
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

// Where every output is seen by one tap, of pictures in channels_last: maps of what a kernel reads have no strides, and taps of few
// channels fill tiles and boxes.
std::optional<Computation> with_taps_side_by_side(const Computation &given, const PlanOptions &options) {
    const bool channels_last = given.read_format == given.written_format && channels_innermost(given.read_format) &&
                               bytes_of(given.read_format.type) == 2;
    if (!channels_last) return {};
    Computation joined = given;
    joined.problem = with_outermost_inputs_as_images(with_row_taps_as_channels(given.problem, options));
    if (joined.problem.axes == given.problem.axes) return {};
    return joined;
}

// Where every output is seen by one tap, two along the width, of pictures of 16 bits in channels_first.
std::optional<Computation> with_lines_as_channels(const Computation &given) {
    const auto lies_so = [](TensorFormat format) { return !channels_innermost(format) && bytes_of(format.type) == 2; };
    const Problem &p = given.problem;
    if (!lies_so(given.read_format) || !lies_so(given.written_format) || channels_innermost(given.weight_format) ||
        p.width().kernel != 2 || !std::all_of(p.axes.begin(), p.axes.end(), is_side_by_side) ||
        double(p.out_channels) * double(taps(p)) > max_elements_32bit())
        return {};
    Computation lines = given;
    for (Axis *a : {&lines.problem.depth(), &lines.problem.height()}) {
        lines.problem.out_channels *= a->kernel;
        *a = {.input = a->input};
    }
    lines.by_lines = p;
    return lines;
}

// A picture of one position has its channels innermost.
std::optional<Computation> with_rows_as_given(const Computation &given) {
    if (channels_innermost(given.read_format) || read_positions(given) != 1) return {};
    Computation rows = given;
    rows.read_format.layout = Layout::channels_last;
    return rows;
}

// Where every output sees one input, the positions of a channel are those of one row, of pictures that lie so; in channels_last
// those of all images.
std::optional<Computation> with_one_row(const Computation &given) {
    const auto is_plain = [](const Axis &a) {
        return a.kernel == 1 && a.stride == 1 && a.padding == 0 && a.output_padding == 0;
    };
    const Problem &p = given.problem;
    const bool joins_images = channels_innermost(given.read_format);
    const bool lies_so = given.written_format == given.read_format && (!joins_images || bytes_of(given.read_format.type) == 2);
    const int64_t images = joins_images ? p.batch : 1, positions = input_positions(p);
    if ((given.operation != Operation::forward && !joins_images) || given.by_phases || !lies_so || given.has_wide_pixels() ||
        images == 0 || images * positions == p.width().input ||
        double(images) * double(positions) * double(std::max(p.in_channels, p.out_channels)) > max_elements_32bit() ||
        !std::all_of(p.axes.begin(), p.axes.end(), is_plain))
        return {};
    Computation row = given;
    row.problem.batch /= images, row.problem.rank = 2, row.problem.axes = {};
    row.problem.width().input = images * positions;
    return row;
}

Computation itself(const Problem &p, Operation operation) {
    switch (operation) {
        case Operation::forward: return {operation, p, Operand::input, Operand::output};
        case Operation::input_gradient: return {operation, p, Operand::output_gradient, Operand::input_gradient};
        case Operation::weight_gradient: return {operation, p, Operand::input, Operand::weight_gradient};
        case Operation::bias_gradient: return {operation, p, Operand::output_gradient, Operand::bias_gradient};
    }
    throw Unsupported("this build does not know the operation");
}

/// The problem itself, as simple as it can be written.
Computation as_given(const Problem &problem, const PlanOptions &options) {
    const bool wide_pixels = options.input_pixel_stride != 0 || options.output_pixel_stride != 0;
    Problem simplest = problem;
    if (!wide_pixels) {
        simplest = with_positions_as_channels(with_two_axes(problem), options);
        if (options.operation == Operation::input_gradient) simplest = with_row_taps_as_channels(simplest, options);
    }
    Computation given = itself(simplest, options.operation);
    const bool reads_input = given.read == Operand::input;
    given.read_format = reads_input ? options.input : options.output;
    given.written_format = reads_input ? options.output : options.input;
    given.weight_format = options.weight;
    given.read_pixel = options.input_pixel_stride, given.written_pixel = options.output_pixel_stride;  // forward
    return given;
}

// Groups of few channels that share tiles and boxes: products of channels of two groups are with zeros.
void add_joined_groups(std::vector<Computation> &all) {
    const Computation given = all[0];
    const Problem &p = given.problem;
    const int64_t most = std::max(p.in_channels, p.out_channels) / std::max<int64_t>(p.groups, 1);
    const bool depthwise = p.in_channels == p.groups && p.out_channels == p.groups;
    if (depthwise || given.has_wide_pixels()) return;
    int64_t before = 1;
    for (const int64_t channels : {32, 64, 128}) {
        int64_t joined = std::min(p.groups, channels / most);
        while (joined > 1 && p.groups % joined != 0) joined--;
        if (joined <= before) continue;
        all.push_back(given);
        all.back().problem.groups /= joined, all.back().joined_groups = before = joined;
    }
}

void add_forward_of_gradient(std::vector<Computation> &all) {
    const Computation given = all[0];
    const auto add = [&](const std::optional<Problem> &forward, const std::optional<Problem> &by_phases) {
        if (!forward) return;
        Computation mirrored = given;
        mirrored.operation = Operation::forward, mirrored.problem = *forward, mirrored.weight = WeightView::mirrored;
        mirrored.by_phases = by_phases;
        all.push_back(mirrored);
    };
    add(forward_of_input_gradient(given.problem), {});
    add(forward_over_phases(given.problem), given.problem);
}

void add_of_weight_gradient(std::vector<Computation> &all, const PlanOptions &options) {
    const Computation given = all[0];
    if (const int64_t joined = groups_worth_joining(given.problem); joined > 1) {
        all.push_back(given);
        all.back().problem.groups /= joined, all.back().joined_groups = joined;
    }
    for (const auto &other : {forward_of_weight_gradient(given), with_strides_as_taps(given), with_taps_as_rows(given),
                              with_joined_positions_of_images(given), with_taps_side_by_side(given, options),
                              with_lines_as_channels(given)})
        if (other) all.push_back(*other);
}

/// What is the same picture in memory, or packed before: its rows as given, all as one, with neighbours joined.
void add_views_of_rows(std::vector<Computation> &all, std::size_t which, const PlanOptions &options) {
    const Computation of = all[which];
    if (const std::optional<Computation> rows = with_rows_as_given(of)) all.push_back(*rows);
    const std::optional<Computation> row = with_one_row(of);
    for (const Computation &joined : with_joined_positions_of_rows(row ? *row : of, options.epilogue)) all.push_back(joined);
    // What kernels read that pack nothing; on CUDA cores three axes are worth it, whose kernels have fewer tiles.
    const bool on_tensor_cores = bytes_of(of.read_format.type) == 2 || options.precision == Precision::tf32;
    if (row && (on_tensor_cores || of.problem.rank > 2)) all.push_back(*row);
    all.push_back(row && !channels_innermost(row->read_format) ? *row : of);
    all.back().packed_rows = true;
}

}  // namespace

std::vector<Computation> alternatives(const Problem &problem, const PlanOptions &options) {
    const Computation given = as_given(problem, options);
    std::vector<Computation> all{given};
    if (given.operation == Operation::input_gradient) add_forward_of_gradient(all);
    if (given.operation == Operation::weight_gradient) add_of_weight_gradient(all, options);
    else if (given.operation != Operation::bias_gradient) add_joined_groups(all);
    for (std::size_t i = 0, count = all.size(); i < count; i++) {
        const bool sums_channels = all[i].operation == Operation::forward || all[i].operation == Operation::input_gradient;
        if (sums_channels && !all[i].by_phases) add_views_of_rows(all, i, options);
    }
    if (given.operation == Operation::input_gradient) {
        const int last = max_rank - 1;
        for (const int first : {0, last})
            if (first == 0 || channels_innermost(options.weight))
                if (const std::optional<Computation> folded = with_packed_taps(given, first)) all.push_back(*folded);
    }
    return all;
}

int64_t read_positions(const Computation &c) {
    return c.operation == Operation::forward ? input_positions(c.problem) : output_positions(c.problem);
}

int64_t packed_row_channels(const KernelTraits &k, const Computation &c) {
    const int64_t summed =
        (c.operation == Operation::forward ? c.problem.in_channels : c.problem.out_channels) /
        c.problem.groups;
    if (c.problem.groups > 1) return round_up(summed, k.weight_in_channel_multiple);
    const int64_t values = 16 / bytes_of(c.read_format.type);
    return c.operation == Operation::weight_gradient ? round_up(summed, values) : in_whole_sectors(summed, values);
}

// Of 73 problems of 12, 20, 24, ... 386 channels in float16 whose rows did not begin with sectors, 70 were as fast or faster so, by
// 8 % on average, 63 % at most (H200, 2026-11-23).
int64_t in_whole_sectors(int64_t channels, int64_t values) { return round_up(channels, channels > values ? 2 * values : values); }

int64_t summed_phases(const Computation &c) {
    return c.by_phases ? product_of_axes(*c.by_phases, [](const Axis &a) { return a.stride; }) : 1;
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

Computation with_split_sum(const KernelTraits &kernel, const Computation &computation) {
    Computation split = computation;
    if (computation.has_wide_pixels()) return split;  // parts are dense
    if (computation.cells || computation.joined_groups > 1) return split;  // packed kernels of later inputs are shifted
    if (kernel.splits_steps) {
        split.partial_sums = best_parts_of_steps(kernel, computation);
        split.parts_of_steps = split.partial_sums > 1;
        return split;
    }
    split.partial_sums = partial_sums(kernel, computation.problem, summed_phases(computation));
    Problem &p = split.problem;
    p.groups *= split.partial_sums;
    (kernel.operation == Operation::forward ? p.out_channels : p.in_channels) *= split.partial_sums;
    return split;
}

}  // namespace conv_transpose
