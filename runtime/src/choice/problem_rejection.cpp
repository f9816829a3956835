// Which problems a kernel accepts: see problem_rejection.h.
#include "choice/problem_rejection.h"

#include <algorithm>

#include "choice/flat_extent.h"
#include "choice/flat_gradient_tiles.h"
#include "choice/flat_tiles.h"
#include "choice/kernel_properties.h"
#include "choice/launch_limits.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/staged_columns.h"
#include "choice/views_of_rows.h"
#include "choice/weight_gradient_parts.h"
#include "choice/winograd_sizes.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

std::string str(Size2 size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

// 0 stands for "any" on its axis.
bool fits(Size2 value, Size2 wanted) {
    return (!wanted.height || value.height == wanted.height) &&
           (!wanted.width || value.width == wanted.width);
}

std::string differs(const char *field, Size2 value, Size2 wanted) {
    return std::string(field) + " is " + str(value) + ", the kernel is for " + str(wanted);
}

// Products are of input and weight elements; more than an int64_t holds are many in any case.
double products(const Problem &p) {
    return static_cast<double>(p.input_elements()) * (p.out_channels / p.groups) * taps(p);
}

// Panels of one vector of input channels are for what two would pad more, but in kernels that were tuned for so many.
bool pads_no_less(const KernelTraits &k, int64_t in) {
    const int64_t vector = vector_of(k);
    return k.family == Family::flat_weight_gradient && k.in_channels == 0 && !k.packs_groups && !k.min_channels_of_place &&
           k.sum_lanes == 1 && k.tile_in_channels == vector && round_up(in, vector) == round_up(in, 2 * vector);
}

// Lanes that are cells are for channels of which other vectors would be mostly empty, and for so few weights a channel that turning
// takes most of the time. Of 85 layers those that are left take 0.74 of the time at the mean (AVX-512, EPYC, 2026-11-29).
std::string lanes_rejection(const KernelTraits &k, const Problem &p) {
    if (k.sum_lanes == 1) return {};
    const int64_t vector = vector_of(k), in = p.in_channels / p.groups, filled = in <= vector ? vector : round_up(in, 2 * vector);
    constexpr int64_t few_weights = 4;
    if (8 * in > 5 * filled && p.out_channels / p.groups * taps(p) > few_weights)
        return "in_channels / groups is " + std::to_string(in) + ", which fill most of a vector";
    if (p.width().input < vector) return "its rows are shorter than a vector";
    return {};
}

// Where more than a fourth of the columns are empty, products of entries take 0.61 to 0.81 of the time; elsewhere 0.77 to 3.0 (8
// and 29 layers, Sapphire Rapids, 2026-11-30).
std::string columns_rejection(const KernelTraits &k, const Problem &p) {
    if (k.operation != Operation::weight_gradient || !k.joins_row_taps) return {};
    const int64_t columns = p.width().kernel * p.out_channels / p.groups;
    if (4 * columns >= 3 * round_up(columns, k.tile_out_channels)) return {};
    return "a row of the kernel has " + std::to_string(columns) + " weights, which leave columns empty";
}

// Kernels that need not join taps to fill what is summed at once copy no weights: they take 0.25 to 0.9 of the time (Sapphire
// Rapids, 2026-11-30).
std::string joined_rows_rejection(const KernelTraits &k, const Problem &p) {
    const int64_t summed = p.out_channels / p.groups;
    if (k.operation != Operation::input_gradient || !k.joins_row_taps || summed % k.filled_multiple) return {};
    return "out_channels / groups is " + std::to_string(summed) + ", which others sum without a copy of the weights";
}

std::string attribute_rejection(const KernelTraits &k, const Problem &p) {
    if (p.rank > k.rank)
        return "rank is " + std::to_string(p.rank) + ", the kernel is for " + std::to_string(k.rank);
    if (k.sums_pairs && k.filled_multiple == 1 && summed_channels(k, p) % 2)
        return "it multiplies pairs of channels, of which a group has an odd number";
    const auto plane = [&](int64_t Axis::*attribute) { return plane_of(p, attribute); };
    if (!fits(plane(&Axis::kernel), k.kernel)) return differs("kernel", plane(&Axis::kernel), k.kernel);
    if (!fits(plane(&Axis::stride), k.stride)) return differs("stride", plane(&Axis::stride), k.stride);
    if (!fits(plane(&Axis::dilation), k.dilation)) return differs("dilation", plane(&Axis::dilation), k.dilation);
    const auto is_plain = [](const Axis &a) { return a.kernel == 1 && a.stride == 1; };
    if (k.one_position && !std::all_of(p.axes.begin(), p.axes.end(), is_plain))
        return "its kernel has several positions, or a stride";
    if (k.stride_width_multiple > 1 && p.width().stride % k.stride_width_multiple)
        return "stride.width is no multiple of " + std::to_string(k.stride_width_multiple);
    for (const Axis &a : p.axes)
        if (channel_phases(k, p, a) > 1 && a.dilation > 1 && a.kernel > 1) return "an axis has a stride and a dilation";
    if (k.winograd_cells != Size2{}) {
        const Size2 taps{ceil_divide(p.height().kernel, p.height().stride), ceil_divide(p.width().kernel, p.width().stride)};
        const Size2 of_kernel{k.winograd_points.height + 1 - k.winograd_cells.height,
                              k.winograd_points.width + 1 - k.winograd_cells.width};
        if (taps != of_kernel) return "a kernel has " + str(taps) + " strides, of which there are " + str(of_kernel) + " here";
        if (p.height().dilation * p.width().dilation > 1) return "it has a dilation";
    }
    if (k.window > 1 && k.counts_through_images) {
        if (p.width().dilation > 1)
            return "dilation.width is " + std::to_string(p.width().dilation) + "; taps of a window are neighbours";
        for (const Axis &a : p.axes)
            if (a.stride > 1 && !k.phases_as_channels)
                return "stride is " + std::to_string(a.stride) + ", windows of taps are for 1";
    }
    if (k.joins_row_taps && p.width().kernel > 1 && p.width().dilation > 1)
        return "dilation.width is " + std::to_string(p.width().dilation) + "; taps of a row are read as one run";
    // A kernel size that is a run-time value comes with a padding phase that is one.
    const Size2 phase{k.kernel.height ? p.height().padding % p.height().stride : k.padding_phase.height,
                      k.kernel.width ? p.width().padding % p.width().stride : k.padding_phase.width};
    // Only the forward operation's gather depends on the padding, and not where it begins with a whole cell;
    // there it is a matter of sizes.
    const bool any_phase = k.operation != Operation::forward || (k.whole_cells && k.exact_output == Size2{});
    if (!any_phase && phase != k.padding_phase)
        return differs("padding % stride", phase, k.padding_phase);
    return {};
}

std::string channel_rejection(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    if (k.in_channels && in != k.in_channels) return "in_channels / groups is " + std::to_string(in);
    if (k.out_channels && out != k.out_channels) return "out_channels / groups is " + std::to_string(out);
    const bool of_any_channels = c.by_taps && k.operation == Operation::input_gradient;
    if (in < k.min_in_channels && !of_any_channels)
        return "in_channels / groups is less than " + std::to_string(k.min_in_channels);
    if (out < k.min_out_channels && !of_any_channels)
        return "out_channels / groups is less than " + std::to_string(k.min_out_channels);
    if (input_positions(p) < k.min_input_positions)
        return "its pictures have fewer than " + std::to_string(k.min_input_positions) + " inputs";
    if (k.min_channels_of_place && out * taps(p) < k.tile_out_channels)
        return "its weights of an input channel are fewer than " + std::to_string(k.tile_out_channels);
    if (double(in) < gradient_places(p) * double(k.min_channels_of_place))
        return "in_channels / groups is less than " + std::to_string(k.min_channels_of_place) + " times the places of a sum";
    if (p.groups % k.group_multiple)
        return "groups is " + std::to_string(p.groups) + ", no multiple of " + std::to_string(k.group_multiple);
    if (p.groups < k.min_groups)
        return "groups is " + std::to_string(p.groups) + ", less than " + std::to_string(k.min_groups);
    if (k.adds_in_clusters && k.operation != Operation::weight_gradient && p.groups > 1)
        return "groups is " + std::to_string(p.groups) + ", which would be one sum";
    if ((k.group_multiple > 1 || k.packs_groups) && p.groups > max_grid()) return "a launch does not take all groups";
    // A vector is of groups: products with one channel in a vector take half the time of one group (k4 s2, 256x256).
    if (k.packs_groups && k.family == Family::flat_weight_gradient && 4 * p.groups < k.tile_in_channels)
        return "groups is " + std::to_string(p.groups) + ", which leaves most of a vector empty";
    if (pads_no_less(k, in)) return "in_channels / groups fill panels of two vectors as well";
    if (std::string reason = lanes_rejection(k, p); !reason.empty()) return reason;
    if (std::string reason = columns_rejection(k, p); !reason.empty()) return reason;
    if (std::string reason = joined_rows_rejection(k, p); !reason.empty()) return reason;
    const bool forward = k.operation == Operation::forward;
    if (in % k.in_channel_multiple && !(c.packed_rows && forward))
        return "in_channels / groups is no multiple of " + std::to_string(k.in_channel_multiple);
    if (out % k.out_channel_multiple && (!c.packed_rows || forward || (maps_weights(k) && !packs_weight_rows(k, c))))
        return "out_channels / groups is no multiple of " + std::to_string(k.out_channel_multiple);
    if (k.max_in_channels && in > k.max_in_channels)
        return "in_channels / groups is more than " + std::to_string(k.max_in_channels);
    if (k.max_out_channels && out > k.max_out_channels)
        return "out_channels / groups is more than " + std::to_string(k.max_out_channels);
    return {};
}

// Sums, and sizes of pictures.
std::string extent_rejection(const KernelTraits &k, const Problem &p) {
    if (const Size2 input = plane_of(p, &Axis::input); !fits(input, k.exact_input)) return differs("input", input, k.exact_input);
    if (k.taps_as_channels)
        for (const Axis &a : p.axes)
            if (double(summed_channels(k, p) + k.weight_in_channel_multiple) * double(a.kernel) > max_elements_32bit())
                return "a kernel of that size times all that is summed over is more than 2^31 - 1";
    if (k.splits_steps && k.operation == Operation::forward && block_phases(k, p) > max_grid())
        return "a launch does not take all phases";
    if (taps(p) < k.min_taps) return "the kernel has fewer than " + std::to_string(k.min_taps) + " positions";
    if (k.max_products && products(p) > k.max_products)
        return "it takes more than " + std::to_string(k.max_products) + " products";
    const Size2 o = output_plane(p);
    if (!fits(o, k.exact_output)) return differs("output", o, k.exact_output);
    if (o.width % k.output_width_multiple)
        return "output width is no multiple of " + std::to_string(k.output_width_multiple);
    if (o.height < k.min_output.height || o.width < k.min_output.width)
        return "output is " + str(o) + ", the kernel needs at least " + str(k.min_output);
    if (o.width < k.min_output_width_of_groups && p.groups >= vector_of(k))
        return "output is " + str(o) + ", of groups that fill a vector the kernel needs a width of at least " +
               std::to_string(k.min_output_width_of_groups);
    return {};
}

// Larger tensors are cut along batch and groups; one image of one group must fit a launch.
std::string size_rejection(const KernelTraits &k, const Problem &p) {
    const bool forward = k.operation == Operation::forward;
    const int64_t in_plane = input_positions(p), out_plane = spanned_outputs(k, p);
    if (std::max(in_plane, out_plane) > max_elements_32bit()) return "a plane has more than 2^31 - 1 elements";
    // The bias gradient is cut along channels as well.
    if (k.large_buffers || k.operation == Operation::bias_gradient) return {};
    const int64_t in = p.in_channels / p.groups * in_plane, out = p.out_channels / p.groups * out_plane;
    if (std::max({in, out, p.weight_elements() / p.groups}) > max_elements_32bit())
        return "one image of one group has more than 2^31 - 1 elements";
    // All groups are one launch's.
    if (k.packs_groups && k.device == Device::cpu && double(p.groups) * double(std::max(in, out)) > double(max_elements_32bit()))
        return "one image has more than 2^31 - 1 elements";
    if (is_flat(k) && flat_tiles(k, p).rows > max_elements_32bit()) return "its rows, with gaps, are more than 2^31 - 1";
    if (k.family == Family::flat_weight_gradient) {
        if (p.batch == 0) return "batch is 0";
        if (FlatGradientTiles(k, p, p.batch).rows > max_elements_32bit())
            return "its rows, with gaps, are more than 2^31 - 1";
    }
    if (k.packed_channels) {
        const double values = k.input.type == ElementType::float32 ? 4 : 8;  // of 16 bytes
        const double packed = values * packed_planes(k, p.in_channels / p.groups) * in_plane;
        if (std::max(packed, values * (p.width().padding / p.width().stride)) > max_elements_32bit())
            return "one image of one group, packed, has more than 2^31 - 1 elements";
    }
    if (k.phases_as_channels || (k.split_target_blocks > 0 && !k.splits_steps)) {
        // A launch has the weights of all groups, filled up to whole tiles.
        const auto filled_up = [](int64_t channels) { return double(round_up(channels, 64)); };
        const int64_t computed = (forward ? p.out_channels : p.in_channels) / p.groups;
        const double channels = filled_up(computed * channel_phases(k, p)), others = filled_up(summed_channels(k, p));
        if (channels * others * double(taps_of_phases(k, p)) * 2 * double(p.groups) > max_elements_32bit())
            return "packed weights may have more than 2^31 - 1 elements";
    }
    return {};
}

// With channels innermost an image is one tensor, and all of it is packed at once.
std::string row_rejection(const KernelTraits &k, const Computation &c) {
    if (k.operation == Operation::weight_gradient) return {};  // packs what it reads itself
    if (reads_as_it_lies(k))
        return c.packed_rows || channels_innermost(c.read_format) ? "it reads channels_first as it lies" : "";
    const bool has_rows = channels_innermost(c.read_format) && (!copies_packed_taps(k) || channels_innermost(c.weight_format));
    if (!c.packed_rows) return (k.box_positions > 0 || copies_packed_taps(k)) && !has_rows ? "it reads rows of channels" : "";
    if (c.by_taps && copies_packed_taps(k)) return "it finds by itself what taps see";
    if (k.box_positions == 0 && !copies_packed_taps(k)) return "it reads pictures as they are given";
    // A launch packs the weights of all groups, too, an input channel as an image.
    const double weights = double(c.problem.in_channels) * double(taps(c.problem)) * double(packed_row_channels(k, c));
    if (packs_weight_rows(k, c) && (c.problem.in_channels > max_grid() || weights > max_elements_32bit()))
        return "a launch does not pack all weights";
    const double packed = double(c.problem.groups) * double(packed_row_channels(k, c)) * double(read_positions(c));
    return packed > max_elements_32bit() ? "one image, packed, has more than 2^31 - 1 elements" : "";
}

// All tiles of a resident block have the same weights: it goes from a tile of channels to the same of other positions.
std::string kept_weights_rejection(const KernelTraits &k, const Problem &p) {
    const ProductBlocks product(k, p);
    const int64_t steps = product.steps / (k.window * k.row_taps);
    if (steps > k.kept_steps)
        return "its sums have " + std::to_string(steps) + " steps, and a block keeps the weights of " +
               std::to_string(k.kept_steps);
    if (block_phases(k, p) > 1) return "phases have weights of their own";
    if (k.resident_blocks % product.channel_tiles != 0)
        return std::to_string(k.resident_blocks) + " blocks do not share out " + std::to_string(product.channel_tiles) +
               " tiles of channels";
    return {};
}

}  // namespace

std::string problem_rejection(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    if (std::string reason = attribute_rejection(k, p); !reason.empty()) return reason;
    if (std::string reason = channel_rejection(k, c); !reason.empty()) return reason;
    if (std::string reason = extent_rejection(k, p); !reason.empty()) return reason;
    if (std::string reason = row_rejection(k, c); !reason.empty()) return reason;
    if (std::string reason = size_rejection(k, p); !reason.empty()) return reason;
    if (k.min_steps > 0 && ProductBlocks(k, p).steps < k.min_steps)
        return "its loop takes fewer than " + std::to_string(k.min_steps) + " steps";
    if (k.kept_steps > 0)
        if (std::string reason = kept_weights_rejection(k, p); !reason.empty()) return reason;
    if (k.box_positions > 0)
        if (std::string reason = picture_frame_rejection(k, c); !reason.empty()) return reason;
    if (sums_as_it_lies(k) && input_positions(p) == 1) return "its pictures have one input: lanes would read far apart";
    if (k.family == Family::weight_gradient_implicit_gemm) return channels_last_rejection(k, c);
    if (k.writes_result && unpacked_parts(p, k).count(p) > 1) return "the sum has more than one part";
    if (k.family == Family::winograd_product) return winograd_rejection(k, p);
    if (stages_columns(k)) return staged_columns_rejection(k, c);
    return k.packed_pictures ? packed_parts_rejection(k, p) : "";
}

// With channels innermost the channels of one group span the image.
std::string span_rejection(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    if (k.large_buffers || !has_channels_last(c)) return {};
    const int64_t image = std::max(p.in_channels * input_positions(p), p.out_channels * spanned_outputs(k, p));
    return image > max_elements_32bit() ? "one image has more than 2^31 - 1 elements, with channels innermost" : "";
}

}  // namespace conv_transpose
