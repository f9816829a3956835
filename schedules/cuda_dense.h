// Schedule: many channels, on a GPU's CUDA cores: stride 1, and small strides whose phases a thread can hold.
//
// H200, 2026-11-21, percent of the FP32 peak (67 TF/s): KernelBench 57 74 %, 65 75 %, 69 68 %, 71 68 %, 78 76
// %; 3x3 64 to 128 channels 72 %; 4x4 stride 2 512 to 256 channels 63 %; 2x2 stride 2 128 to 64 channels 53
// %. ncu on 57: 80 % of all cycles issue, 91 % of what is issued multiplies. The rest waits for shared memory
// where ptxas has no register left to load ahead, and 3 % of 57's tiles lie outside of the picture.
// (Register-only multiply-adds reach 98 %.)
//
// Products of any attributes would take 1.09, 1.19 and 1.26 times as long on 65, 71 and 78, whose gradients are these kernels',
// too; on 2x2 and 3x3 stride 2 as long, and on 57 and 69 Winograd's algorithm less: those have none (H200, 2026-11-23).
//
// Bound by multiply-adds, so the loops are those of a matrix product. A block owns a tile of columns, rows
// and output channels; each thread keeps its part of it in registers over the whole reduction (see
// compiler/passes/private_accumulators.h). Input channels come in chunks through shared memory, inputs with the
// border that all taps need, weights with channels innermost; a chunk is on its way, by asynchronous copies,
// while the one before is computed (compiler/passes/software_pipeline.h), which was worth 9 %. A thread's rows,
// columns and channels are neighbours: of what it loads for one input channel, each weight serves all its
// rows and columns, each input all taps and channels that it reaches. Fewer loads, 4 rows x 4 columns x 4
// channels in place of 8 x 8, and 168 registers in place of 128 were worth 6 % on 57. A warp spans columns
// and channels, so that most loads are broadcasts: half a warp's 128-bit loads should lie within 128 bytes,
// as 4 lanes of columns and 4 of channels do.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H

#include "schedules/shared/block_threads.h"
#include "algorithm/forward_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaDense : CudaSchedule {
    static constexpr const char *family = "dense";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// Threads of a block along columns, channels and rows.
    GeneratorParam<int> lanes_x{"lanes_x", 8}, lanes_channel{"lanes_channel", 8}, lanes_y{"lanes_y", 4};
    /// What a thread keeps: vectors of neighbouring columns (a multiple of the stride), channels, rows.
    GeneratorParam<int> vector{"vector", 4};
    GeneratorParam<int> thread_vectors{"thread_vectors", 2}, thread_channels{"thread_channels", 8};
    GeneratorParam<int> thread_rows{"thread_rows", 1};
    /// Input channels staged at a time, and how many of them are unrolled.
    GeneratorParam<int> chunk{"chunk", 8}, unroll_in_channels{"unroll_in_channels", 1};
    /// Whether all rows of taps are one piece of code, which the instruction cache must hold.
    GeneratorParam<bool> unroll_taps_y{"unroll_taps_y", true};
    /// Chunks in shared memory: one is computed while the next are on their way.
    GeneratorParam<int> stages{"stages", 2};
    /// See SoftwarePipelineOptions: worth 2 to 12 % where taps are in phases, and up to 4 % for long rows of taps.
    GeneratorParam<bool> load_offsets{"load_offsets", false};

    /// On a multiprocessor, as registers allow: for the estimate of times.
    GeneratorParam<int> blocks{"blocks", 3};
    /// For tiles that suit small problems only; 0 is no limit.
    GeneratorParam<int> max_out_channels{"max_out_channels", 0};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return channels(); }
    int in_channel_chunk() const { return chunk; }
    void describe(KernelDescription &description) const {
        if (max_out_channels > 0) description.set("max_out_channels", max_out_channels);
        description.set("block_positions", rows(), width());
        description.set("block_channels", channels());
        description.set("blocks_per_multiprocessor", blocks);
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
        const int lanes_x = space.choose(this->lanes_x, widths);
        const int lanes_channel = space.choose(this->lanes_channel, {1, 2, 4, 8, 16});
        const int lanes_y = space.choose(this->lanes_y, {1, 2, 4, 6, 8, 12, 16});
        const int vector = space.choose(this->vector, vectors);
        const int thread_vectors = space.choose(this->thread_vectors, {1, 2, 3, 4});
        std::vector<int> channel_counts{4, 8, 16};
        if (few_channels) channel_counts = {1};
        if (few_channels && problem.out_channels > 1) channel_counts = {1, problem.out_channels, 4};
        const int thread_channels = space.choose(this->thread_channels, channel_counts);
        const int thread_rows = space.choose(this->thread_rows, {1, 2, 3, 4});
        const int chunk = space.choose(this->chunk, {2, 4, 8, 16});
        const int unroll_in_channels = space.choose(this->unroll_in_channels, {1, 2, 4});
        const bool unroll_taps_y = space.choose(this->unroll_taps_y, {0, 1});
        space.choose(this->load_offsets, {0, 1});
        const int threads = lanes_x * lanes_y * lanes_channel, channels = lanes_channel * thread_channels;
        const int sums = vector * thread_vectors * thread_channels * thread_rows;
        const int input = problem.x_axis.reach(lanes_x * vector * thread_vectors) *
                          problem.y_axis.reach(lanes_y * thread_rows);
        space.require("tiles fit the picture",
                      problem.tiles_fit(lanes_x * vector * thread_vectors, lanes_y * thread_rows));
        space.require("weights are copied in vectors", channels % 4 == 0 || channels < 4);
        space.require("threads fill warps and fit a block", threads % GpuLimits::warp == 0 && threads <= 512);
        space.require("a thread's sums fit its registers", sums >= (few_channels ? 4 : 16) && sums <= GpuLimits::sums);
        space.require("the staged chunk fits shared memory",
                      4 * stages * chunk * (input + channels * problem.taps()) <= GpuLimits::shared_bytes);
        space.require("unrolled input channels divide the chunk", chunk % unroll_in_channels == 0);
        space.require("the chunk has no more than the input channels", chunk <= std::max(problem.in_channels, 2));
        space.require("less than half of a block's channels are idle",
                      channels < 2 * std::max(problem.out_channels, 4));
        space.require("the unrolled loop stays short",
                      sums * problem.taps() / (problem.stride_x * problem.stride_y) * unroll_in_channels <=
                          GpuLimits::unrolled * (unroll_taps_y ? 1 : problem.kernel_y));
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        store_tile(f);
        keep_sums(f);
        stage_input(f);
        stage_weights(f);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var column{"column"}, vec{"vec"}, part{"part"}, element{"element"};
    /// The loop over chunks of input channels, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar pipeline{"pipeline"};

    BlockThreads threads() const { return {lanes_x, lanes_channel, lanes_y}; }
    // A block's tile has so many columns, rows and channels.
    int width() const { return lanes_x * vector.value() * thread_vectors.value(); }
    int rows() const { return lanes_y * thread_rows.value(); }
    int channels() const { return lanes_channel * thread_channels.value(); }

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
        const auto distribute = [&](Stage s) {
            s.split(v.x, v.x, vec, vector)
                .split(v.x, part, threads.x, lanes_x)
                .split(v.y, threads.y, v.y, thread_rows)
                .split(v.channel, threads.channel, v.channel, thread_channels)
                .unroll(vec).unroll(part).unroll(v.channel).unroll(v.y)
                .gpu_threads(threads.x, threads.channel, threads.y)
                .never_partition_all();
        };
        f.sum.compute_at(f.output, column).store_in(MemoryType::Register);
        f.sum.bound_extent(v.x, width()).bound_extent(v.y, rows()).bound_extent(v.channel, channels());
        f.sum.bound_extent(v.group, 1).bound_extent(v.batch, 1);
        Stage init = f.sum, update = f.sum.update();
        distribute(init);
        init.reorder(vec, part, v.y, v.channel, threads.x, threads.channel, threads.y);
        distribute(update);
        // Input channels: chunks, within a chunk, unrolled.
        RVar zi{"zi"}, zu{"zu"};
        update.split(f.taps.z, pipeline, zi, chunk, guard).split(zi, zi, zu, unroll_in_channels, guard)
            .reorder({vec, part, v.y, v.channel, f.taps.x, f.taps.y, zu, zi, threads.x, threads.channel, threads.y,
                      pipeline})
            .unroll(f.taps.x).unroll(zu);
        if (unroll_taps_y) update.unroll(f.taps.y);
    }

    void stage_input(ForwardFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Func in = f.padded_input.in(f.sum);
        const std::vector<Var> args = in.args();
        in.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared);
        // Whole vectors, so that what is staged has no gaps either.
        const int staged_width = (f.x_axis.reach(width()) + vector - 1) / vector * vector;
        in.bound_extent(args[0], staged_width).bound_extent(args[1], f.y_axis.reach(rows()));
        in.bound_extent(args[2], chunk).bound_extent(args[3], 1).bound_extent(args[4], 1);
        in.fuse(args[0], args[1], element);
        threads.share_out(in, element, {threads.round, args[2]}, {args[3], args[4]});
        in.unroll(threads.round).unroll(args[2]);
    }

    void stage_weights(ForwardFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        Func weights = f.weight.in(f.tap_weight);
        const std::vector<Var> args = weights.args();
        weights.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared);
        weights.bound_extent(args[0], channels()).bound_extent(args[3], chunk).bound_extent(args[4], 1);
        // Each input channel by itself: its elements are at a constant distance from the first one's.
        weights.split(args[0], args[0], vec, std::min(4, channels()))
            .vectorize(vec)
            .fuse(args[0], args[1], element)
            .fuse(element, args[2], element);
        threads.share_out(weights, element, {vec, threads.round, args[3]}, {args[4]});
        weights.unroll(threads.round).unroll(args[3]);
    }
};

}  // namespace conv_transpose

#endif
