// Schedule: the weight gradient on the CPU, for problems with enough input channels for vectors of them;
// every attribute a run-time value. The autotuner alone makes kernels of it: without tuning flat products
// (cpu_weight_gradient_implicit_gemm.h) take less time.
//
// AMD EPYC (Zen 5, AVX-512) that other programs kept busy, 2026-11-21, one thread, processor time, percent of the FMA units' rate:
// k3 s1 64 to 64 channels, 128x128, 82 %, k2 s2 128 to 64, 64x64, 65 %, k4 s2 512 to 256, 16x16, 64 %. What is missing goes to the
// copies of both operands; in small pictures also to the sums, which are turned when they are complete.
//
// Order: a matrix product whose long side is the positions of a band of rows.
// - A register tile: vectors of input channels x output channels x kernel columns, 16 to 24 sums with AVX-512
//   and 10 to 12 with AVX2. A vector's lanes are input channels, so that a sum is a lane and nothing is added
//   up at the end. Every input vector serves all output channels and taps of the tile. What it meets is one
//   value of the output gradient, broadcast: any stride and dilation is only another address. The sums stay
//   in registers over a chunk of rows.
// - Then kernel columns, kernel rows, output channels: they share the chunk's input, which lies turned, with
//   channels innermost, in the first or second cache (16 loads and stores of whole vectors turn 16x16 values,
//   since both loops are unrolled).
// - Then blocks of input channels: they share the chunk's output gradient, which is copied with its zero border.
// - Then chunks, of so many rows that the copy stays in the second cache; a chunk's sums are added to those
//   of the task.
//
// What was tried: docs/experiments.md#gradients-on-cpus-by-vectors-of-channels
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CHANNELS_H

#include <limits>

#include "algorithm/weight_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CpuWeightGradientChannels : CpuSchedule {
    static constexpr const char *family = "channels";
    GeneratorParam<int> lanes{"lanes", 16};  // of the target's vectors
    /// The register tile: vectors of input channels, output channels, taps of a kernel row.
    GeneratorParam<int> vectors{"vectors", 2}, channels{"channels", 8}, taps{"taps", 1};
    /// Register tiles of a task along input channels and along output channels.
    GeneratorParam<int> in_blocks{"in_blocks", 2}, out_blocks{"out_blocks", 8};
    /// Positions of the output gradient that a chunk has.
    GeneratorParam<int> chunk_positions{"chunk_positions", 1024};
    /// Channels that a group must and may have; 0 is no limit.
    GeneratorParam<int> min_in_channels{"min_in_channels", 16};
    /// With two or three output channels flat products (cpu_weight_gradient_implicit_gemm.h) take 0.83 to 1.4 of
    /// the time of a row that was made for them; with pictures of 4x4 pixels, k2 s2, they take 0.6.
    GeneratorParam<int> min_out_channels{"min_out_channels", 4}, max_out_channels{"max_out_channels", 0};
    GeneratorParam<int> min_input_positions{"min_input_positions", 17};

    int tile_in() const { return int(vectors) * int(lanes); }
    int task_in() const { return tile_in() * int(in_blocks); }
    int task_out() const { return int(channels) * int(out_blocks); }

    void describe(KernelDescription &description, const WeightGradientFuncs &) const {
        description.set("tile_in_channels", task_in());
        description.set("tile_out_channels", task_out());
        description.set("tile_taps", std::numeric_limits<int>::max());  // all
        description.set("wanted_blocks", 64);
        description.set("positions_worth_a_part", chunk_positions);
        description.set("min_in_channels", min_in_channels);
        description.set("min_input_positions", min_input_positions);
        description.set("min_out_channels", min_out_channels);
        description.set("max_out_channels", max_out_channels);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int lanes = space.choose(this->lanes, {8, 16}), vectors = space.choose(this->vectors, {1, 2, 4});
        const int channels = space.choose(this->channels, {1, 2, 3, 4, 6, 8, 12, 16});
        const int taps = space.choose(this->taps, {1, 2, 3, 4, 5, 7, 9});
        const int in_blocks = space.choose(this->in_blocks, {1, 2, 4}),
                  out_blocks = space.choose(this->out_blocks, {1, 2, 4, 8});
        space.choose(chunk_positions, {256, 512, 1024, 2048});
        space.choose(min_in_channels, {1}), space.choose(min_out_channels, {1}), space.choose(min_input_positions, {2});
        const int sums = vectors * channels * taps;
        space.require("vectors are the target's", lanes * 2 <= f.vector_registers);
        space.require("sums leave registers for operands", sums >= 6 && sums <= f.vector_registers - 4);
        space.require("less than half of a tile is idle", tile_in() < 2 * std::max(f.in_channels, lanes) &&
                                                              channels < 2 * f.out_channels &&
                                                              taps < 2 * f.x_axis.taps());
        space.require("less than half of a task is idle", (in_blocks == 1 || task_in() < 2 * f.in_channels) &&
                                                              (out_blocks == 1 || task_out() < 2 * f.out_channels));
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const auto guard = TailStrategy::GuardWithIf;
        Var in_task{"in_task"}, out_task{"out_task"}, work{"work"};
        Var in_block{"in_block"}, out_block{"out_block"}, kx_tile{"kx_tile"};
        const RDom &r = f.positions;

        f.partial.split(f.out_channel, out_task, f.out_channel, task_out(), guard)
            .split(f.in_channel, in_task, f.in_channel, task_in(), guard)
            .reorder({f.kx, f.ky, f.out_channel, f.in_channel, out_task, in_task, f.group, f.band, f.images})
            .fuse(out_task, in_task, work).fuse(work, f.group, work).fuse(work, f.band, work).fuse(work, f.images, work)
            .parallel(work);

        f.sum.compute_at(f.partial, work).reorder_storage(f.in_channel, f.kx, f.ky, f.out_channel)
            .align_bounds(f.in_channel, tile_in()).align_bounds(f.out_channel, channels).align_bounds(f.kx, taps)
            .vectorize(f.in_channel, lanes);
        RVar chunk_x{"chunk_x"}, chunk_y{"chunk_y"}, column{"column"}, row{"row"};
        const Expr width = r[0].extent();
        const Expr positions = max(chunk_positions / (f.x_axis.stride * f.y_axis.stride), 64);
        Stage update = f.sum.update();
        update.split(f.in_channel, in_block, f.in_channel, tile_in())
            .split(f.out_channel, out_block, f.out_channel, channels).split(f.kx, kx_tile, f.kx, taps)
            .split(r[0], chunk_x, column, min(width, positions), guard)
            .split(r[3], chunk_y, row, max(positions / max(width, 1), 1), guard)
            .reorder({f.in_channel, f.kx, f.out_channel, column, row, kx_tile, f.ky, out_block, in_block, r[1], r[2], chunk_x,
                      chunk_y, r[4]});
        Func chunk_sum = update.rfactor(
            {{r[1], Var("one")}, {r[2], Var("other")}, {chunk_x, Var("part_x")}, {chunk_y, Var("part_y")}, {r[4], Var("image")}});
        update.never_partition({r[1], r[2], chunk_x, chunk_y, r[4]});
        chunk_sum.compute_at(f.sum, kx_tile).reorder_storage(f.in_channel, f.kx, f.out_channel)
            .bound_extent(f.in_channel, tile_in()).bound_extent(f.out_channel, channels).bound_extent(f.kx, taps);
        Stage products = chunk_sum.update();
        products.reorder({f.in_channel, f.kx, f.out_channel, column, row});
        for (Stage stage : {update, Stage(chunk_sum), products})
            stage.vectorize(f.in_channel, lanes).unroll(f.in_channel).unroll(f.out_channel).unroll(f.kx);

        // Unrolled over channels within vectors along the row: Halide makes shuffles of it.
        Func turned = f.padded_input.in(chunk_sum);
        turned.compute_at(f.sum, in_block).reorder_storage(f.in_channel, f.x, f.y)
            .bound_extent(f.in_channel, tile_in()).reorder(f.in_channel, f.x, f.y).unroll(f.in_channel);
        f.padded_output_gradient.compute_at(f.sum, chunk_x);
        for (Func staged : {turned, f.padded_output_gradient})
            staged.hoist_storage(f.partial, work).bound_extent(f.group, 1).bound_extent(f.batch, 1)
                .vectorize(f.x, lanes, TailStrategy::RoundUp);
    }
};

}  // namespace conv_transpose

#endif
