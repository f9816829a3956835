// Schedule: images of a few pixels with many channels on the CPU (the first layers of a generator network).
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21: k4 s2 p1 1024->512
// 4x4 in 5.9 ms, 15 % of the FMA rate (33 MB of weights, read four times, are the limit; cpu_tiles.h takes 8.8 ms).
//
// A row is shorter than a vector, so vectors run over output channels: weights are loaded as vectors, inputs broadcast.
// A register tile is 64 channels x 4 cells. Weights are what limits, so a tile of channels is the unit of work: no core
// reads another's. The image is copied with its zero border once. Phases, kernel positions and input channels are loops,
// so the kernel's size is a run-time value.
//
// Tried without gain: one vector of channels x 4 x 4 cells, which reads each weight once, but 64 bytes at a time.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H

#include "schedules/forward_funcs.h"

namespace conv_transpose {

struct CpuChannels {
    /// The register tile: output channels, cells along a row, rows of cells.
    Halide::GeneratorParam<int> channels{"channels", 64}, cells{"cells", 4}, tile_rows{"tile_rows", 1};
    /// Largest output's height and width.
    Halide::GeneratorParam<int> max_size{"max_size", 8};

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
        Var channel_tile{"channel_tile"}, x_tile{"x_tile"}, y_tile{"y_tile"};
        const std::vector<Var> input_args = f.padded_input.args();

        f.output.split(v.y, y_tile, v.y, tile_rows * sy, TailStrategy::GuardWithIf)
            .split(v.channel, channel_tile, v.channel, channels, TailStrategy::GuardWithIf)
            .reorder(v.x, v.y, v.channel, y_tile, channel_tile, v.group, v.batch).parallel(channel_tile);

        f.padded_input.compute_at(f.output, v.group).vectorize(input_args[0], width)
            .parallel(input_args[2], 16, TailStrategy::GuardWithIf);

        Func row_of_tiles = f.sum.in();
        row_of_tiles.compute_at(f.output, y_tile)
            .bound_extent(v.cell_y, tile_rows).bound_extent(v.channel, channels)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy)
            .reorder_storage(v.channel, v.cell_x)
            .split(v.cell_x, x_tile, v.cell_x, cells, TailStrategy::RoundUp)
            .reorder(v.channel, v.cell_x, v.cell_y, x_tile, v.phase_x, v.phase_y)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x).unroll(v.cell_y);

        f.sum.compute_at(row_of_tiles, x_tile)
            .bound_extent(v.cell_x, cells).bound_extent(v.cell_y, tile_rows)
            .bound_extent(v.phase_x, 1).bound_extent(v.phase_y, 1).bound_extent(v.channel, channels)
            .reorder_storage(v.channel, v.cell_x).reorder(v.channel, v.cell_x, v.cell_y)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x).unroll(v.cell_y);
        f.sum.update()
            .reorder(v.channel, v.cell_x, v.cell_y, f.taps.x, f.taps.y, f.taps.z)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x).unroll(v.cell_y);
    }
};

}  // namespace conv_transpose

#endif
