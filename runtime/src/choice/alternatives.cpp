// Ways to the same result: see alternatives.h.
#include "choice/alternatives.h"

#include <algorithm>
#include <optional>

#include "choice/gradients_as_forward.h"
#include "choice/input_cells.h"
#include "choice/launch_limits.h"
#include "choice/simpler_problems.h"
#include "choice/taps_as_channels.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

bool is_depthwise(const Problem &p) { return p.in_channels == p.groups && p.out_channels == p.groups; }

// How many groups of few channels fill a tile of a weight gradient together: products of channels of two groups cost less
// than tiles that are nearly empty. The last pass has a step for each group that is left.
int64_t groups_worth_joining(const Problem &p) {
    constexpr int64_t tile = 64, most_left = 16;
    const int64_t channels = std::max(p.in_channels, p.out_channels) / p.groups;
    for (int64_t joined = std::min(p.groups, tile / channels); joined > 1; joined--)
        if (p.groups % joined == 0) return p.groups / joined <= most_left ? joined : 1;
    return 1;
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
    if (is_depthwise(p) || given.has_wide_pixels()) return;
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

TurnedPicture input_picture(const Problem &p) { return {p.batch, p.in_channels, input_positions(p)}; }
TurnedPicture output_picture(const Problem &p) { return {p.batch, p.out_channels, output_positions(p)}; }

/// Whether a launch may turn an image.
bool fits_a_launch(const TurnedPicture &picture) {
    return double(picture.channels) * double(picture.positions) <= double(max_elements_32bit());
}

Computation with_written_turned(const Computation &given, const TurnedPicture &picture, Layout layout) {
    Computation turned = given;
    turned.written_turned = picture, turned.written_format.layout = layout;
    return turned;
}

// To store single elements takes longer than to turn a result whose channels are innermost. Of even strides kernels store pairs.
void add_turned(std::vector<Computation> &all) {
    const Computation given = all[0];
    const bool is_forward = given.operation == Operation::forward;
    const TurnedPicture written = is_forward ? output_picture(given.problem) : input_picture(given.problem);
    if (given.has_wide_pixels() || channels_innermost(given.written_format) || given.written_turned ||
        !fits_a_launch(written))
        return;
    for (std::size_t i = 0, count = all.size(); i < count; i++)
        if (all[i].packed_rows || channels_innermost(all[i].read_format))
            all.push_back(with_written_turned(all[i], written, Layout::channels_last));
}

// Pictures in channels_last as others: kernels of channels_first serve more problems, in 16 bits those of channels that fill no 16
// bytes. What kernels pack they read in any layout, so that the result alone may be turned.
std::vector<Computation> with_turned_pictures(const Computation &given) {
    const Problem &p = given.problem;
    const bool reads_input = given.read == Operand::input;
    const TurnedPicture read = reads_input ? input_picture(p) : output_picture(p),
                        written = reads_input ? output_picture(p) : input_picture(p);
    const bool fills_16_bytes = p.in_channels / p.groups % 8 == 0 && p.out_channels / p.groups % 8 == 0;
    const bool of_16_bits = bytes_of(given.read_format.type) == 2, of_weights = given.operation == Operation::weight_gradient;
    const bool served = given.operation == Operation::bias_gradient || is_depthwise(p) ||
                        (of_16_bits && (fills_16_bytes || of_weights));
    if (served || given.has_wide_pixels() || !fits_a_launch(read) || !fits_a_launch(written)) return {};
    std::vector<Computation> all;
    Computation turned = given;
    if (channels_innermost(given.written_format)) turned = with_written_turned(given, written, Layout::channels_first);
    if (turned.written_turned && given.operation != Operation::weight_gradient) all.push_back(turned);
    if (channels_innermost(given.read_format)) turned.read_turned = read, turned.read_format.layout = Layout::channels_first;
    if (turned.read_turned || (turned.written_turned && all.empty())) all.push_back(turned);
    return all;
}

// What is the same picture in memory, or packed before: its rows as given, all as one, with neighbours joined.
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

// The same computation, whose tensors lie as they do there, and others that follow from the problem.
std::vector<Computation> computed_as(const Computation &given, const PlanOptions &options) {
    std::vector<Computation> all{given};
    if (given.operation == Operation::input_gradient) add_forward_of_gradient(all);
    if (given.operation == Operation::weight_gradient) add_of_weight_gradient(all, options);
    else if (given.operation != Operation::bias_gradient) add_joined_groups(all);
    for (std::size_t i = 0, count = all.size(); i < count; i++) {
        if (reads_weights(all[i].operation) && !all[i].by_phases) add_views_of_rows(all, i, options);
    }
    // CPUs turn no pictures, and add no products of taps.
    const bool on_gpu = options.device != Device::cpu;
    if (on_gpu && reads_weights(given.operation)) add_turned(all);
    if (const auto products = on_gpu ? with_products_of_taps(given) : std::nullopt) {
        all.push_back(*products);
        add_views_of_rows(all, all.size() - 1, options);
    }
    if (given.operation == Operation::input_gradient) {
        const int last = max_rank - 1;
        for (const int first : {0, last})
            if (first == 0 || channels_innermost(options.weight))
                if (const std::optional<Computation> folded = with_packed_taps(given, first)) all.push_back(*folded);
    }
    // Rows are packed from any layout.
    std::erase_if(all, [](const Computation &c) { return c.read_turned && c.packed_rows; });
    return all;
}

}  // namespace

std::vector<Computation> alternatives(const Problem &problem, const PlanOptions &options) {
    const Computation given = as_given(problem, options);
    std::vector<Computation> all = computed_as(given, options);
    if (options.device == Device::cpu) return all;
    for (const Computation &turned : with_turned_pictures(given))
        for (Computation &c : computed_as(turned, options)) all.push_back(std::move(c));
    return all;
}

}  // namespace conv_transpose
