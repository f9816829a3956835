// Schedule: strided problems with few channels on a GPU's CUDA cores. Bound by the stores of a large output.
//
// H200, 2026-11-21: KernelBench 75 (stride 2x3, 8 to 16 channels a group) 0.304 ms, 66 % of the memory limit
// (4.3 TB/s); 81 (stride 5x5, 32 to 64 channels) 0.290 ms, 68 %. Not bound by one thing alone: issue slots
// are busy half of the time, shared memory and L2 two to three quarters, and too few warps fit to fill the
// rest. What brought it there, on 75: no instruction for an activation that is not asked for and one test of
// the output's address for all stores 7 %, four cells a thread in place of two 1 %; on 81: input rows that
// come by asynchronous copies, the bias from shared memory and inputs loaded as vectors 12 %, the activation
// and the stores 4 %. Rows whose address is a multiple of 128 bytes would be 2 % faster on 75 and 7 % on 81.
// Slower: fewer registers (they spill), several stagings of fewer rows on 75. The gather, which would take 75, takes 3.6
// times as long, and products of any attributes 4.2 times on 81 (H200, 2026-11-23 and 22). float16, 2026-11-30: 0.250 and 0.229 ms,
// 41 and 43 % of the memory limit, with as many instructions for half of the bytes.
//
// A thread computes consecutive outputs of a row, whole cells, in registers: their phases are constants, so
// only live taps are computed, and an input element that is loaded serves all phases that it reaches. Such a
// thread could only store with gaps between lanes; so a row of the block's tile goes through shared memory,
// and from there lanes store consecutive pairs, whatever the stride. Rows are a serial loop: their phase is a
// run-time value, the same for the whole block, and a row without live taps skips the sums and stores the
// bias in the same pass. All input channels of the block's rows are staged once, and the weights of a block
// of channels once for several groups of rows.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_PHASES_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_PHASES_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaPhases : CudaSchedule {
    static constexpr const char *family = "phases";

    /// What a thread computes: cells along the row, channels.
    GeneratorParam<int> thread_cells{"thread_cells", 2}, thread_channels{"thread_channels", 4};
    /// What a block computes: threads along the row, cells along the column of one staging, stagings,
    /// channels.
    GeneratorParam<int> threads_x{"threads_x", 32}, cells_y{"cells_y", 1}, stagings{"stagings", 1};
    GeneratorParam<int> block_channels{"block_channels", 16};
    /// Threads that lie side by side along the row in a warp; the others of the warp take other channels.
    GeneratorParam<int> lanes_x{"lanes_x", 16};
    GeneratorParam<int> store_vector{"store_vector", 2};
    /// The output's width is a multiple of this; a multiple of store_vector spares every store its tests.
    GeneratorParam<int> width_multiple{"width_multiple", 1};
    GeneratorParam<int> unroll_in_channels{"unroll_in_channels", 4};
    GeneratorParam<bool> rows_outermost{"rows_outermost", false};

    static constexpr bool async_copies = true, specializes_no_activation = true;
    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return block_channels; }
    int output_width_multiple() const { return width_multiple; }
    /// Rows and columns.
    std::pair<int, int> block_cells() const { return {cells_y * stagings.value(), thread_cells * threads_x.value()}; }
    void describe(KernelDescription &description) const {
        description.set("block_channels", block_channels);
        if (width_multiple > 1) description.set("output_width_multiple", width_multiple);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        space.require("numbers of channels are known", problem.in_channels > 0 && problem.out_channels > 0);
        const int thread_cells = space.choose(this->thread_cells, {1, 2, 3, 4});
        const int threads_x = space.choose(this->threads_x, {8, 16, 32, 64});
        const int cells_y = space.choose(this->cells_y, {1, 2, 3, 4});
        const int stagings = space.choose(this->stagings, {1, 2, 4});
        const int width = thread_cells * problem.stride_x * threads_x;
        space.require("tiles fit the picture", problem.tiles_fit(width, cells_y * stagings * problem.stride_y));
        const int thread_channels = space.choose(this->thread_channels, {1, 2, 4, 8});
        space.require("a thread's sums fit its registers", thread_cells * problem.stride_x * thread_channels <= 64);
        const int block_channels = space.choose(this->block_channels, {1, 2, 4, 8, 16, 32, 64});
        space.require("a block's channels divide the output's",
                      problem.out_channels % block_channels == 0 && block_channels % thread_channels == 0);
        space.require("weights are copied in vectors of four", block_channels % 4 == 0);
        const int threads = threads_x * std::max(block_channels / thread_channels, 1),
                  warps = threads / GpuLimits::warp;
        space.require("threads fill warps and fit a block", threads % GpuLimits::warp == 0 && threads <= 512);
        space.require("warps divide a block's channels", warps > 0 && block_channels % warps == 0);
        const int input = problem.x_axis.reach(thread_cells * threads_x) * problem.y_axis.reach(cells_y) *
                          problem.in_channels;
        const int weights = block_channels * problem.taps() * problem.in_channels;
        space.require("input, weights and tile fit shared memory",
                      4 * (input + weights + width * block_channels) <= GpuLimits::shared_bytes);
        const int lanes_x = space.choose(this->lanes_x, {4, 8, 16, 32});
        space.require("lanes divide the threads of a row", threads_x % lanes_x == 0);
        const int unroll_in_channels = space.choose(this->unroll_in_channels, {1, 2, 4, 8});
        space.require("unrolled input channels divide all", problem.in_channels % unroll_in_channels == 0);
        const int store_vector = space.choose(this->store_vector, {1, 2, 4});
        const int width_multiple = space.choose(this->width_multiple, {1, 2, 4});
        space.require("rows are whole vectors, where the width is a multiple",
                      width_multiple == 1 ||
                          (width_multiple == store_vector && problem.output_width % width_multiple == 0));
        space.choose(rows_outermost, {0, 1});
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        store_tile(f);
        compute_in_threads(f);
        stage_bias(f);
        stage_input(f);
        stage_weights(f);
    }

  private:
    static constexpr int warp = GpuLimits::warp;
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    /// Loops of a block: its stagings are serial, and the threads of all stages are lanes of warps.
    Halide::Var column{"column"}, row_block{"row_block"}, image{"image"}, staging{"staging"};
    Halide::Var lane{"lane"}, warp_id{"warp"}, element{"element"}, round{"round"}, vec{"vec"};

    int thread_width(const ForwardFuncs &f) const { return thread_cells * f.stride_x(); }
    int width(const ForwardFuncs &f) const { return thread_width(f) * threads_x; }
    int threads() const { return threads_x * (block_channels.value() / thread_channels.value()); }
    int warps() const { return threads() / warp; }
    static Halide::Func tile(ForwardFuncs &f) { return f.activated.in(f.output); }

    // A row of the block's tile goes through shared memory and is stored with lanes along the row.
    void store_tile(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int block_channels = this->block_channels, store_vector = this->store_vector;
        const int width = this->width(f), rows = cells_y * f.stride_y();
        Var channel_block{"channel_block"}, tile_x{"tile_x"}, tile_channel{"tile_channel"}, x_block{"x_block"};
        Var thread{"thread"};

        Func tile = this->tile(f);
        if (width_multiple % store_vector == 0)
            f.output.split(v.x, v.x, vec, store_vector, TailStrategy::RoundUp)
                .split(v.x, column, v.x, width / store_vector, guard);
        else
            f.output.split(v.x, column, v.x, width, guard).split(v.x, v.x, vec, store_vector, guard);
        f.output.bound_extent(v.channel, f.out_channels)
            .split(v.x, v.x, lane, warp, guard)
            .split(v.y, row_block, v.y, rows, guard)
            .split(row_block, row_block, staging, stagings, guard)
            .split(v.channel, channel_block, v.channel, block_channels)
            .split(v.channel, v.channel, warp_id, warps())
            .reorder({vec, v.channel, v.x, lane, warp_id, v.y, staging, column, row_block, channel_block, v.group,
                      v.batch})
            .fuse(column, channel_block, column)
            .fuse(v.group, v.batch, image)
            .vectorize(vec)
            .unroll(v.x)
            .unroll(v.channel)
            .gpu_blocks(column, row_block, image)
            .gpu_threads(lane, warp_id)
            .never_partition_all();
        tile.compute_at(f.output, v.y).store_in(MemoryType::GPUShared);
        tile.bound_extent(v.x, width).bound_extent(v.y, 1).bound_extent(v.channel, block_channels);
        tile.bound_extent(v.group, 1).bound_extent(v.batch, 1);
        tile.split(v.x, tile_x, v.x, thread_width(f))
            .split(tile_x, x_block, tile_x, lanes_x)
            .split(v.channel, tile_channel, v.channel, thread_channels)
            .reorder(v.channel, v.x, tile_x, tile_channel, x_block, v.y, v.group, v.batch)
            .fuse(tile_x, tile_channel, thread)
            .fuse(thread, x_block, thread)
            .split(thread, warp_id, lane, warp)
            .gpu_threads(lane, warp_id)
            .unroll(v.channel)
            .unroll(v.x)
            .never_partition_all();
    }

    // A thread's sums, its outputs and a tap's weights of all its columns stay in registers.
    void compute_in_threads(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int thread_width = this->thread_width(f), thread_channels = this->thread_channels;
        Func tile = this->tile(f);
        for (Func in_thread : {f.activated, f.sum}) {
            in_thread.compute_at(tile, lane).store_in(MemoryType::Register);
            in_thread.bound_extent(v.x, thread_width).bound_extent(v.y, 1).bound_extent(v.channel, thread_channels);
            in_thread.bound_extent(v.group, 1).bound_extent(v.batch, 1);
            in_thread.unroll(v.channel).unroll(v.x);
        }
        f.activated.specialize(f.no_activation);
        f.activated.specialize(f.no_smooth_activation);

        RVar in_channel{"in_channel_unrolled"};
        Stage update = f.sum.update();
        if (rows_outermost)
            update.reorder(v.channel, v.x, f.taps.x, f.taps.z, f.taps.y);
        else
            update.reorder(v.channel, v.x, f.taps.x, f.taps.y, f.taps.z);
        update.unroll(v.channel).unroll(v.x).unroll(f.taps.x).unroll(f.taps.y)
            .split(f.taps.z, f.taps.z, in_channel, unroll_in_channels)
            .unroll(in_channel)
            .never_partition_all();

        const int weight_vector = thread_channels % 4 == 0 ? 4 : thread_channels % 2 == 0 ? 2 : 1;
        Func weight = f.phase_weight;
        const std::vector<Var> args = weight.args();
        weight.compute_at(f.sum, f.taps.x).store_in(MemoryType::Register);
        weight.bound_extent(args[0], thread_width).bound_extent(args[4], thread_channels);
        for (int d : {1, 2, 3, 5, 6}) weight.bound_extent(args[d], 1);
        weight.reorder(args[4], args[0]).split(args[4], args[4], vec, weight_vector)
            .vectorize(vec).unroll(args[4]).unroll(args[0]);
    }

    // A row's sums would wait for the bias in global memory.
    void stage_bias(ForwardFuncs &f) const {
        const GatherVars &v = f.v;
        f.initial.compute_at(f.output, column).store_in(Halide::MemoryType::GPUShared);
        f.initial.bound_extent(v.channel, block_channels).bound_extent(v.group, 1);
        f.initial.split(v.channel, round, lane, warp, guard).reorder(round, lane)
            .gpu_threads(lane).never_partition_all();
    }

    // All channels of the rows that one staging reaches. Two-dimensional threads over (row, x).
    void stage_input(ForwardFuncs &f) const {
        using namespace Halide;
        Func in = f.padded_input.in(f.sum);
        const std::vector<Var> args = in.args();
        const Var x = args[0], y = args[1], channel = args[2], group = args[3], batch = args[4];
        in.compute_at(f.output, staging).store_in(MemoryType::GPUShared);
        // Rows of whole vectors, so that a thread loads its cells as vectors.
        const int staged_width = (f.x_axis.reach(thread_cells * threads_x.value()) + 3) / 4 * 4;
        in.bound_extent(x, staged_width).bound_extent(y, f.y_axis.reach(cells_y));
        in.bound_extent(channel, f.in_channels).bound_extent(group, 1).bound_extent(batch, 1);
        in.split(x, column, lane, warp, guard)
            .fuse(column, y, element)
            .split(element, round, warp_id, warps(), guard)
            .reorder(channel, round, lane, warp_id, group, batch)
            .gpu_threads(lane, warp_id)
            .unroll(channel, std::min(8, f.in_channels))
            .never_partition_all();
    }

    // 128-bit copies.
    void stage_weights(ForwardFuncs &f) const {
        using namespace Halide;
        Func weights = f.weight.in(f.tap_weight);
        const std::vector<Var> args = weights.args();
        weights.compute_at(f.output, column).store_in(MemoryType::GPUShared);
        weights.bound_extent(args[0], block_channels).bound_extent(args[4], 1);
        weights.split(args[0], args[0], vec, 4)
            .vectorize(vec)
            .fuse(args[0], args[1], element)
            .fuse(element, args[2], element)
            .fuse(element, args[3], element)
            .split(element, round, element, threads(), guard)
            .split(element, warp_id, lane, warp)
            .reorder(vec, round, lane, warp_id, args[4])
            .gpu_threads(lane, warp_id)
            .unroll(round)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
