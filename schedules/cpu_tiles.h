// Schedule: dense problems on the CPU, by register tiles of cells x phases x channels.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21; percent of the FMA
// rate measured in the same run:
//   k3 s1 64->64 256x256 85 %   k(3,7) s1 32->32 256x512 89 %   k4 s2 p1 64->64 64x128 73 %   k3 s2 64->64 64x128 67 %
//   k4 s2 p1 512->256 16x16 78 %   k2 s2 128->64 128x128 69 % (memory)   k9 s3 56->1 256x256 59 %
// 1x1 kernels to few channels wait for the picture: 32->2, two volumes of 64^3, 9.3 GB/s (AVX2, 2026-11-24).
//
// Order, from the inside:
// - A register tile: vectors of cells x rows of cells x channels, 16 to 24 sums with AVX-512 and 8 to 12 with
//   AVX2. Every input vector serves all channels of the tile and every weight all cells, so the FMA units
//   wait for neither. Two rows of one vector do as well as one row of many vectors and waste less at the end
//   of a row: a tile is 16 cells wide.
// - Over the tile run taps, then input channels: the sums stay in registers until they are complete. With joint phases
//   all phases of a cell are in the tile and share its input vectors (few taps a phase); otherwise phases are an outer
//   loop (many taps, or phases with unequal numbers of taps).
// - The tile is interleaved from its phases into a few KB on the stack and copied out from there, with the activation: stores to
//   the output are dense for every stride, and the tanh of one vector is compiled once, not for each register.
// - Along a row of tiles, then down the rows of a block: a channel tile's weights (they lie together) stay in the first
//   cache for the whole block. Then the next channel tile.
// - A block's input is copied with its zero border when the block begins, so that no test is left in the loops and whole vectors
//   may be read. Blocks, groups, images and parts of many channels run in parallel: small pictures have one block each.
//
// What was tried: docs/experiments.md#register-tiles-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_TILES_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_TILES_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CpuTiles : CpuSchedule {
    static constexpr const char *family = "tiles";
    /// The register tile: vectors of cells along a row, rows of cells, output channels.
    Halide::GeneratorParam<int> vectors{"vectors", 1}, tile_rows{"tile_rows", 2}, channels{"channels", 8};
    /// A block of the output, which shares one copy of the input: rows of tiles, and tiles in a row.
    Halide::GeneratorParam<int> rows{"rows", 8}, columns{"columns", 64};
    Halide::GeneratorParam<bool> joint_phases{"joint_phases", false};
    Halide::GeneratorParam<bool> unroll_taps{"unroll_taps", true};
    /// Most output channels of a group, for kernels whose tiles are narrow; 0 is any number. Where input channels are more,
    /// or output channels fewer, than these, a matrix product is faster (cpu_implicit_gemm.h).
    Halide::GeneratorParam<int> max_channels{"max_channels", 0}, max_in_channels{"max_in_channels", 0};
    Halide::GeneratorParam<int> min_channels{"min_channels", 1};
    /// Narrower outputs would leave most of a wide tile empty.
    Halide::GeneratorParam<int> min_output_w{"min_output_w", 1};
    /// Percent of the FMA units' rate that whole tiles of one vector reach, measured; 0 where that is not known. Kernels with a
    /// rate are compared with matrix products, others go before them.
    Halide::GeneratorParam<int> fma_percent{"fma_percent", 0};

    /// Output channels that share one copy of a block's input: copying it again costs a hundredth of their arithmetic.
    static constexpr int block_channels = 128;

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::channel_tiles;
    int weight_channel_multiple() const { return channels; }
    /// Cells along a row of a register tile.
    int tile_cells(const Halide::Target &target) const { return vectors * target.natural_vector_size<float>(); }
    void describe(KernelDescription &description) const {
        description.set("max_out_channels", max_channels);
        description.set("max_in_channels", max_in_channels);
        description.set("min_out_channels", min_channels);
        description.set("min_output", 1, min_output_w);
        if (fma_percent > 0) description.set("fma_percent", fma_percent);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int vectors = space.choose(this->vectors, {1, 2, 3, 4}),
                  tile_rows = space.choose(this->tile_rows, {1, 2, 4});
        const int channels = space.choose(this->channels, {1, 2, 3, 4, 6, 8, 12});
        const int rows = space.choose(this->rows, {4, 8, 16});
        space.choose(columns, {4, 64});
        const int joint_phases = space.choose(this->joint_phases, {0, 1});
        const int unroll_taps = space.choose(this->unroll_taps, {0, 1});
        const int phases = problem.stride_x * problem.stride_y, tile = vectors * tile_rows * channels;
        const int sums = tile * (joint_phases ? phases : 1);
        space.require("sums leave registers for operands", sums >= 4 && sums <= problem.vector_registers - 6);
        space.require("fewer than twice the channels", channels < 2 * std::max(problem.out_channels, 1));
        space.require("phases are joint where there is one", phases > 1 || joint_phases);
        space.require("a block has at most 16 rows of cells", rows * tile_rows <= 16);
        space.require("the unrolled loop stays short", (unroll_taps ? problem.taps() : phases) * tile <= 600);
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>(), tile_width = vectors * width;
        const int sx = f.stride_x(), sy = f.stride_y();
        Var block_x{"block_x"}, block_y{"block_y"}, channel_block{"channel_block"}, work{"work"},
            channel_tile{"channel_tile"};
        Var x_tile{"x_tile"}, y_tile{"y_tile"};
        const TailStrategy guard = TailStrategy::GuardWithIf;

        f.output.split(v.x, x_tile, v.x, tile_width * sx, guard).split(x_tile, block_x, x_tile, columns, guard)
            .split(v.y, y_tile, v.y, tile_rows * sy, guard).split(y_tile, block_y, y_tile, rows, guard)
            .split(v.channel, channel_tile, v.channel, channels, guard)
            .split(channel_tile, channel_block, channel_tile, std::max(1, block_channels / int(channels)), guard)
            .reorder(v.x, v.y, v.channel, x_tile, y_tile, channel_tile, channel_block, block_x, block_y, v.group, v.batch)
            .fuse(channel_block, block_x, work).fuse(work, block_y, work).fuse(work, v.group, work).fuse(work, v.batch, work)
            .parallel(work)
            .vectorize(v.x, width, TailStrategy::PredicateStores);

        f.padded_input.compute_at(f.output, work).vectorize(f.padded_input.args()[0], width);

        // Constant extents everywhere, or the sums would not be kept in registers. Whole tiles are computed, so what they see must
        // be set: denormal numbers in memory that is not took 70 times as long (Xeon, k3 s2, 64 to 32 channels of 7x7,
        // 2026-11-23).
        f.interleaved.compute_at(f.output, x_tile)
            .align_bounds(v.x, tile_width * sx).bound_extent(v.x, tile_width * sx)
            .align_bounds(v.y, tile_rows * sy).bound_extent(v.y, tile_rows * sy).bound_extent(v.channel, channels)
            .split(v.x, v.cell_x, v.phase_x, sx).split(v.y, v.cell_y, v.phase_y, sy)
            .reorder(v.phase_x, v.cell_x, v.phase_y, v.cell_y, v.channel);
        f.sum.compute_at(f.output, x_tile)
            .bound_extent(v.cell_x, tile_width).bound_extent(v.cell_y, tile_rows)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy).bound_extent(v.channel, channels)
            .reorder(v.phase_x, v.phase_y, v.cell_x, v.cell_y, v.channel);
        Stage update = f.sum.update();
        if (joint_phases)
            update.reorder(v.phase_x, v.phase_y, v.cell_x, v.cell_y, v.channel, f.taps.x, f.taps.y, f.taps.z);
        else
            update.reorder(v.cell_x, v.cell_y, v.channel, f.taps.x, f.taps.y, f.taps.z, v.phase_x, v.phase_y);
        if (unroll_taps) update.unroll(f.taps.x).unroll(f.taps.y);
        for (Stage stage : {Stage(f.interleaved), Stage(f.sum), update})
            stage.vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.cell_y).unroll(v.phase_x).unroll(v.phase_y)
                .unroll(v.channel);
    }
};

}  // namespace conv_transpose

#endif
