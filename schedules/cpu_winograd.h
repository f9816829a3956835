// Schedule: Winograd's algorithm on the CPU, for 32 channels and more.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21, against
// cpu_tiles.h in the same run. 3x3 kernels, both axes transformed: 64->64 256x256 in 14.2 ms (22.3), 128x128
// 3.1 ms (5.3), 128->128 270x270 58.6 ms (101.7), 32->64 256x256 7.7 ms (10.8). At 64 channels the products
// take 9.8 ms, which is the FMA units' rate; the rest is copying the input with its border (9 %), its
// transform (6 %), the transform back (5 %) and stores. Wider kernels, columns alone transformed: k(3,7)
// 32->32 256x512 in 21.3 ms (24.6), 105 % of the FMA units' rate for the products of the definition; with
// AVX2 40.7 ms (53.0). At kernel width 5 that gains 4 to 7 %.
//
// Order: a block of the output is the unit of work. All channels of its input are transformed when it begins:
// 4 KB a channel (6 KB where rows are not transformed), which stay in the second cache for up to some 200
// channels. Then for each tile of output channels, point by point, a matrix product over input channels
// (where rows are not transformed, a convolution along them) in register tiles of 2 vectors x 8 channels; the
// point's piece of the transformed input and of the weights lie together, so both stream from the second
// cache. The sums of all points are 32 KB: they are transformed back from the first cache.
//
// Vectors run over tiles along a row. The input's rows are transformed first, where a tile's four inputs lie
// in two vectors, then the columns, without shuffles.
//
// Tried without gain: wider blocks (they waste more at the end of a row), blocks of run-time width, several
// tiles of channels at once, the sums of one register tile at a time. Without transformed rows: blocks of 4
// and of 16 tile rows, register tiles of one vector x 2 tile rows or 4 vectors x 4 channels.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_H

#include "schedules/shared/kernel_description.h"
#include "algorithm/winograd_funcs.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuWinograd : CpuSchedule {
    static constexpr const char *family = "winograd";
    /// The register tile: vectors of tiles along a row, rows of tiles, output channels.
    Halide::GeneratorParam<int> vectors{"vectors", 1}, tile_rows{"tile_rows", 2}, channels{"channels", 8};
    /// Rows of register tiles in a block, which is as wide as one of them.
    Halide::GeneratorParam<int> rows{"rows", 2};

    int weight_channel_multiple() const { return channels; }
    /// Fewer channels would spend more on the transforms than they save, and smaller outputs leave much of a
    /// block unused.
    void describe(KernelDescription &description) const {
        const int block_height = winograd::f23.outputs() * block_rows();
        description.set("min_in_channels", 32);
        description.set("min_out_channels", 32);
        description.set("min_output", block_height * 3 / 4, 24);
    }

    void apply(WinogradFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>();
        Var block_x{"block_x"}, block_y{"block_y"};
        const TailStrategy guard = TailStrategy::GuardWithIf;

        f.output.split(v.x, block_x, v.x, vectors * width * f.across.outputs(), guard)
            .split(v.y, block_y, v.y, block_rows() * f.down.outputs(), guard)
            .split(v.channel, channel_tile, v.channel, channels, guard)
            .reorder(v.x, v.y, v.channel, channel_tile, block_x, block_y, v.group, v.batch)
            .fuse(block_x, block_y, work).fuse(work, v.group, work).fuse(work, v.batch, work).parallel(work)
            .vectorize(v.x, width, TailStrategy::PredicateStores).unroll(v.x);
        transform_input(f, width);
        multiply(f, width);
        transform_back(f, width);
    }

  private:
    Halide::Var work{"work"}, channel_tile{"channel_tile"};

    int block_rows() const { return tile_rows * int(rows); }

    // The block's input, a channel at a time, across its rows and then down.
    void transform_input(WinogradFuncs &f, int width) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int tile_width = vectors * width, points_x = f.across.points(), points_y = f.down.points();
        f.transformed_input.compute_at(f.output, work)
            .bound_extent(f.tile_y, block_rows())
            .bound_extent(f.point_x, points_x).bound_extent(f.point_y, points_y)
            .reorder(f.point_y, f.point_x, f.tile_x, f.tile_y, f.in_channel)
            .vectorize(f.tile_x, width, TailStrategy::RoundUp).unroll(f.point_x).unroll(f.point_y);
        if (!f.across.is_identity()) {
            f.transformed_input.bound_extent(f.tile_x, tile_width).unroll(f.tile_x);
            f.transformed_across.compute_at(f.transformed_input, f.in_channel)
                .bound_extent(f.tile_x, tile_width).bound_extent(f.point_x, points_x)
                .reorder_storage(f.tile_x, f.point_x, v.y).reorder(f.point_x, f.tile_x, v.y)
                .vectorize(f.tile_x, width).unroll(f.tile_x).unroll(f.point_x);
        }
        f.padded_input.compute_at(f.transformed_input, f.in_channel)
            .vectorize(f.padded_input.args()[0], width, TailStrategy::RoundUp);
    }

    // All points of a tile of channels.
    void multiply(WinogradFuncs &f, int width) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int tile_width = vectors * width;
        Var y_tile{"y_tile"};
        Func sums = f.sum.in();
        sums.compute_at(f.output, channel_tile)
            .bound_extent(f.tile_x, tile_width).bound_extent(f.tile_y, block_rows())
            .bound_extent(v.channel, channels)
            .bound_extent(f.point_x, f.across.points()).bound_extent(f.point_y, f.down.points())
            .split(f.tile_y, y_tile, f.tile_y, tile_rows)
            .reorder(f.tile_x, f.tile_y, v.channel, y_tile, f.point_x, f.point_y)
            .vectorize(f.tile_x, width).unroll(f.tile_x).unroll(f.tile_y).unroll(v.channel);
        f.sum.compute_at(sums, y_tile)
            .bound_extent(f.tile_x, tile_width).bound_extent(f.tile_y, tile_rows)
            .bound_extent(v.channel, channels);
        Stage update = f.sum.update();
        update.reorder(f.tile_x, f.tile_y, v.channel, f.taps.x, f.taps.y).unroll(f.taps.x);
        for (Stage stage : {Stage(f.sum), update})
            stage.vectorize(f.tile_x, width).unroll(f.tile_x).unroll(f.tile_y).unroll(v.channel);
    }

    // A row of tiles at a time, interleaved into a piece of the output on the stack.
    void transform_back(WinogradFuncs &f, int width) const {
        const GatherVars &v = f.v;
        const int outputs_x = f.across.outputs(), outputs_y = f.down.outputs();
        Halide::Var phase_x{"phase_x"}, phase_y{"phase_y"};
        f.pixels.compute_at(f.output, v.channel)
            .align_bounds(v.x, outputs_x).bound_extent(v.x, vectors * width * outputs_x)
            .align_bounds(v.y, outputs_y).bound_extent(v.y, block_rows() * outputs_y)
            .split(v.x, v.x, phase_x, outputs_x).split(v.y, v.y, phase_y, outputs_y)
            .reorder(phase_x, phase_y, v.x, v.y)
            .vectorize(v.x, width).unroll(v.x).unroll(phase_x).unroll(phase_y);
    }
};

}  // namespace conv_transpose

#endif
