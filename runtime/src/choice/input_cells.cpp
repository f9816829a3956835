// Which cells a kernel takes: see input_cells.h.
#include "choice/input_cells.h"

#include <algorithm>

#include "algorithm/machine_facts.h"
#include "choice/launch_limits.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// The width with so many inputs a cell. Taps are filled up to whole windows of the kernel. What fills them up may come first:
// then neighbouring phases, which are stored at once, begin at whole pairs (or fours) of the output whatever the padding is.
Axis in_cells(const Axis &x, InputCells &of_row, const KernelTraits &k) {
    Axis cells = x;
    cells.input = x.input / of_row.inputs, cells.stride = x.stride * of_row.inputs, cells.dilation = 1;
    const int64_t reach = (x.kernel - 1) * x.dilation + x.stride * (of_row.inputs - 1) + 1;
    cells.kernel = round_up(ceil_divide(reach, cells.stride), k.window) * cells.stride;
    const int64_t together = std::max<int64_t>(k.stride_width_multiple, 1), lead = round_up(x.padding, together) - x.padding;
    if (reach + lead <= cells.kernel) of_row.lead = lead;
    cells.padding = x.padding + of_row.lead;
    cells.output_padding = 0;
    cells.output_padding = x.output() - cells.output();
    return cells;
}

// The width whose outputs are joined, too: at stride 1 cell c reaches cell c + tap - padding, and input j of it output `phase` of
// that one where tap * outputs + phase is lead + j * stride + dilation * k.
Axis with_joined_outputs(const Axis &x, InputCells &cells) {
    Axis joined{.input = x.input / cells.inputs, .padding = ceil_divide(x.padding, cells.outputs)};
    cells.lead = joined.padding * cells.outputs - x.padding;
    const int64_t reach = cells.lead + x.stride * (cells.inputs - 1) + x.dilation * (x.kernel - 1) + 1;
    joined.kernel = ceil_divide(reach, cells.outputs);
    joined.output_padding = x.output() / cells.outputs - joined.output();
    return joined;
}

}  // namespace

std::vector<Computation> with_joined_positions_of_rows(const Computation &c, const Epilogue &epilogue) {
    const Problem &p = c.problem;
    const Axis &x = p.width();
    const auto is_row = [](TensorFormat f) { return channels_innermost(f) && bytes_of(f.type) == 2; };
    const bool is_other = c.by_phases || c.by_taps || c.packed_rows || c.has_wide_pixels() || c.joined_groups > 1;
    // A step of its own repeats a bias that it converts.
    const bool repeats_bias = !epilogue.bias || bytes_of(c.weight_format.type) == 2;
    if (is_other || p.groups != 1 || !repeats_bias || epilogue.activation == Activation::prelu ||
        !is_row(c.read_format) || !is_row(c.written_format))
        return {};
    constexpr int64_t values = 8, full = 128;  // of 16 bytes; channels that fill tiles
    // Input gradients of more taps are faster by kernels whose lanes copy, where those take the channels.
    const bool sees_one = x.kernel == 1 && x.stride == 1 && x.padding == 0 && x.output_padding == 0;
    if (c.operation != Operation::forward && !sees_one && p.in_channels % values == 0 && p.out_channels % values == 0) return {};
    const auto has_whole_rows = [&](int64_t inputs) {
        return p.in_channels * inputs % values == 0 && p.out_channels * inputs * x.stride % values == 0;
    };
    std::vector<Computation> all;
    for (const int64_t inputs : {1, 2, 4, 8}) {
        const int64_t outputs = inputs * x.stride;
        const double products = double(p.in_channels * inputs) * double(p.out_channels) * double(outputs);
        if (outputs == 1 || x.input % inputs != 0 || x.output() % outputs != 0 || products > double(max_elements_32bit())) continue;
        const bool is_least = all.empty() && !has_whole_rows(1);
        const bool fits = std::max(p.in_channels * inputs, p.out_channels * outputs) <= full;
        if (!has_whole_rows(inputs) || !(is_least || fits)) continue;
        Computation joined = c;
        joined.cells = InputCells{p, inputs, c.operation == Operation::forward ? p.in_channels : p.out_channels, outputs};
        joined.problem.in_channels *= inputs, joined.problem.out_channels *= outputs;
        joined.problem.width() = with_joined_outputs(x, *joined.cells);
        all.push_back(joined);
    }
    return all;
}

std::optional<Computation> with_input_cells(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const bool takes_cells = k.phases_along_width && c.operation == Operation::forward && !c.cells && p.groups == 1 &&
                             !c.by_phases && !c.by_taps && !c.has_wide_pixels();
    if (!takes_cells || p.rank > k.rank) return {};
    const int64_t channels = c.packed_rows ? packed_row_channels(k, c) : p.in_channels;
    if (channels % (16 / bytes_of(c.read_format.type)) != 0) return {};

    std::optional<Computation> best;
    double least = 0;
    for (const int64_t inputs : {1, 2, 4, 8}) {
        if (p.width().input % inputs != 0 || p.width().stride * inputs % k.stride_width_multiple != 0) continue;
        Computation cells = c;
        cells.cells = InputCells{p, inputs, channels};
        cells.problem.width() = in_cells(p.width(), *cells.cells, k), cells.problem.in_channels = inputs * channels;
        // Blocks that are not enough for a machine take as long as one.
        const ProductBlocks work(k, cells.problem);
        const double together = double(machines::H200::multiprocessors * k.blocks_per_multiprocessor),
                     time = std::max(work.blocks, together) * double(work.steps);
        if (least != 0 && time >= least) continue;
        least = time, best = cells;
    }
    const Axis &x = p.width();
    const bool same = best && best->cells->inputs == 1 && best->cells->lead == 0 &&
                      best->problem.width().kernel == round_up(x.kernel, x.stride) && x.dilation == 1;
    return same ? std::nullopt : best;
}

}  // namespace conv_transpose
