// Schedule: many channels, on a GPU's CUDA cores: stride 1, and small strides whose phases a thread can hold.
//
// H200, 2026-11-21, percent of the FP32 peak (67 TF/s): KernelBench 57 64 %, 65 66 %, 69 62 %, 71 58 %, 78 70 %; 3x3
// 64 to 128 channels 60 %; 4x4 stride 2 512 to 256 channels 56 %; 2x2 stride 2 128 to 64 channels 48 %. ncu on 57, with
// one block a multiprocessor: two thirds of all cycles issue, shared memory is at 35 %; what is missing is latency that
// too few warps hide.
//
// Bound by multiply-adds, so the loops are those of a matrix product. A block owns a tile of columns, rows and output
// channels; each thread keeps its part of it in registers over the whole reduction (see
// compiler/private_accumulators.h). Input channels come in chunks through shared memory, inputs with the border that all
// taps need, weights with channels innermost. A thread's columns are vectors of neighbours, and its
// channels are neighbours too: for one input channel and one row of taps it loads a few 128-bit words and reuses each
// for all taps, columns and channels. A warp spans both columns and channels, so that most of its loads are broadcasts.
// Blocks, not stages, hide the latency of staging: while one waits, the others of the multiprocessor compute.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_DENSE_H

#include "schedules/forward_funcs.h"
#include "schedules/search_space.h"

namespace conv_transpose {

struct CudaDense {
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

    /// For tiles that suit small problems only; 0 is no limit.
    GeneratorParam<int> max_out_channels{"max_out_channels", 0};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return lanes_channel * static_cast<int>(thread_channels); }
    int in_channel_chunk() const { return chunk; }
    void describe(KernelDescription &description) const {
        if (max_out_channels > 0) description.set("max_out_channels", max_out_channels);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        // Of widths of threads and vectors only those that some tile needs: 5 lanes, say, for 260 columns.
        std::vector<int> vectors, widths;
        for (const int width : {2, 3, 4, 6, 8, 12})
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
        const int threads = lanes_x * lanes_y * lanes_channel, channels = lanes_channel * thread_channels;
        const int sums = vector * thread_vectors * thread_channels * thread_rows;
        const int input = problem.x_axis.reach(lanes_x * vector * thread_vectors) * problem.y_axis.reach(lanes_y * thread_rows);
        space.require("tiles fit the picture", problem.tiles_fit(lanes_x * vector * thread_vectors, lanes_y * thread_rows));
        space.require("weights are copied in vectors", channels % 4 == 0 || channels < 4);
        space.require("threads fill warps and fit a block", threads % GpuLimits::warp == 0 && threads <= 512);
        space.require("a thread's sums fit its registers", sums >= (few_channels ? 4 : 16) && sums <= GpuLimits::sums);
        space.require("the staged chunk fits shared memory",
                      4 * chunk * (input + channels * problem.taps()) <= GpuLimits::shared_bytes);
        space.require("unrolled input channels divide the chunk", chunk % unroll_in_channels == 0);
        space.require("the chunk has no more than the input channels", chunk <= std::max(problem.in_channels, 2));
        space.require("less than half of a block's channels are idle", channels < 2 * std::max(problem.out_channels, 4));
        space.require("the unrolled loop stays short",
                      sums * problem.taps() / (problem.stride_x * problem.stride_y) * unroll_in_channels <= GpuLimits::unrolled);
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int lanes_x = this->lanes_x, lanes_y = this->lanes_y, lanes_channel = this->lanes_channel;
        const int vector = this->vector;
        const int width = lanes_x * vector * thread_vectors, rows = lanes_y * thread_rows;
        const int channels = lanes_channel * thread_channels, threads = lanes_x * lanes_y * lanes_channel;
        const auto guard = TailStrategy::GuardWithIf;
        const int stored_vector = vector % 4 == 0 ? 4 : vector % 2 == 0 ? 2 : 1;
        Var stored{"stored"};
        Var column{"column"}, row{"row"}, channel_block{"channel_block"}, image{"image"}, vec{"vec"}, part{"part"};
        Var lane_x{"lane_x"}, lane_y{"lane_y"}, lane_channel{"lane_channel"};
        Var thread{"thread"}, element{"element"}, round{"round"};

        f.output.split(v.x, column, v.x, width, guard)
            .split(v.x, v.x, vec, vector, guard)
            .split(vec, vec, stored, stored_vector, guard)
            .split(v.x, part, lane_x, lanes_x, guard)
            .split(v.y, row, v.y, rows, guard)
            .split(v.y, v.y, lane_y, lanes_y, guard)
            .split(v.channel, channel_block, v.channel, channels, guard)
            .split(v.channel, lane_channel, v.channel, thread_channels, guard)
            .reorder({stored, vec, part, v.y, v.channel, lane_x, lane_channel, lane_y, column, row, channel_block,
                      v.group, v.batch})
            .fuse(column, channel_block, column)
            .fuse(v.group, v.batch, image)
            .vectorize(stored).unroll(vec).unroll(part).unroll(v.channel).unroll(v.y)
            .gpu_blocks(column, row, image)
            .gpu_threads(lane_x, lane_channel, lane_y)
            .never_partition_all();

        f.activated.compute_at(f.output, vec).store_in(MemoryType::Register);
        f.activated.bound_extent(v.x, stored_vector).unroll(v.x);
        for (const Var &d : {v.y, v.channel, v.group, v.batch}) f.activated.bound_extent(d, 1);
        f.activated.specialize(f.no_smooth_activation);

        auto distribute = [&](Stage s) {
            s.split(v.x, v.x, vec, vector)
                .split(v.x, part, lane_x, lanes_x)
                .split(v.y, v.y, lane_y, lanes_y)
                .split(v.channel, lane_channel, v.channel, thread_channels)
                .unroll(vec).unroll(part).unroll(v.channel).unroll(v.y)
                .gpu_threads(lane_x, lane_channel, lane_y)
                .never_partition_all();
        };
        f.sum.compute_at(f.output, column).store_in(MemoryType::Register);
        f.sum.bound_extent(v.x, width).bound_extent(v.y, rows).bound_extent(v.channel, channels);
        f.sum.bound_extent(v.group, 1).bound_extent(v.batch, 1);
        Stage init = f.sum, update = f.sum.update();
        distribute(init);
        init.reorder(vec, part, v.y, v.channel, lane_x, lane_channel, lane_y);
        distribute(update);
        RVar zi{"zi"}, zu{"zu"};  // input channels: within a chunk, unrolled
        update.split(f.taps.z, f.taps.z, zi, chunk, guard).split(zi, zi, zu, unroll_in_channels, guard)
            .reorder({vec, part, v.y, v.channel, f.taps.x, f.taps.y, zu, zi, lane_x, lane_channel, lane_y, f.taps.z})
            .unroll(f.taps.x).unroll(f.taps.y).unroll(zu);

        Func in = f.padded_input.in(f.sum);
        const std::vector<Var> ia = in.args();
        in.compute_at(f.sum, f.taps.z).store_in(MemoryType::GPUShared);
        in.bound_extent(ia[0], f.x_axis.reach(width)).bound_extent(ia[1], f.y_axis.reach(rows));
        in.bound_extent(ia[2], chunk).bound_extent(ia[3], 1).bound_extent(ia[4], 1);
        in.align_storage(ia[0], vector);
        in.fuse(ia[0], ia[1], element)
            .split(element, round, thread, threads, guard)
            .split(thread, lane_y, thread, lanes_x * lanes_channel)
            .split(thread, lane_channel, lane_x, lanes_x)
            .reorder(ia[2], round, lane_x, lane_channel, lane_y, ia[3], ia[4])
            .gpu_threads(lane_x, lane_channel, lane_y)
            .unroll(ia[2])
            .never_partition_all();
        // All loads of a round are under way before the first is stored.
        Func loaded = f.padded_input.in(in);
        const std::vector<Var> la = loaded.args();
        loaded.compute_at(in, round).store_in(MemoryType::Register).unroll(la[2]).never_partition_all();
        loaded.bound_extent(la[0], 1).bound_extent(la[1], 1).bound_extent(la[2], chunk);
        Func w = f.weight.in(f.tap_weight);
        const std::vector<Var> wa = w.args();
        w.compute_at(f.sum, f.taps.z).store_in(MemoryType::GPUShared);
        w.bound_extent(wa[0], channels).bound_extent(wa[3], chunk).bound_extent(wa[4], 1);
        w.split(wa[0], wa[0], vec, std::min(4, channels))
            .vectorize(vec)
            .fuse(wa[0], wa[1], element)
            .fuse(element, wa[2], element)
            .fuse(element, wa[3], element)
            .split(element, round, thread, threads, guard)
            .split(thread, lane_y, thread, lanes_x * lanes_channel)
            .split(thread, lane_channel, lane_x, lanes_x)
            .reorder(vec, round, lane_x, lane_channel, lane_y, wa[4])
            .gpu_threads(lane_x, lane_channel, lane_y)
            .unroll(round)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
