// Schedule: images of a few pixels with many channels on the CPU (the first layers of a generator network).
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21: k4 s2 p1
// 1024->512 4x4 in 1.9 ms, 62 % of the FMA rate; cpu_tiles.h takes 5.6 ms. 512->256 8x8: 1.3 ms and 2.3 ms. The first
// reads 33 MB of weights, once.
//
// A row is shorter than a vector, so vectors run over output channels: weights are loaded as vectors, inputs
// broadcast. Weights are what limits, so a tile of channels is the unit of work: no core reads another's. The
// image is copied with its zero border once.
//
// A register tile is a vector of channels x 4 cells x all phases of a kernel that is known. For each input channel it takes all taps, which lie together, so weights are one stream from
// memory. They come in chunks of 64 input channels, 64 KB, which all cells of the image take from the second
// cache; between chunks the sums wait in memory.
//
// Kernels of any size are products (cpu_implicit_gemm.h).
//
// Tried without gain: prefetching the weights (1.4 times as slow), chunks of 16 or 32.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_CHANNELS_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuChannels : CpuSchedule {
    static constexpr const char *family = "channels";
    /// The register tile: output channels, cells along a row, rows of cells.
    Halide::GeneratorParam<int> channels{"channels", 64}, cells{"cells", 4}, tile_rows{"tile_rows", 1};
    /// Input channels whose products are summed in registers.
    Halide::GeneratorParam<int> chunk{"chunk", 64};
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
        const int width = target.natural_vector_size<float>(), sy = f.stride_y();
        Var channel_tile{"channel_tile"}, y_tile{"y_tile"};
        const std::vector<Var> input_args = f.padded_input.args();

        f.output.split(v.y, y_tile, v.y, tile_rows * sy, TailStrategy::GuardWithIf)
            .split(v.channel, channel_tile, v.channel, channels, TailStrategy::GuardWithIf)
            .reorder(v.x, v.y, v.channel, y_tile, channel_tile, v.group, v.batch).parallel(channel_tile);

        f.padded_input.compute_at(f.output, v.group).vectorize(input_args[0], width)
            .parallel(input_args[2], 16, TailStrategy::GuardWithIf);

        sum_all_phases(f, channel_tile, width);
    }

  private:
    void sum_all_phases(ForwardFuncs &f, const Halide::Var &channel_tile, int width) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int sx = f.stride_x(), sy = f.stride_y();
        Var x_tile{"x_tile"}, chunk_number{"chunk_number"};
        RVar chunks{"chunks"}, in_chunk{"in_chunk"};
        f.sum.update().split(f.taps.z, chunks, in_chunk, chunk);
        Func chunk_sum = f.sum.update().rfactor(chunks, chunk_number);

        f.sum.compute_at(f.output, channel_tile).reorder_storage(v.channel, v.cell_x)
            .align_bounds(v.cell_x, cells).bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy)
            .bound_extent(v.channel, channels)
            .reorder(v.channel, v.cell_x, v.cell_y, v.phase_x, v.phase_y).vectorize(v.channel, width).unroll(v.channel);
        f.sum.update().split(v.cell_x, x_tile, v.cell_x, cells)
            .reorder(v.channel, v.cell_x, v.phase_x, v.phase_y, x_tile, v.cell_y, chunks)
            .vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x).unroll(v.phase_x).unroll(v.phase_y);

        chunk_sum.compute_at(f.sum, x_tile).reorder_storage(v.channel, v.cell_x)
            .bound_extent(v.cell_x, cells).bound_extent(v.cell_y, 1).bound_extent(chunk_number, 1)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy).bound_extent(v.channel, channels);
        Stage products = chunk_sum.update();
        products.reorder(v.channel, v.cell_x, v.phase_x, v.phase_y, f.taps.x, f.taps.y, in_chunk)
            .unroll(f.taps.x).unroll(f.taps.y);
        for (Stage stage : {Stage(chunk_sum), products})
            stage.vectorize(v.channel, width).unroll(v.channel).unroll(v.cell_x).unroll(v.phase_x).unroll(v.phase_y);
    }
};

}  // namespace conv_transpose

#endif
