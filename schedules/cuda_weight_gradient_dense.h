// Schedule: the weight gradient on a GPU's CUDA cores, for problems with many channels.
//
// NVIDIA H200, 2026-11-21, FP32, TFLOP/s of 67: KernelBench 57 47.6, 65 50.8, 69 48.9, 71 42, 78 49; 2x2
// stride 2 40, 3x3 stride 2 34, 4x4 stride 2 41. ncu on 4x4: 80 % of all cycles issue, 87 % of what is issued
// multiplies; the rest is staging, whose copies hold the registers of their addresses until they are on their
// way (7 % of the cycles). The next best kernels take longer: 57 1.35 times, 65 1.28, 69 1.19, 71 1.35, 78 1.55, 2x2 stride 2
// 1.0 to 1.17, 4x4 stride 2 of 64 to 3 channels 1.83, 9x9 stride 3 of 56 to 1 1.76 (H200, 2026-11-23).
//
// Order: an implicit matrix product of input channels with output channels and taps, summed over positions. A
// block computes a tile of channels for the taps of one kernel row (or of all) and goes through the positions
// in chunks, the rows of a band in one pipeline: a chunk is on its way, by asynchronous copies, while the one
// before is multiplied. For each it stages, in shared memory, the input and the live phases of the rows that
// it sees of the output gradient, both turned so that channels are innermost: then a thread reads its
// channels of a position by 128-bit loads, and what one tap sees at a position, the next tap sees at another,
// from a register.
//
// Sums are scalars: as vectors LLVM and ptxas moved them to other registers in each turn of the loop, a
// quarter of all instructions there. Rows staged with positions innermost, so that copies are dense, were not
// faster, but for the last layer of DCGAN by 2 %.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_DENSE_H

#include "algorithm/weight_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaWeightGradientDense : CudaSchedule {
    static constexpr const char *family = "dense";
    GeneratorParam<int> lanes_in{"lanes_in", 16}, lanes_out{"lanes_out", 16};
    GeneratorParam<int> thread_in{"thread_in", 4}, thread_out{"thread_out", 4};
    /// Whether a block has all rows of the kernel, not one: each thread, or each row its own threads.
    GeneratorParam<bool> all_taps_y{"all_taps_y", false}, lanes_taps_y{"lanes_taps_y", false};
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    /// Positions that are unrolled.
    GeneratorParam<int> run{"run", 4};
    /// Neighbours of a channel that a warp moves while staging.
    GeneratorParam<int> staging_columns{"staging_columns", 8};
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 1056};

    /// Buffers in shared memory: with two, a chunk is staged while the one before it is multiplied.
    GeneratorParam<int> stages{"stages", 1};
    /// With several buffers: see SoftwarePipelineOptions. Without, what is staged waits in registers for its buffer.
    GeneratorParam<bool> single_floats{"single_floats", false};

    int lanes() const { return int(lanes_in) * int(lanes_out); }
    int block_in() const { return int(lanes_in) * int(thread_in); }
    int block_out() const { return int(lanes_out) * int(thread_out); }

    void describe(KernelDescription &description, const WeightGradientFuncs &f) const {
        description.set("tile_taps", f.x_axis.taps() * taps_y(f));
        description.set("tile_in_channels", block_in());
        description.set("tile_out_channels", block_out());
        description.set("wanted_blocks", wanted_blocks);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const bool few = f.out_channels > 0 && f.out_channels < 4;
        space.choose(this->lanes_in, {8, 14, 16, 32});
        space.choose(this->lanes_out, few ? std::vector<int>{1} : std::vector<int>{4, 8, 16});
        const int thread_in = space.choose(this->thread_in, {2, 4, 8});
        const int thread_out =
            space.choose(this->thread_out, few ? std::vector<int>{f.out_channels} : std::vector<int>{2, 4, 8});
        const bool all_taps_y = space.choose(this->all_taps_y, {0, 1});
        const bool lanes_taps_y = space.choose(this->lanes_taps_y, {0, 1});
        const int columns = space.choose(this->chunk_columns, {16, 32, 64});
        const int rows = space.choose(this->chunk_rows, {1, 2});
        const int run = space.choose(this->run, {2, 4, 8});
        space.choose(this->staging_columns, {4, 8, 16});
        space.choose(this->wanted_blocks, {264, 528, 1056});
        const int stages = space.choose(this->stages, {1, 2});
        const bool single_floats = space.choose(this->single_floats, {0, 1});
        const int threads = this->threads(f);
        const int of_warps = (threads + GpuLimits::warp - 1) / GpuLimits::warp * GpuLimits::warp;
        const int sums = thread_in * thread_out * f.x_axis.taps() * thread_taps_y(f);
        const int staged_input = (block_in() + 4) * columns * rows;
        const int staged_phases =
            (block_out() + 4) * f.x_axis.reach(columns) * f.x_axis.live_phases() * rows * taps_y(f);
        space.require("threads fit a block and nearly fill its warps", threads <= 512 && of_warps * 7 <= threads * 8);
        space.require("rows of the kernel are a thread's or have threads", !all_taps_y || !lanes_taps_y);
        space.require("only several buffers are filled asynchronously", stages > 1 || !single_floats);
        space.require("a thread's sums fit its registers", sums >= 16 && sums <= GpuLimits::sums);
        space.require("the staged chunk fits shared memory",
                      4 * stages * (staged_input + staged_phases) <= GpuLimits::shared_bytes);
        space.require("less than half of a block's channels are idle",
                      block_in() < 2 * std::max(f.in_channels, 4) && block_out() < 2 * std::max(f.out_channels, 4));
        space.require("the unrolled loop stays short", sums * run <= GpuLimits::unrolled);
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        store_tile(f);
        keep_sums(f);
        stage_input(f);
        stage_output_gradient(f);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var block{"block"}, lane_in{"lane_in"}, lane_out{"lane_out"}, lane_ky{"lane_ky"};
    /// A thread has vectors of neighbouring channels, a block's lanes apart, so that lanes read neighbouring vectors.
    Halide::Var vectors_in{"vectors_in"}, vectors_out{"vectors_out"}, element{"element"};
    Halide::RVar unrolled{"unrolled"};

    int vector_in() const { return std::min(4, int(thread_in)); }
    int vector_out() const { return std::min(4, int(thread_out)); }
    /// Rows of the kernel of a block, and of a thread.
    int taps_y(const GradientFacts &f) const { return all_taps_y || lanes_taps_y ? f.y_axis.taps() : 1; }
    int thread_taps_y(const GradientFacts &f) const { return all_taps_y ? f.y_axis.taps() : 1; }
    int threads(const GradientFacts &f) const { return lanes() * (taps_y(f) / thread_taps_y(f)); }
    /// The loop over chunks, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar chunk() const { return Halide::RVar(stages > 1 ? "pipeline" : "chunk"); }

    // Splits a block's channels among threads.
    template <class Stage>
    void share_out_channels(Stage &stage, const WeightGradientFuncs &f, Halide::TailStrategy tail) const {
        stage.split(f.out_channel, vectors_out, f.out_channel, lanes_out * vector_out(), tail)
            .split(f.out_channel, lane_out, f.out_channel, vector_out(), tail)
            .split(f.in_channel, vectors_in, f.in_channel, lanes_in * vector_in(), tail)
            .split(f.in_channel, lane_in, f.in_channel, vector_in(), tail)
            .split(f.ky, lane_ky, f.ky, thread_taps_y(f));
    }
    template <class Stage>
    void map_to_threads(Stage &stage) const {
        if (lanes_taps_y) stage.gpu_threads(lane_in, lane_out, lane_ky);
        else stage.gpu_threads(lane_in, lane_out);
        stage.never_partition_all();
    }

    void store_tile(WeightGradientFuncs &f) const {
        using namespace Halide;
        Var tile_in{"tile_in"}, tile_out{"tile_out"}, block_ky{"block_ky"};
        f.partial.split(f.out_channel, tile_out, f.out_channel, block_out(), guard)
            .split(f.in_channel, tile_in, f.in_channel, block_in(), guard)
            .split(f.ky, block_ky, f.ky, taps_y(f));
        share_out_channels(f.partial, f, guard);
        f.partial.reorder({f.kx, f.ky, f.out_channel, vectors_out, f.in_channel, vectors_in, lane_in, lane_out, lane_ky,
                           block_ky, tile_out, tile_in, f.group, f.band, f.images})
            .fuse(block_ky, tile_out, block).fuse(block, tile_in, block).fuse(f.group, f.band, f.group)
            .unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(vectors_out).unroll(f.in_channel).unroll(vectors_in)
            .gpu_blocks(block, f.group, f.images);
        map_to_threads(f.partial);
    }

    void keep_sums(WeightGradientFuncs &f) const {
        using namespace Halide;
        f.sum.compute_at(f.partial, block).store_in(MemoryType::Register)
            .reorder_storage(f.out_channel, f.in_channel, f.kx, f.ky)
            .bound_extent(f.kx, f.x_axis.taps()).bound_extent(f.ky, taps_y(f))
            .bound_extent(f.out_channel, block_out()).bound_extent(f.in_channel, block_in())
            .bound_extent(f.group, 1).bound_extent(f.band, 1).bound_extent(f.images, 1);
        Stage init = f.sum, update = f.sum.update();
        for (Stage *stage : {&init, &update}) {
            share_out_channels(*stage, f, TailStrategy::Auto);
            stage->unroll(f.kx).unroll(f.ky)
                .unroll(f.out_channel).unroll(vectors_out).unroll(f.in_channel).unroll(vectors_in);
            map_to_threads(*stage);
        }
        init.reorder({f.out_channel, vectors_out, f.in_channel, vectors_in, f.kx, f.ky, lane_in, lane_out, lane_ky});
        RVar x{"x"};
        update.fuse(f.positions[2], f.positions[3], chunk())
            .split(f.positions[0], x, unrolled, run)
            .reorder({f.out_channel, f.in_channel, f.kx, f.ky, vectors_out, vectors_in, unrolled, x, f.positions[1],
                      lane_in, lane_out, lane_ky, chunk(), f.positions[4]})
            .unroll(unrolled);
    }

    void stage_input(WeightGradientFuncs &f) const {
        using namespace Halide;
        Func staged = f.padded_input.in(f.sum), of_thread = staged.in(f.sum);
        staged.compute_at(f.sum, chunk()).store_in(MemoryType::GPUShared)
            .reorder_storage(f.in_channel, f.x, f.y)
            .bound_extent(f.x, chunk_columns).bound_extent(f.y, chunk_rows).bound_extent(f.in_channel, block_in())
            .bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .align_storage(f.in_channel, block_in() + 4)
            .fuse(f.x, f.y, element);
        stage(staged, f, f.in_channel, block_in(), {f.group, f.batch});
        of_thread.compute_at(f.sum, vectors_in).store_in(MemoryType::Register).bound_extent(f.in_channel, vector_in());
        for (const Var &d : {f.x, f.y, f.group, f.batch}) of_thread.bound_extent(d, 1);
        of_thread.vectorize(f.in_channel, vector_in());
    }

    void stage_output_gradient(WeightGradientFuncs &f) const {
        f.phases.compute_at(f.sum, chunk()).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage(f.out_channel, f.cell_x, f.phase_x, f.y, f.ky)
            .bound_extent(f.cell_x, f.x_axis.reach(chunk_columns)).bound_extent(f.phase_x, f.x_axis.live_phases())
            .bound_extent(f.y, chunk_rows).bound_extent(f.ky, taps_y(f)).bound_extent(f.out_channel, block_out())
            .bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .align_storage(f.out_channel, block_out() > 1 ? block_out() + 4 : 1)
            .fuse(f.phase_x, f.cell_x, element).fuse(element, f.ky, element).fuse(element, f.y, element);
        stage(f.phases, f, f.out_channel, block_out(), {f.group, f.batch});
        Halide::Func of_thread = f.phases.in(f.sum);
        of_thread.compute_at(f.sum, vectors_out).store_in(Halide::MemoryType::Register)
            .bound_extent(f.out_channel, vector_out())
            .bound_extent(f.cell_x, f.x_axis.reach(1)).bound_extent(f.phase_x, f.x_axis.live_phases());
        for (const Halide::Var &d : {f.y, f.group, f.batch}) of_thread.bound_extent(d, 1);
        of_thread.bound_extent(f.ky, thread_taps_y(f)).vectorize(f.out_channel, vector_out())
            .unroll(f.cell_x).unroll(f.phase_x).unroll(f.ky);
    }

    // Turns a tile of so many channels. A warp moves `staging_columns` neighbours of some channels: it reads whole
    // sectors, and with 8 of 4 channels, each position's channels being padded by 4, its stores hit every bank once.
    // All loops are unrolled, so that a thread has all its loads under way at once; that made KernelBench 57 a
    // quarter faster.
    void stage(Halide::Func staged, const GradientFacts &f, const Halide::Var &channel, int channels,
               const std::vector<Halide::Var> &outer) const {
        using namespace Halide;
        const int busy = threads(f) / GpuLimits::warp * GpuLimits::warp;
        const int neighbours = channels > 1 ? int(staging_columns) : busy;
        const int of_warp = std::max(GpuLimits::warp / neighbours, 1);
        const int warps = std::max(busy / (neighbours * of_warp), 1);
        Var neighbour{"neighbour"}, lane{"lane"}, warp{"warp"}, round{"round"};
        std::vector<VarOrRVar> order{element, round, lane_in, lane_out, lane_ky};
        order.insert(order.end(), outer.begin(), outer.end());
        staged.split(element, element, neighbour, neighbours, guard)
            .split(channel, round, lane, of_warp, guard)
            .split(round, round, warp, warps, guard)
            .fuse(neighbour, lane, lane)
            .fuse(lane, warp, lane)
            .split(lane, lane_ky, lane, lanes(), guard)
            .split(lane, lane_out, lane_in, lanes_in, guard)
            .reorder(order)
            .unroll(element).unroll(round);
        map_to_threads(staged);
    }
};

}  // namespace conv_transpose

#endif
