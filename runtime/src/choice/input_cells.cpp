// Which cells a kernel takes: see input_cells.h.
#include "choice/input_cells.h"

#include <algorithm>

#include "algorithm/machine_facts.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// The width with so many inputs a cell. Taps are filled up to whole windows of the kernel.
Axis in_cells(const Axis &x, int64_t inputs, int64_t window) {
    Axis cells = x;
    cells.input = x.input / inputs, cells.stride = x.stride * inputs, cells.dilation = 1;
    const int64_t reach = (x.kernel - 1) * x.dilation + x.stride * (inputs - 1) + 1;
    cells.kernel = round_up(ceil_divide(reach, cells.stride), window) * cells.stride;
    cells.output_padding = 0;
    cells.output_padding = x.output() - cells.output();
    return cells;
}

}  // namespace

std::vector<Computation> with_joined_positions_of_rows(const Computation &c, const Epilogue &epilogue) {
    const Problem &p = c.problem;
    const Axis &x = p.width();
    const auto is_row = [](TensorFormat f) { return channels_innermost(f) && bytes_of(f.type) == 2; };
    const bool sees_one = x.kernel == 1 && x.stride == 1 && x.padding == 0 && x.output_padding == 0;
    const bool is_other = c.by_phases || c.by_taps || c.packed_rows || c.has_wide_pixels();
    // A step of its own repeats a bias that it converts.
    const bool repeats_bias = !epilogue.bias || bytes_of(c.weight_format.type) == 2;
    if (!sees_one || is_other || p.groups != 1 || !repeats_bias || epilogue.activation == Activation::prelu ||
        !is_row(c.read_format) || !is_row(c.written_format))
        return {};
    constexpr int64_t values = 8, full = 128;  // of 16 bytes; channels that fill tiles
    const auto has_whole_rows = [&](int64_t positions) {
        return p.in_channels * positions % values == 0 && p.out_channels * positions % values == 0;
    };
    std::vector<Computation> all;
    for (const int64_t positions : {2, 4, 8}) {
        const bool is_least = all.empty() && !has_whole_rows(1);
        const bool fits = std::max(p.in_channels, p.out_channels) * positions <= full;
        if (x.input % positions != 0 || !has_whole_rows(positions) || !(is_least || fits)) continue;
        Computation joined = c;
        joined.problem.in_channels *= positions, joined.problem.out_channels *= positions;
        joined.problem.width().input /= positions;
        joined.cells = InputCells{p, positions, c.operation == Operation::forward ? p.in_channels : p.out_channels, true};
        all.push_back(joined);
    }
    return all;
}

std::optional<Computation> with_input_cells(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const bool takes_cells = k.phases_along_width && c.operation == Operation::forward && c.weight == WeightView::as_given &&
                             !c.cells && p.groups == 1 && !c.by_phases && !c.by_taps && !c.has_wide_pixels();
    if (!takes_cells || p.rank > k.rank) return {};
    const int64_t channels = c.packed_rows ? packed_row_channels(k, c) : p.in_channels;
    if (channels % (16 / bytes_of(c.read_format.type)) != 0) return {};

    std::optional<Computation> best;
    double least = 0;
    for (const int64_t inputs : {1, 2, 4, 8}) {
        if (p.width().input % inputs != 0 || p.width().stride * inputs % k.stride_width_multiple != 0) continue;
        Computation cells = c;
        cells.problem.width() = in_cells(p.width(), inputs, k.window), cells.problem.in_channels = inputs * channels;
        cells.cells = InputCells{p, inputs, channels};
        // Blocks that are not enough for a machine take as long as one.
        const ProductBlocks work(k, cells.problem);
        const double together = double(machines::H200::multiprocessors * k.blocks_per_multiprocessor),
                     time = std::max(work.blocks, together) * double(work.steps);
        if (least != 0 && time >= least) continue;
        least = time, best = cells;
    }
    const Axis &x = p.width();
    const bool same = best && best->cells->inputs == 1 && best->problem.width().kernel == round_up(x.kernel, x.stride) &&
                      x.dilation == 1;
    return same ? std::nullopt : best;
}

}  // namespace conv_transpose
