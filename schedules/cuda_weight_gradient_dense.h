// Schedule: the weight gradient on a GPU's CUDA cores, for problems with many channels.
//
// NVIDIA H200, 2026-11-21, FP32: KernelBench 57 in 17.1 ms (36 TFLOP/s, 54 % of the cores' limit), 65 in 8.9 ms (40).
//
// Order: an implicit matrix product of input channels with output channels and taps, summed over positions. A block
// computes a tile of channels for the taps of one kernel row (or of all) and goes through the positions in chunks; of
// each it stages, in shared memory, the input and the live phases of the output gradient, both turned so that channels
// are innermost: then a thread reads its channels of a position by 128-bit loads, and what one tap sees at a position,
// the next tap sees at another, from a register.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_DENSE_H

#include "schedules/search_space.h"
#include "schedules/weight_gradient_funcs.h"

namespace conv_transpose {

struct CudaWeightGradientDense {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> lanes_in{"lanes_in", 16}, lanes_out{"lanes_out", 16};
    GeneratorParam<int> thread_in{"thread_in", 4}, thread_out{"thread_out", 4};
    GeneratorParam<bool> all_taps_y{"all_taps_y", false};
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    /// Positions that are unrolled.
    GeneratorParam<int> run{"run", 4};
    /// Neighbours of a channel that a warp moves while staging.
    GeneratorParam<int> staging_columns{"staging_columns", 8};
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 1056};

    /// Buffers in shared memory: with two, a chunk is staged while the one before it is multiplied.
    GeneratorParam<int> stages{"stages", 1};

    int block_in() const { return int(lanes_in) * int(thread_in); }
    int block_out() const { return int(lanes_out) * int(thread_out); }

    void describe(KernelDescription &description, const WeightGradientFuncs &f) const {
        description.set("tile_taps", f.x_axis.taps() * (all_taps_y ? f.y_axis.taps() : 1));
        description.set("tile_in_channels", block_in());
        description.set("tile_out_channels", block_out());
        description.set("wanted_blocks", wanted_blocks);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int lanes_in = space.choose(this->lanes_in, {8, 16, 32}), lanes_out = space.choose(this->lanes_out, {4, 8, 16});
        const int thread_in = space.choose(this->thread_in, {2, 4, 8}), thread_out = space.choose(this->thread_out, {2, 4, 8});
        const bool all_taps_y = space.choose(this->all_taps_y, {0, 1});
        const int columns = space.choose(this->chunk_columns, {16, 32, 64}), rows = space.choose(this->chunk_rows, {1, 2});
        const int run = space.choose(this->run, {2, 4, 8}), staging_columns = space.choose(this->staging_columns, {4, 8, 16});
        const int stages = space.choose(this->stages, {1, 2});
        const int threads = lanes_in * lanes_out;
        const int sums = thread_in * thread_out * f.x_axis.taps() * (all_taps_y ? f.y_axis.taps() : 1);
        const int staged_input = (block_in() + 4) * columns * rows;
        const int staged_phases = (block_out() + 4) * staged_cells(f);
        space.require("threads fill warps and fit a block", threads % GpuLimits::warp == 0 && threads <= 512);
        space.require("threads can be spread over the staged neighbours", threads % std::max(staging_columns, 32) == 0);
        space.require("a thread's sums fit its registers", sums >= 16 && sums <= GpuLimits::sums);
        space.require("the staged chunk fits shared memory", 4 * stages * (staged_input + staged_phases) <= GpuLimits::shared_bytes);
        space.require("less than half of a block's channels are idle",
                      block_in() < 2 * std::max(f.in_channels, 4) && block_out() < 2 * std::max(f.out_channels, 4));
        space.require("the unrolled loop stays short", sums * run <= GpuLimits::unrolled);
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const int taps_x = f.x_axis.taps(), taps_y = all_taps_y ? f.y_axis.taps() : 1;
        const auto guard = TailStrategy::GuardWithIf;
        Var tile_in{"tile_in"}, tile_out{"tile_out"}, lane_in{"lane_in"}, lane_out{"lane_out"}, vec{"vec"}, block{"block"};
        Var element{"element"}, block_ky{"block_ky"};
        const auto out_vector = [&](auto &s) { s.split(f.out_channel, f.out_channel, vec, std::min(4, int(thread_out))).vectorize(vec); };

        f.partial.split(f.out_channel, tile_out, f.out_channel, block_out(), guard)
            .split(f.in_channel, tile_in, f.in_channel, block_in(), guard)
            .split(f.ky, block_ky, f.ky, taps_y)
            .split(f.out_channel, lane_out, f.out_channel, thread_out, guard)
            .split(f.in_channel, lane_in, f.in_channel, thread_in, guard)
            .reorder({f.kx, f.ky, f.out_channel, f.in_channel, lane_in, lane_out, block_ky, tile_out, tile_in, f.group, f.band, f.images})
            .fuse(block_ky, tile_out, block).fuse(block, tile_in, block).fuse(f.group, f.band, f.group)
            .unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(f.in_channel)
            .gpu_blocks(block, f.group, f.images).gpu_threads(lane_in, lane_out)
            .never_partition_all();

        f.sum.compute_at(f.partial, block).store_in(MemoryType::Register)
            .reorder_storage(f.out_channel, f.in_channel, f.kx, f.ky)
            .bound_extent(f.kx, taps_x).bound_extent(f.ky, taps_y)
            .bound_extent(f.out_channel, block_out()).bound_extent(f.in_channel, block_in())
            .bound_extent(f.group, 1).bound_extent(f.band, 1).bound_extent(f.images, 1);
        Stage init = f.sum, update = f.sum.update();
        for (Stage *stage : {&init, &update}) {
            stage->split(f.out_channel, lane_out, f.out_channel, thread_out).split(f.in_channel, lane_in, f.in_channel, thread_in);
            out_vector(*stage);
            stage->unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(f.in_channel)
                .gpu_threads(lane_in, lane_out).never_partition_all();
        }
        init.reorder(vec, f.out_channel, f.in_channel, f.kx, f.ky, lane_in, lane_out);
        RVar x{"x"}, unrolled{"unrolled"}, pipeline{"pipeline"};
        const RVar chunk = stages > 1 ? pipeline : f.positions[2];
        if (stages > 1) update.rename(f.positions[2], chunk);
        update.split(f.positions[0], x, unrolled, run)
            .reorder({vec, f.out_channel, f.in_channel, f.kx, f.ky, unrolled, x, f.positions[1], lane_in, lane_out,
                      chunk, f.positions[3], f.positions[4]})
            .unroll(unrolled);

        Func staged_input = f.padded_input.in(f.sum), thread_input = staged_input.in(f.sum);
        staged_input.compute_at(f.sum, chunk).store_in(MemoryType::GPUShared)
            .reorder_storage(f.in_channel, f.x, f.y)
            .bound_extent(f.x, chunk_columns).bound_extent(f.y, chunk_rows).bound_extent(f.in_channel, block_in())
            .bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .align_storage(f.in_channel, block_in() + 4)
            .fuse(f.x, f.y, element);
        stage(staged_input, f.in_channel, element, {f.group, f.batch});
        thread_input.compute_at(f.sum, unrolled).store_in(MemoryType::Register).bound_extent(f.in_channel, thread_in);
        for (const Var &d : {f.x, f.y, f.group, f.batch}) thread_input.bound_extent(d, 1);
        thread_input.vectorize(f.in_channel, std::min(4, int(thread_in))).unroll(f.in_channel);

        f.phases.compute_at(f.sum, chunk).store_in(MemoryType::GPUShared)
            .reorder_storage(f.out_channel, f.cell_x, f.phase_x, f.cell_y, f.phase_y)
            .bound_extent(f.cell_x, f.x_axis.reach(chunk_columns)).bound_extent(f.cell_y, cells_y(f))
            .bound_extent(f.phase_x, f.x_axis.live_phases()).bound_extent(f.phase_y, phases_y(f)).bound_extent(f.out_channel, block_out())
            .bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .align_storage(f.out_channel, block_out() + 4)
            .fuse(f.phase_x, f.cell_x, element).fuse(element, f.phase_y, element).fuse(element, f.cell_y, element);
        stage(f.phases, f.out_channel, element, {f.group, f.batch});
    }

  private:
    int cells_y(const GradientFacts &f) const { return all_taps_y ? f.y_axis.reach(chunk_rows) : int(chunk_rows); }
    // One kernel row sees one live phase, but where phases take turns Halide cannot tell which.
    int phases_y(const GradientFacts &f) const {
        return all_taps_y || f.y_axis.live_phases() < f.y_axis.taps() ? f.y_axis.live_phases() : 1;
    }
    int staged_cells(const GradientFacts &f) const {
        return f.x_axis.reach(chunk_columns) * f.x_axis.live_phases() * cells_y(f) * phases_y(f);
    }

    // Turns a tile. A warp moves `staging_columns` neighbours of some channels: it reads whole sectors, and with 8 of 4
    // channels, each position's channels being padded by 4, its stores hit every bank once. All loops are unrolled, so that
    // a thread has all its loads under way at once; that made KernelBench 57 a quarter faster.
    void stage(Halide::Func f, const Halide::Var &channel, const Halide::Var &element, const std::vector<Halide::Var> &outer) const {
        using namespace Halide;
        const auto guard = TailStrategy::GuardWithIf;
        const int channels = std::max(32 / int(staging_columns), 1);
        const int warps = std::max(int(lanes_in) * int(lanes_out) / (int(staging_columns) * channels), 1);
        Var neighbour{"neighbour"}, lane{"lane"}, warp{"warp"}, round{"round"}, lane_in{"lane_in"}, lane_out{"lane_out"};
        std::vector<VarOrRVar> order{element, round, lane_in, lane_out};
        order.insert(order.end(), outer.begin(), outer.end());
        f.split(element, element, neighbour, staging_columns, guard)
            .split(channel, round, lane, channels, guard)
            .split(round, round, warp, warps, guard)
            .fuse(neighbour, lane, lane)
            .fuse(lane, warp, lane)
            .split(lane, lane_out, lane_in, lanes_in)
            .reorder(order)
            .unroll(element).unroll(round)
            .gpu_threads(lane_in, lane_out)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
