// Frames, and what tensor maps can hold: see picture_frame.h.
#include "choice/picture_frame.h"

#include <algorithm>

#include "choice/kernel_properties.h"
#include "choice/launch_limits.h"
#include "choice/launch_ranges.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "choice/weight_gradient_parts.h"
#include "problem/counting.h"

namespace conv_transpose {

FrameAxis::FrameAxis(const KernelTraits &k, const Axis &a, bool along_x) {
    const int64_t reach = (a.kernel - 1) * a.dilation;
    if (k.phases_as_channels && (along_x || !k.phases_along_width)) {
        const int64_t last = (ceil_divide(a.kernel, a.stride) - 1) * a.dilation;  // a stride above 1 has a dilation of 1
        first = a.padding / a.stride - last;
        count = ceil_divide(a.output() + a.padding % a.stride, a.stride) + (along_x ? k.window - 1 : 0);
        step = 1;
        most_offset = last;
    } else if (k.operation == Operation::forward) {
        const int64_t least = -(reach / a.stride);
        first = least + a.padding / a.stride;
        count = ceil_divide(a.output(), a.stride) + (along_x ? k.window - 1 : 0);
        step = 1;
        most_offset = (a.stride - 1 + a.padding % a.stride) / a.stride - least;
    } else {
        const bool in_window = along_x && k.window > 1;  // whose taps are positions of the frame
        first = -a.padding;
        count = a.input + (in_window ? k.window - 1 : 0);
        step = a.stride;
        most_offset = in_window ? 0 : reach;
    }
}

namespace {

// Words of neighbours of all images are read as they lie where rows of them, and those that are stored, are multiples of 16 bytes,
// and a chunk has whole channels.
std::string pairs_rejection(const KernelTraits &k, const Problem &p) {
    const int64_t values = 16 / bytes_of(k.input.type), words = k.weight_in_channel_multiple / 2, rows = taps(p) / p.width().kernel;
    for (const Axis &a : p.axes)
        if (a.kernel != a.stride || a.padding != 0 || a.output_padding != 0 || (a.kernel > 1 && a.dilation > 1))
            return "an axis has a kernel other than its stride, a dilation or padding";
    if (p.width().kernel != 2) return "kernel.width is " + std::to_string(p.width().kernel) + ", the kernel is for 2";
    if (rows > words || words % rows != 0)
        return "a position sees " + std::to_string(rows) + " rows of a channel, and a box has " + std::to_string(words);
    if (p.width().input % values != 0) return "rows of its input are no multiple of 16 bytes";
    if (summed_channels(k, p) % values != 0) return "rows of its weights are no multiple of 16 bytes";
    return p.groups > 1 && summed_channels(k, p) % k.weight_in_channel_multiple != 0
               ? "a box would hold channels of two groups"
               : "";
}

// A picture in channels_first is read as it lies where rows, and what a tap sees of one, begin at multiples of 16
// bytes, and runs are not mostly empty.
std::string rows_rejection(const KernelTraits &k, const Problem &p) {
    const int64_t values = 16 / bytes_of(k.input.type), cells_of_row = cells(k, p, p.width());
    const Axis &x = p.width();
    if ((reads_one_row(k) ? input_positions(p) : x.input) % values != 0) return "rows of its input are no multiple of 16 bytes";
    for (const Axis &a : p.axes) {
        if (reads_one_row(k) && (a.kernel != a.stride || a.padding != 0 || cells(k, p, a) != a.input))
            return "an axis has a kernel other than its stride, or padding";
        if (!reads_one_row(k) && a.stride > 1) return "stride is " + std::to_string(a.stride) + ", the kernel is for 1";
    }
    const bool sees_any = k.row_taps > 1;  // of its taps one by one
    if (sees_any && (x.kernel != k.row_taps || x.dilation > 1))
        return "taps along the width are no " + std::to_string(k.row_taps) + " neighbours";
    if (!sees_any && ((x.kernel > 1 && !reads_one_row(k) && x.dilation % values != 0) || x.padding % values != 0))
        return "taps along the width see places that are no multiple of 16 bytes apart";
    constexpr int64_t least_full = 4;
    if (!reads_one_row(k) && cells_of_row * least_full < round_up(cells_of_row, positions_of_run(k)))
        return "rows of " + std::to_string(cells_of_row) + " positions leave most of a box empty";
    if (reads_one_row(k) && stores_runs_of_positions(k) && x.stride != k.stride_width_multiple)
        return "stride.width is " + std::to_string(x.stride) + ", the kernel is for " + std::to_string(k.stride_width_multiple);
    if (maps_weights_of_phases(k) && p.out_channels / p.groups * taps(p) % values != 0)
        return "rows of its weights are no multiple of 16 bytes";
    return {};
}

// A box of a run of positions begins at a multiple of 16 bytes, whatever a tap sees.
std::string runs_rejection(const KernelTraits &k, const Computation &c) {
    const int64_t values = 16 / bytes_of(k.input.type);
    const std::optional<Problem> row = in_one_row(c.problem);
    if (!row) return "taps do not see neighbours of one row";
    const Axis &x = row->width();
    if (x.input % values != 0 || x.output() % values != 0) return "an image of a channel is no multiple of 16 bytes";
    if ((x.kernel > 1 && x.dilation % values != 0) || x.padding % values != 0)
        return "taps see places that are no multiple of 16 bytes apart";
    if (std::max(x.padding, (x.kernel - 1) * x.dilation) > max_elements_32bit() - x.input - x.output())
        return "taps see places that are more than 2^31 - 1 apart";
    // Nobody packs them in 16 bits.
    return c.by_taps && k.input.type != ElementType::float32 ? "it reads no packed taps" : "";
}

// Why lines of both pictures do not fit boxes, which have whole channels.
std::string lines_rejection(const KernelTraits &k, const Computation &c) {
    const int64_t lines = c.problem.out_channels / c.by_lines->out_channels;
    if (lines > k.tile_out_channels || k.tile_out_channels % lines != 0)
        return "a channel has " + std::to_string(lines) + " lines, and a box " + std::to_string(k.tile_out_channels);
    return c.problem.width().input % (16 / bytes_of(k.input.type)) != 0 ? "rows of its input are no multiple of 16 bytes" : "";
}

}  // namespace

bool turns_weights(const KernelTraits &k, const Computation &c) {
    const bool lies_otherwise = channels_innermost(k.weight) && !channels_innermost(c.weight_format) && taps(c.problem) > 1;
    return maps_weights(k) && !maps_weights_of_phases(k) && lies_otherwise && c.weight_operand == Operand::weight &&
           weight_picture(c).images <= max_grid();
}

std::string picture_frame_rejection(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    if (sums_runs(k)) return runs_rejection(k, c);
    if (k.reads_pairs) return c.by_lines ? lines_rejection(k, c) : pairs_rejection(k, p);
    if (reads_as_it_lies(k))
        if (std::string reason = rows_rejection(k, p); !reason.empty()) return reason;
    // Bits that a map and an instruction have for an axis.
    const int64_t corner = k.rank == 2 ? 128 : 16, offsets = k.rank == 2 ? 256 : 32;
    constexpr int64_t most_step = 8;
    const bool forward = k.operation == Operation::forward;
    for (int i = 0; i < k.rank; i++) {
        const Axis &a = p.axes[2 - i];
        const FrameAxis frame(k, a, i == 0);
        const int64_t behind = frame.behind(forward ? a.input : a.output());
        if (reads_as_it_lies(k)) continue;  // whose boxes have no frame
        if (std::min(frame.first, behind) < -corner || std::max(frame.first, behind) >= corner ||
            frame.most_offset >= offsets)
            return "its positions reach too far beyond the picture for a tensor map";
        if (maps_weights(k) && a.kernel > std::min(corner, offsets))
            return "its kernel is too large for a tensor map of weights";
        if (frame.step > most_step) return "stride is " + std::to_string(a.stride) + ", a tensor map has at most 8";
    }
    const int64_t summed = (forward ? p.in_channels : p.out_channels) / p.groups;
    if (p.groups > 1 && !c.packed_rows && summed % k.weight_in_channel_multiple != 0)
        return "a box would hold channels of two groups";
    if (k.window > 1) {
        const Axis &x = p.width();
        if (k.operation == Operation::weight_gradient) {
            if (x.kernel != k.window || x.stride > 1 || x.dilation > 1)
                return "taps along the width are no " + std::to_string(k.window) + " neighbours, at a stride of 1";
            return {};
        }
        if (x.dilation > 1 || ceil_divide(x.kernel, channel_phases(k, p, x)) % k.window != 0)
            return "taps along the width are no multiple of " + std::to_string(k.window) + " neighbours";
    }
    return {};
}

}  // namespace conv_transpose
