// Schedule: images of a few pixels with many channels on the CPU (the first layers of a generator network).
//
// A row is shorter than a vector, so vectors run over output channels: weights are loaded as vectors, inputs broadcast.
// A register tile is 4 cells x 64 channels; a tile of channels is the unit of work, because the weights, read once for
// each 4 cells, are what limits: no core shall read another's. The image is copied with its zero border once.
// Phases, kernel positions and input channels are loops, so the kernel's size is a run-time value.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H

#include "schedules/forward_funcs.h"

namespace conv_transpose {

struct CpuChannels {
    /// Output channels of a tile.
    Halide::GeneratorParam<int> channels{"channels", 64};
    /// Cells of a tile.
    Halide::GeneratorParam<int> cells{"cells", 4};
    /// Largest output's height and width.
    Halide::GeneratorParam<int> max_size{"max_size", 8};
    /// Cell rows of a unit of work.
    Halide::GeneratorParam<int> rows{"rows", 8};

    static constexpr WeightLayout weight_layout = WeightLayout::channel_tiles;
    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &description) const {
        description.set("out_channel_multiple", channels);
        description.set("max_output", max_size, max_size);
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>(), sx = f.stride_x(), sy = f.stride_y();
        Var block{"block"}, work{"work"}, channel_tile{"channel_tile"}, cell_row{"cell_row"}, x_tile{"x_tile"};
        const std::vector<Var> input_args = f.padded_input.args();

        f.output.split(v.y, cell_row, v.y, sy, TailStrategy::GuardWithIf)
            .split(cell_row, block, cell_row, rows, TailStrategy::GuardWithIf)
            .split(v.channel, channel_tile, v.channel, channels, TailStrategy::GuardWithIf)
            .reorder(v.x, v.y, v.channel, cell_row, block, channel_tile, v.group, v.batch)
            .fuse(block, channel_tile, work).parallel(work);

        f.padded_input.compute_at(f.output, v.group).vectorize(input_args[0], width).parallel(input_args[2], 16);

        Func cells_of_row = f.sum.in();
        cells_of_row.compute_at(f.output, cell_row)
            .bound_extent(v.cell_y, 1).bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy).bound_extent(v.channel, channels)
            .reorder_storage(v.channel, v.cell_x)
            .split(v.cell_x, x_tile, v.cell_x, cells, TailStrategy::RoundUp)
            .reorder(v.channel, v.cell_x, x_tile, v.phase_x, v.phase_y, v.cell_y)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x);

        f.sum.compute_at(cells_of_row, x_tile)
            .bound_extent(v.cell_x, cells).bound_extent(v.cell_y, 1)
            .bound_extent(v.phase_x, 1).bound_extent(v.phase_y, 1).bound_extent(v.channel, channels)
            .reorder_storage(v.channel, v.cell_x).reorder(v.channel, v.cell_x)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x);
        f.sum.update()
            .reorder(v.channel, v.cell_x, f.taps.x, f.taps.y, f.taps.z)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x);
    }
};

}  // namespace conv_transpose

#endif
