// Schedule: the input gradient on a GPU's CUDA cores, for problems with many channels.
//
// NVIDIA H200, 2026-11-21, FP32, TFLOP/s of 67: 2x2 stride 2 128 to 64 channels 43.7, 3x3 stride 2 128 to 64
// 43.2, 4x4 stride 2 512 to 256 45.9. KernelBench 81 in 0.153 ms, 0.12 of which reading its operands once
// takes. ncu on 2x2: 90 % of all cycles issue; 128 sums a thread, which load less, were 8 % slower, at two
// thirds of the warps. Products of any attributes take 1.65 times as long on KernelBench 75, 1.19 on 81 and 1.22 on 9x9 stride 3,
// 56 to 1 channel; what was made for 2x2, 3x3 and 4x4 lost nothing there (H200, 2026-11-23).
//
// Order: an implicit matrix product. A block computes a tile of columns x rows x channels and goes through
// the output channels in chunks; of each chunk it stages, in shared memory, the output gradient that its tile
// sees, one live phase after the other, and the weights. A thread's sums stay in registers: neighbouring
// columns, whose taps overlap, of several channels, whose weights are 128-bit loads. Chunks come by
// asynchronous copies while the one before is computed, which was worth 5 % on 3x3 and 1 to 2 % on 2x2 and
// 4x4; threads of two rows, with addresses that are offsets from few registers, another 4 to 11 %.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_INPUT_GRADIENT_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_INPUT_GRADIENT_DENSE_H

#include "schedules/shared/block_threads.h"
#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaInputGradientDense : CudaSchedule {
    static constexpr const char *family = "dense";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> lanes_x{"lanes_x", 8}, lanes_channel{"lanes_channel", 8}, lanes_y{"lanes_y", 4};
    /// A thread computes runs of run_columns neighbours, `runs` of them a block's lanes apart.
    GeneratorParam<int> run_columns{"run_columns", 4}, runs{"runs", 2};
    GeneratorParam<int> thread_channels{"thread_channels", 8}, thread_rows{"thread_rows", 1};
    GeneratorParam<int> chunk{"chunk", 8}, unroll_chunk{"unroll_chunk", 1};
    /// With many taps a loop over kernel rows keeps the code in the instruction cache. Unrolled staging has more loads
    /// under way.
    GeneratorParam<bool> unroll_taps_y{"unroll_taps_y", true}, unroll_staging{"unroll_staging", true};

    /// Buffers in shared memory: with two, a chunk is staged while the one before it is multiplied.
    GeneratorParam<int> stages{"stages", 1};
    /// With several buffers: see SoftwarePipelineOptions. Without, what is staged waits in registers for its buffer.
    GeneratorParam<bool> single_floats{"single_floats", false};

    /// On a multiprocessor, as registers allow: for the estimate of times.
    GeneratorParam<int> blocks{"blocks", 3};

    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return int(lanes_channel) * int(thread_channels); }
    int out_channel_chunk() const { return chunk; }
    void describe(KernelDescription &description) const {
        description.set("block_positions", rows(), width());
        description.set("block_channels", channels());
        description.set("blocks_per_multiprocessor", blocks);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int lanes_x = space.choose(this->lanes_x, {4, 8, 16, 32});
        const int lanes_channel = space.choose(this->lanes_channel, {1, 2, 4, 8, 16});
        const int lanes_y = space.choose(this->lanes_y, {1, 2, 4, 8});
        const int run_columns = space.choose(this->run_columns, {2, 4}), runs = space.choose(this->runs, {1, 2, 4});
        const int thread_channels = space.choose(this->thread_channels, {4, 8, 16});
        const int thread_rows = space.choose(this->thread_rows, {1, 2});
        const int chunk = space.choose(this->chunk, {1, 2, 4, 8, 16}),
                  unroll_chunk = space.choose(this->unroll_chunk, {1, 2});
        const int taps_y = space.choose(this->unroll_taps_y, {0, 1}) ? f.y_axis.taps() : 1;
        const bool unroll_staging = space.choose(this->unroll_staging, {0, 1});
        const int stages = space.choose(this->stages, {1, 2});
        const bool single_floats = space.choose(this->single_floats, {0, 1});
        space.require("only several buffers are filled asynchronously", stages > 1 || !single_floats);
        const int threads = lanes_x * lanes_y * lanes_channel, channels = lanes_channel * thread_channels;
        const int sums = run_columns * runs * thread_channels * thread_rows;
        const int cells = f.x_axis.reach(lanes_x * run_columns * runs) * f.x_axis.live_phases() *
                          f.y_axis.reach(lanes_y * thread_rows) * f.y_axis.live_phases();
        space.require("tiles fit the picture", tiles_fit_axis(f.input_width, lanes_x * run_columns * runs, 8) &&
                                                   tiles_fit_axis(f.input_height, lanes_y * thread_rows, 1));
        space.require("threads fill warps and fit a block", threads % GpuLimits::warp == 0 && threads <= 512);
        space.require("a thread's sums fit its registers", sums >= 16 && sums <= GpuLimits::sums);
        space.require("the staged chunk fits shared memory",
                      4 * stages * chunk * (cells + channels * f.x_axis.taps() * f.y_axis.taps()) <=
                          GpuLimits::shared_bytes);
        space.require("what waits in registers is unrolled", stages == 1 || unroll_staging);
        space.require("unrolled channels divide the chunk", chunk % unroll_chunk == 0);
        space.require("the chunk has no more than the output channels", chunk <= std::max(f.out_channels, 2));
        space.require("less than half of a block's channels are idle", channels < 2 * std::max(f.in_channels, 4));
        space.require("the unrolled loop stays short",
                      sums * f.x_axis.taps() * taps_y * unroll_chunk <= GpuLimits::unrolled);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &) const {
        store_tile(f);
        keep_sums(f);
        stage_output_gradient(f);
        stage_weights(f);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var column{"column"}, vec{"vec"}, run{"run"}, element{"element"};

    BlockThreads threads() const { return {lanes_x, lanes_channel, lanes_y}; }
    // A block's tile has so many columns, rows and channels.
    int width() const { return lanes_x * run_columns.value() * runs.value(); }
    int rows() const { return lanes_y * thread_rows.value(); }
    int channels() const { return lanes_channel * thread_channels.value(); }
    /// The loop over chunks, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar chunks() const { return Halide::RVar(stages > 1 ? "pipeline" : "chunks"); }

    void store_tile(InputGradientFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Var row{"row"}, channel_block{"channel_block"}, image{"image"};
        f.input_gradient.split(f.x, column, f.x, width(), guard)
            .split(f.x, f.x, vec, run_columns, guard)
            .split(f.x, run, threads.x, lanes_x, guard)
            .split(f.y, row, f.y, rows(), guard)
            .split(f.y, f.y, threads.y, lanes_y, guard)
            .split(f.channel, channel_block, f.channel, channels(), guard)
            .split(f.channel, threads.channel, f.channel, thread_channels, guard)
            .reorder({vec, run, f.y, f.channel, threads.x, threads.channel, threads.y, column, row, channel_block,
                      f.group, f.batch})
            .fuse(column, channel_block, column)
            .fuse(f.group, f.batch, image)
            .unroll(vec).unroll(run).unroll(f.channel).unroll(f.y)
            .gpu_blocks(column, row, image)
            .gpu_threads(threads.x, threads.channel, threads.y)
            .never_partition_all();
    }

    void keep_sums(InputGradientFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        f.sum.compute_at(f.input_gradient, column).store_in(MemoryType::Register)
            .bound_extent(f.x, width()).bound_extent(f.y, rows()).bound_extent(f.channel, channels())
            .bound_extent(f.group, 1).bound_extent(f.batch, 1);
        Stage init = f.sum, update = f.sum.update();
        for (Stage *stage : {&init, &update})
            stage->split(f.x, f.x, vec, run_columns)
                .split(f.x, run, threads.x, lanes_x)
                .split(f.y, f.y, threads.y, lanes_y)
                .split(f.channel, threads.channel, f.channel, thread_channels)
                .unroll(vec).unroll(run).unroll(f.channel).unroll(f.y)
                .gpu_threads(threads.x, threads.channel, threads.y)
                .never_partition_all();
        init.reorder(vec, run, f.y, f.channel, threads.x, threads.channel, threads.y);
        RVar out_channel{"out_channel"}, unrolled{"unrolled"};
        update.split(f.taps.z, chunks(), out_channel, chunk, guard)
            .split(out_channel, out_channel, unrolled, unroll_chunk, guard)
            .reorder({vec, run, f.y, f.channel, f.taps.x, unrolled, f.taps.y, out_channel, threads.x,
                      threads.channel, threads.y, chunks()})
            .unroll(f.taps.x).unroll(unrolled);
        if (unroll_taps_y) update.unroll(f.taps.y);
    }

    void stage_output_gradient(InputGradientFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        f.phases.compute_at(f.sum, chunks()).store_in(MemoryType::GPUShared)
            .bound_extent(f.cell_x, f.x_axis.reach(width())).bound_extent(f.cell_y, f.y_axis.reach(rows()))
            .bound(f.phase_x, 0, f.x_axis.live_phases()).bound(f.phase_y, 0, f.y_axis.live_phases())
            .bound_extent(f.out_channel, chunk).bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .align_storage(f.cell_x, 4)
            .fuse(f.phase_x, f.cell_x, element)
            .fuse(element, f.phase_y, element)
            .fuse(element, f.cell_y, element);
        threads.share_out(f.phases, element, {f.out_channel, threads.round}, {f.group, f.batch});
        f.phases.unroll(f.out_channel);
        if (unroll_staging) f.phases.unroll(threads.round);
    }

    void stage_weights(InputGradientFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Func weights = f.weight.in(f.tap_weight);
        const std::vector<Var> args = weights.args();
        weights.compute_at(f.sum, chunks()).store_in(MemoryType::GPUShared)
            .bound_extent(args[0], channels()).bound_extent(args[3], chunk).bound_extent(args[4], 1)
            .split(args[0], args[0], vec, 4)
            .vectorize(vec)
            .fuse(args[0], args[1], element)
            .fuse(element, args[2], element)
            .fuse(element, args[3], element);
        threads.share_out(weights, element, {vec, threads.round}, {args[4]});
        weights.unroll(threads.round);
    }
};

}  // namespace conv_transpose

#endif
