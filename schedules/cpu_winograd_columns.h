// Schedule: Winograd's algorithm down the columns, on the CPU, for wide kernels and 32 channels and more.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21, against cpu_tiles.h in the
// same run: k(3,7) s1 32->32 256x512 in 21.3 ms (24.6), 105 % of the FMA units' rate for the products of the definition; with
// AVX2 40.7 ms (53.0). At kernel width 5 it gains 4 to 7 %, at 3 cpu_winograd.h is better.
//
// Order: as in cpu_winograd.h. A block of the output is the unit of work; all channels of its input are transformed when it
// begins, 6 KB a channel. Then for each tile of output channels, point by point, a convolution along rows in register tiles
// of 2 vectors x 8 channels; the four points are combined from the first cache.
//
// Tried without gain: blocks of 4 and of 16 tile rows, register tiles of one vector x 2 tile rows or 4 vectors x 4 channels.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_COLUMNS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_COLUMNS_H

#include "generators/kernel_description.h"
#include "schedules/winograd_columns_funcs.h"

namespace conv_transpose {

struct CpuWinogradColumns {
    /// The register tile: vectors along a row, tiles of two rows, output channels.
    Halide::GeneratorParam<int> vectors{"vectors", 2}, tile_rows{"tile_rows", 1}, channels{"channels", 8};
    /// Rows of register tiles in a block, which is as wide as one of them.
    Halide::GeneratorParam<int> rows{"rows", 8};

    int weight_channel_multiple() const { return channels; }
    /// Fewer channels would spend more on the transforms than they save.
    void describe(KernelDescription &description) const {
        description.set("min_in_channels", 32);
        description.set("min_out_channels", 32);
        description.set("min_output", 12, 24);
    }

    void apply(WinogradColumnsFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>(), tile_width = vectors * width;
        const int block_rows = tile_rows * int(rows);
        constexpr int m = winograd::outputs, points = winograd::points;
        Var block_x{"block_x"}, block_y{"block_y"}, work{"work"}, channel_tile{"channel_tile"}, y_tile{"y_tile"};
        const TailStrategy guard = TailStrategy::GuardWithIf;

        f.output.split(v.x, block_x, v.x, tile_width, guard)
            .split(v.y, block_y, v.y, block_rows * m, guard)
            .split(v.channel, channel_tile, v.channel, channels, guard)
            .reorder(v.x, v.y, v.channel, channel_tile, block_x, block_y, v.group, v.batch)
            .fuse(block_x, block_y, work).fuse(work, v.group, work).fuse(work, v.batch, work).parallel(work)
            .vectorize(v.x, width, TailStrategy::PredicateStores).unroll(v.x);

        const Var in_channel = f.transformed_input.args()[2];
        f.transformed_input.compute_at(f.output, work)
            .bound_extent(f.tile_y, block_rows).bound_extent(f.point, points)
            .reorder(f.point, v.x, f.tile_y, in_channel)
            .vectorize(v.x, width, TailStrategy::RoundUp).unroll(f.point);
        f.padded_input.compute_at(f.transformed_input, in_channel)
            .vectorize(f.padded_input.args()[0], width, TailStrategy::RoundUp);

        // All points of a tile of channels.
        Func sums = f.sum.in();
        sums.compute_at(f.output, channel_tile)
            .bound_extent(v.x, tile_width).bound_extent(f.tile_y, block_rows).bound_extent(v.channel, channels)
            .bound_extent(f.point, points)
            .split(f.tile_y, y_tile, f.tile_y, tile_rows)
            .reorder(v.x, f.tile_y, v.channel, y_tile, f.point)
            .vectorize(v.x, width).unroll(v.x).unroll(f.tile_y).unroll(v.channel);
        f.sum.compute_at(sums, y_tile)
            .bound_extent(v.x, tile_width).bound_extent(f.tile_y, tile_rows).bound_extent(v.channel, channels);
        Stage update = f.sum.update();
        update.reorder(v.x, f.tile_y, v.channel, f.taps.x, f.taps.y).unroll(f.taps.x);
        for (Stage stage : {Stage(f.sum), update})
            stage.vectorize(v.x, width).unroll(v.x).unroll(f.tile_y).unroll(v.channel);

        Var phase_y{"phase_y"};
        f.pixels.compute_at(f.output, v.channel)
            .bound_extent(v.x, tile_width).align_bounds(v.y, m).bound_extent(v.y, block_rows * m)
            .split(v.y, v.y, phase_y, m).reorder(phase_y, v.x, v.y)
            .vectorize(v.x, width).unroll(v.x).unroll(phase_y);
    }
};

}  // namespace conv_transpose

#endif
