// Schedules: many channels, on a GPU's CUDA cores: the forward operation at stride 1 and at small strides whose phases a thread can
// hold, and the input gradient.
//
// H200, 2026-11-21, percent of the FP32 peak (67 TFLOP/s). Forward: KernelBench 57 74 %, 65 75 %, 69 68 %, 71 68 %, 78 76 %; 4x4
// stride 2 512 to 256 channels 63 %; 2x2 stride 2 128 to 64 53 %. Input gradient: 2x2 and 3x3 stride 2 128 to 64 65 and 64 %, 4x4
// stride 2 512 to 256 69 %. ncu on 57: 80 % of all cycles issue, 91 % of what is issued multiplies; the rest waits for shared
// memory where ptxas has no register left to load ahead. (Register-only multiply-adds reach 98 %.)
//
// Order: bound by multiply-adds, so the loops are those of a matrix product. A block owns a tile of columns, rows and output
// channels; each thread keeps its part of it in registers over the whole reduction (see compiler/passes/private_accumulators.h).
// Input channels come in chunks through shared memory, inputs with the border that all taps need, weights with channels innermost;
// a chunk is on its way, by asynchronous copies, while the one before is computed (compiler/passes/software_pipeline.h). A thread's
// rows, columns and channels are neighbours: of what it loads for one input channel, each weight serves all its rows and columns,
// each input all taps and channels that it reaches. A warp spans columns and channels, so that most loads are broadcasts: half a
// warp's 128-bit loads should lie within 128 bytes, as 4 lanes of columns and 4 of channels do.
//
// The input gradient goes through the output channels in chunks, of which it stages the output gradient that its tile sees, one
// live phase after the other.
//
// What was tried: docs/experiments.md#dense-problems-on-cuda-cores
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H

#include "algorithm/forward_funcs.h"
#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/block_threads.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

/// A block's tile of columns, rows and channels, and what its threads have of it.
struct CudaDenseTile : CudaSchedule {
    static constexpr const char *family = "dense";

    /// Threads of a block along columns, channels and rows.
    GeneratorParam<int> lanes_x{"lanes_x", 8}, lanes_channel{"lanes_channel", 8}, lanes_y{"lanes_y", 4};
    /// What a thread keeps: vectors of neighbouring columns (forward a multiple of the stride), channels, rows.
    GeneratorParam<int> vector{"vector", 4};
    GeneratorParam<int> thread_vectors{"thread_vectors", 2}, thread_channels{"thread_channels", 8};
    GeneratorParam<int> thread_rows{"thread_rows", 1};
    /// Summed channels staged at a time, and how many of them are unrolled.
    GeneratorParam<int> chunk{"chunk", 8}, unroll_summed{"unroll_summed", 1};
    /// Whether all rows of taps are one piece of code, which the instruction cache must hold.
    GeneratorParam<bool> unroll_taps_y{"unroll_taps_y", true};
    /// Chunks in shared memory: one is computed while the next are on their way.
    GeneratorParam<int> stages{"stages", 2};
    /// On a multiprocessor, as registers allow: for the estimate of times.
    GeneratorParam<int> blocks{"blocks", 3};

    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return channels(); }
    void describe(KernelDescription &description) const {
        description.set("block_positions", rows(), width());
        description.set("block_channels", channels());
        description.set("blocks_per_multiprocessor", blocks);
    }

  protected:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var column{"column"}, vec{"vec"}, part{"part"}, element{"element"};

    BlockThreads threads() const { return {lanes_x, lanes_channel, lanes_y}; }
    int width() const { return lanes_x * vector.value() * thread_vectors.value(); }
    int rows() const { return lanes_y * thread_rows.value(); }
    int channels() const { return lanes_channel * thread_channels.value(); }
    int sums() const { return vector * thread_vectors.value() * thread_channels.value() * thread_rows.value(); }
    /// The loop over chunks, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar chunks() const { return Halide::RVar(stages > 1 ? "pipeline" : "chunks"); }

    // Rules of a tile: of lanes; of what a thread computes; of a chunk, for each of whose channels there are so many staged
    // elements and the weights of so many taps.
    void require_threads(SearchSpace &space) const {
        space.require("threads fill warps and fit a block", threads().count() % GpuLimits::warp == 0 && threads().count() <= 512);
    }
    void require_sums(SearchSpace &space, int least_sums, int computed_channels) const {
        space.require("a thread's sums fit its registers", sums() >= least_sums && sums() <= GpuLimits::sums);
        space.require("less than half of a block's channels are idle", channels() < 2 * std::max(computed_channels, 4));
    }
    void require_chunk(SearchSpace &space, int staged, int taps, int summed_channels) const {
        space.require("the staged chunk fits shared memory",
                      4 * stages * chunk * (staged + channels() * taps) <= GpuLimits::shared_bytes);
        space.require("the chunk has no more than the summed channels", chunk <= std::max(summed_channels, 2));
    }
    void require_unrolled(SearchSpace &space) const {
        space.require("unrolled channels divide the chunk", chunk % unroll_summed.value() == 0);
    }

    /// Splits a stage of the sum among threads, whose rows are neighbours, or `rows_apart` a block's lanes apart.
    void distribute(Halide::Stage s, const Halide::Var &x, const Halide::Var &y, const Halide::Var &channel,
                    bool rows_apart) const {
        const BlockThreads threads = this->threads();
        s.split(x, x, vec, vector).split(x, part, threads.x, lanes_x);
        rows_apart ? s.split(y, y, threads.y, lanes_y) : s.split(y, threads.y, y, thread_rows);
        s.split(channel, threads.channel, channel, thread_channels)
            .unroll(vec).unroll(part).unroll(channel).unroll(y)
            .gpu_threads(threads.x, threads.channel, threads.y)
            .never_partition_all();
    }

    /// 128-bit copies. Each channel by itself, if `by_channels`: its elements are at a constant distance from the first one's.
    void stage_weights(Halide::Func weights, Halide::Func sum, bool by_channels) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        const std::vector<Var> args = weights.args();
        weights.compute_at(sum, chunks()).store_in(MemoryType::GPUShared)
            .bound_extent(args[0], channels()).bound_extent(args[3], chunk).bound_extent(args[4], 1)
            .split(args[0], args[0], vec, std::min(4, channels()))
            .vectorize(vec)
            .fuse(args[0], args[1], element)
            .fuse(element, args[2], element);
        std::vector<VarOrRVar> of_thread{vec, threads.round};
        if (by_channels) of_thread.push_back(args[3]);
        else weights.fuse(element, args[3], element);
        threads.share_out(weights, element, of_thread, {args[4]});
        weights.unroll(threads.round);
        if (by_channels) weights.unroll(args[3]);
    }
};

struct CudaDense : CudaDenseTile {
    /// See SoftwarePipelineOptions: worth 2 to 12 % where taps are in phases, and up to 4 % for long rows of taps.
    GeneratorParam<bool> load_offsets{"load_offsets", false};
    /// For tiles that suit small problems only; 0 is no limit.
    GeneratorParam<int> max_out_channels{"max_out_channels", 0};

    static constexpr SumIndex sum_index = SumIndex::positions;
    int in_channel_chunk() const { return chunk; }
    void describe(KernelDescription &description) const {
        if (max_out_channels > 0) description.set("max_out_channels", max_out_channels);
        CudaDenseTile::describe(description);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        // Threads and vectors have only widths that some tile needs: 5 lanes, say, for 260 columns.
        std::vector<int> vectors, widths;
        for (const int width : {2, 3, 4, 5, 6, 8, 10, 12})
            if (width % problem.stride_x == 0) vectors.push_back(width);
        for (const int width : {4, 5, 6, 8, 10, 12, 16, 20, 24, 32})
            if (std::any_of(vectors.begin(), vectors.end(), [&](int v) { return problem.columns_fit(width * v); }))
                widths.push_back(width);
        const bool few_channels = problem.out_channels > 0 && problem.out_channels < 4;
        std::vector<int> channel_counts{4, 8, 16};
        if (few_channels) channel_counts = {1};
        if (few_channels && problem.out_channels > 1) channel_counts = {1, problem.out_channels, 4};
        space.choose(lanes_x, widths);
        space.choose(lanes_channel, {1, 2, 4, 8, 16});
        space.choose(lanes_y, {1, 2, 4, 6, 8, 12, 16});
        require_threads(space);
        space.choose(vector, vectors);
        space.choose(thread_vectors, {1, 2, 3, 4});
        space.choose(thread_rows, {1, 2, 3, 4});
        space.require("tiles fit the picture", problem.tiles_fit(width(), rows()));
        space.choose(thread_channels, channel_counts);
        require_sums(space, few_channels ? 4 : 16, problem.out_channels);
        space.require("weights are copied in vectors", channels() % 4 == 0 || channels() < 4);
        space.choose(chunk, {2, 4, 8, 16});
        require_chunk(space, problem.x_axis.reach(width()) * problem.y_axis.reach(rows()), problem.taps(), problem.in_channels);
        space.choose(unroll_summed, {1, 2, 4});
        require_unrolled(space);
        space.choose(unroll_taps_y, {0, 1});
        space.require("the unrolled loop stays short",
                      sums() * problem.taps() / (problem.stride_x * problem.stride_y) * unroll_summed <=
                          GpuLimits::unrolled * (unroll_taps_y ? 1 : problem.kernel_y));
        space.choose(load_offsets, {0, 1});
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        store_tile(f);
        keep_sums(f);
        stage_input(f);
        stage_weights(f.weight.in(f.tap_weight), f.sum, true);
    }

  private:
    void store_tile(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const BlockThreads threads = this->threads();
        const int vector = this->vector, stored_vector = vector % 4 == 0 ? 4 : vector % 2 == 0 ? 2 : 1;
        Var stored{"stored"}, row{"row"}, channel_block{"channel_block"}, image{"image"};
        f.output.split(v.x, column, v.x, width(), guard)
            .split(v.x, v.x, vec, vector, guard)
            .split(vec, vec, stored, stored_vector, guard)
            .split(v.x, part, threads.x, lanes_x, guard)
            .split(v.y, row, v.y, rows(), guard)
            .split(v.y, threads.y, v.y, thread_rows, guard)
            .split(v.channel, channel_block, v.channel, channels(), guard)
            .split(v.channel, threads.channel, v.channel, thread_channels, guard)
            .reorder({stored, vec, part, v.y, v.channel, threads.x, threads.channel, threads.y, column, row,
                      channel_block, v.group, v.batch})
            .fuse(column, channel_block, column)
            .fuse(v.group, v.batch, image)
            .vectorize(stored).unroll(vec).unroll(part).unroll(v.channel).unroll(v.y)
            .gpu_blocks(column, row, image)
            .gpu_threads(threads.x, threads.channel, threads.y)
            .never_partition_all();

        f.activated.compute_at(f.output, vec).store_in(MemoryType::Register);
        f.activated.bound_extent(v.x, stored_vector).unroll(v.x);
        for (const Var &d : {v.y, v.channel, v.group, v.batch}) f.activated.bound_extent(d, 1);
        f.activated.specialize(f.no_smooth_activation);
    }

    void keep_sums(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const BlockThreads threads = this->threads();
        f.sum.compute_at(f.output, column).store_in(MemoryType::Register);
        f.sum.bound_extent(v.x, width()).bound_extent(v.y, rows()).bound_extent(v.channel, channels());
        f.sum.bound_extent(v.group, 1).bound_extent(v.batch, 1);
        Stage init = f.sum, update = f.sum.update();
        for (const Stage &stage : {init, update}) distribute(stage, v.x, v.y, v.channel, false);
        init.reorder(vec, part, v.y, v.channel, threads.x, threads.channel, threads.y);
        // Input channels: chunks, within a chunk, unrolled.
        RVar zi{"zi"}, zu{"zu"};
        update.split(f.taps.z, chunks(), zi, chunk, guard).split(zi, zi, zu, unroll_summed, guard)
            .reorder({vec, part, v.y, v.channel, f.taps.x, f.taps.y, zu, zi, threads.x, threads.channel, threads.y,
                      chunks()})
            .unroll(f.taps.x).unroll(zu);
        if (unroll_taps_y) update.unroll(f.taps.y);
    }

    void stage_input(ForwardFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Func in = f.padded_input.in(f.sum);
        const std::vector<Var> args = in.args();
        in.compute_at(f.sum, chunks()).store_in(MemoryType::GPUShared);
        // Whole vectors, so that what is staged has no gaps either.
        const int staged_width = (f.x_axis.reach(width()) + vector - 1) / vector * vector;
        in.bound_extent(args[0], staged_width).bound_extent(args[1], f.y_axis.reach(rows()));
        in.bound_extent(args[2], chunk).bound_extent(args[3], 1).bound_extent(args[4], 1);
        in.fuse(args[0], args[1], element);
        threads.share_out(in, element, {threads.round, args[2]}, {args[3], args[4]});
        in.unroll(threads.round).unroll(args[2]);
    }
};

struct CudaInputGradientDense : CudaDenseTile {
    /// Unrolled staging has more loads under way.
    GeneratorParam<bool> unroll_staging{"unroll_staging", true};
    /// With several buffers: see SoftwarePipelineOptions. Without, what is staged waits in registers for its buffer.
    GeneratorParam<bool> single_floats{"single_floats", false};

    CudaInputGradientDense() { stages.set(1); }
    int out_channel_chunk() const { return chunk; }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        space.choose(lanes_x, {4, 8, 16, 32});
        space.choose(lanes_channel, {1, 2, 4, 8, 16});
        space.choose(lanes_y, {1, 2, 4, 8});
        require_threads(space);
        space.choose(vector, {2, 4});
        space.choose(thread_vectors, {1, 2, 4});
        space.choose(thread_rows, {1, 2});
        space.require("tiles fit the picture",
                      tiles_fit_axis(f.input_width, width(), 8) && tiles_fit_axis(f.input_height, rows(), 1));
        space.choose(thread_channels, {4, 8, 16});
        require_sums(space, 16, f.in_channels);
        space.choose(stages, {1, 2});
        space.choose(chunk, {1, 2, 4, 8, 16});
        require_chunk(space, f.x_axis.reach(width()) * f.x_axis.live_phases() * f.y_axis.reach(rows()) * f.y_axis.live_phases(),
                      f.x_axis.taps() * f.y_axis.taps(), f.out_channels);
        space.choose(unroll_summed, {1, 2});
        require_unrolled(space);
        const int taps_y = space.choose(unroll_taps_y, {0, 1}) ? f.y_axis.taps() : 1;
        space.require("the unrolled loop stays short",
                      sums() * f.x_axis.taps() * taps_y * unroll_summed <= GpuLimits::unrolled);
        space.choose(unroll_staging, {0, 1});
        space.require("what waits in registers is unrolled", stages == 1 || unroll_staging);
        space.choose(single_floats, {0, 1});
        space.require("only several buffers are filled asynchronously", stages > 1 || !single_floats);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &) const {
        store_tile(f);
        keep_sums(f);
        stage_output_gradient(f);
        stage_weights(f.weight.in(f.tap_weight), f.sum, false);
    }

  private:
    void store_tile(InputGradientFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Var row{"row"}, channel_block{"channel_block"}, image{"image"};
        f.input_gradient.split(f.x, column, f.x, width(), guard)
            .split(f.x, f.x, vec, vector, guard)
            .split(f.x, part, threads.x, lanes_x, guard)
            .split(f.y, row, f.y, rows(), guard)
            .split(f.y, f.y, threads.y, lanes_y, guard)
            .split(f.channel, channel_block, f.channel, channels(), guard)
            .split(f.channel, threads.channel, f.channel, thread_channels, guard)
            .reorder({vec, part, f.y, f.channel, threads.x, threads.channel, threads.y, column, row, channel_block,
                      f.group, f.batch})
            .fuse(column, channel_block, column)
            .fuse(f.group, f.batch, image)
            .unroll(vec).unroll(part).unroll(f.channel).unroll(f.y)
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
        for (const Stage &stage : {init, update}) distribute(stage, f.x, f.y, f.channel, true);
        init.reorder(vec, part, f.y, f.channel, threads.x, threads.channel, threads.y);
        RVar out_channel{"out_channel"}, unrolled{"unrolled"};
        update.split(f.taps.z, chunks(), out_channel, chunk, guard)
            .split(out_channel, out_channel, unrolled, unroll_summed, guard)
            .reorder({vec, part, f.y, f.channel, f.taps.x, unrolled, f.taps.y, out_channel, threads.x,
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
};

}  // namespace conv_transpose

#endif
