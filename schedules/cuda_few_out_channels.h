// Schedule: up to four output channels, on a GPU's CUDA cores.
//
// H200, 2026-11-21, percent of the FP32 peak (67 TF/s): 4x4 stride 2, 256 to 3 channels and 512x512 pixels
// 54 %, 128 to 3 48 %, 64 to 3 46 %; 9x9, 56 to 1 channel, stride 2 54 %, strides 3 and 4 41 and 38 % (of
// what takes 9 microseconds at the peak); 3x3, 64 to 3, stride 1 37 %, stride 2 30 %. 2x2 stride 2 56 % of
// the memory limit. ncu, on kernels like these: in two thirds of all cycles a warp is ready. Products of any attributes take 1.8
// times as long on 4x4 stride 2, 64 to 3 channels, and 2.6 and 2.1 times on 9x9 strides 3 and 4 (H200, 2026-11-23).
//
// Bound by multiply-adds, if threads have enough of them for what they load, and if there are enough threads.
// A thread keeps all phases and channels of some neighbouring cells, so that what it loads of the input serves
// all taps that see it, up to 81 products, and each weight all its cells. The weights of an input channel lie
// in a row, as they are given; a warp loads four of them at once, the same for all its lanes. One image has
// too few cells to fill a GPU like that. So a block's threads share out the input channels, too: the splits
// of a chunk are summed apart, each in registers over the whole reduction (compiler/passes/private_accumulators.h),
// and meet in shared memory at the end, an output channel at a time, where the operands were. Whoever adds
// them up there reads them by columns of the picture, so that stores are vectors of whole rows. The next
// chunks are on their way meanwhile (compiler/passes/software_pipeline.h): 10 to 45 % faster than by turns, and three
// buffers for chunks of 4 are 6 to 9 % faster than two for chunks of 8.
// On the first of the problems above, 0.179 ms: no splits 0.200, half the cells a thread 0.195, three blocks a
// multiprocessor with 168 registers in place of two 0.269 (they spill), three buffers for chunks of 8 0.210.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_FEW_OUT_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_FEW_OUT_CHANNELS_H

#include <numeric>

#include "algorithm/forward_funcs.h"
#include "schedules/shared/block_threads.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaFewOutChannels : CudaSchedule {
    static constexpr const char *family = "few_out_channels";

    /// Threads of a block along columns, rows and input channels. A warp should not span splits.
    GeneratorParam<int> lanes_x{"lanes_x", 8}, lanes_y{"lanes_y", 8}, splits{"splits", 2};
    /// Neighbouring cells that a thread keeps.
    GeneratorParam<int> cells_x{"cells_x", 4}, cells_y{"cells_y", 1};
    /// Input channels staged at a time, and how many of a thread's own are unrolled.
    GeneratorParam<int> chunk{"chunk", 4}, unroll_in_channels{"unroll_in_channels", 1};
    /// Chunks in shared memory: one is computed while the next are on their way.
    GeneratorParam<int> stages{"stages", 2};
    /// What is computed where the number of channels is a run-time value.
    GeneratorParam<int> max_out_channels{"max_out_channels", 4};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    static constexpr bool weight_in_a_row = true, single_rows = true;
    int weight_channel_multiple() const { return 1; }
    int in_channel_chunk() const { return chunk; }
    /// Rows and columns.
    std::pair<int, int> block_cells() const { return {tile_y(), tile_x()}; }
    void describe(KernelDescription &description) const {
        description.set("max_out_channels", max_out_channels);
        const std::string known = description.get("out_channels");
        description.set("block_channels", known == "0" ? std::to_string(max_out_channels) : known);
        description.set("blocks_per_multiprocessor", 3);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        space.choose(lanes_x, {4, 8, 16, 32});
        space.choose(lanes_y, {1, 2, 4, 8, 16});
        space.choose(cells_x, {2, 4, 8});
        space.choose(cells_y, {1, 2, 4});
        const int splits = space.choose(this->splits, {1, 2, 4, 7, 8});
        const int chunk = space.choose(this->chunk, {4, 8, 14, 16, 28});
        const int unroll_in_channels = space.choose(this->unroll_in_channels, {1, 2, 4});
        const int stages = space.choose(this->stages, {2, 3});
        const int columns = tile_x() * problem.stride_x, rows = tile_y() * problem.stride_y;
        const int cell_outputs = problem.stride_x * problem.stride_y * problem.out_channels;
        const int cells = cells_x * cells_y.value(), sums = cells * cell_outputs;
        const int input = problem.x_axis.reach(tile_x()) * problem.y_axis.reach(tile_y());
        space.require("there are few output channels", problem.out_channels > 0 && problem.out_channels <= 4);
        space.require("tiles fit the picture", problem.tiles_fit(columns, rows));
        space.require("whole vectors are stored", tile_x() % vector == 0);
        space.require("a warp shares its input channels", lanes_x * lanes_y.value() % GpuLimits::warp == 0);
        space.require("threads fit a block", threads() <= 512);
        space.require("splits and unrolled input channels divide the chunk",
                      chunk % (splits * unroll_in_channels) == 0);
        space.require("chunks divide the input channels", problem.in_channels % chunk == 0);
        space.require("a thread's sums fit its registers", sums >= 8 && sums <= GpuLimits::sums);
        space.require("the staged chunk and the splits' sums fit shared memory",
                      4 * stages * std::max(chunk * (input + problem.taps() * problem.out_channels),
                                            chunk * problem.taps() * problem.out_channels + splits * columns * rows) <=
                          GpuLimits::shared_bytes);
        space.require("the unrolled loop stays short",
                      cells * problem.taps() * problem.out_channels * unroll_in_channels <= GpuLimits::unrolled);
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        Halide::Func own_sum = keep_own_sums(f);
        exchange(f, own_sum);
        store_tile(f);
        stage_input(f, own_sum);
        stage_weights(f, own_sum);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    static constexpr int vector = 4;  // of stored columns, and of loaded weights

    Halide::Var lane_x{"lane_x"}, lane_y{"lane_y"}, split{"split"};
    Halide::Var column{"column"}, element{"element"}, round{"round"};
    /// The loop over chunks of input channels, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar pipeline{"pipeline"};
    Halide::RVar split_of_chunk{"split_of_chunk"};

    int threads() const { return lanes_x * lanes_y.value() * splits.value(); }
    // Cells of a block.
    int tile_x() const { return lanes_x * cells_x.value(); }
    int tile_y() const { return lanes_y * cells_y.value(); }
    int channels(const ForwardFuncs &f) const { return f.out_channels ? f.out_channels : max_out_channels; }
    // Columns that hold whole cells and whole vectors.
    static int stored_columns(const ForwardFuncs &f) { return std::lcm(vector, f.stride_x()); }

    void share_out(Halide::Func f, const std::vector<Halide::VarOrRVar> &inside,
                   const std::vector<Halide::VarOrRVar> &outside) const {
        const BlockThreads threads{lanes_x, lanes_y, splits, lane_x, lane_y, split, round};
        threads.share_out(f, element, inside, outside);
        f.unroll(round);
    }

    /// Gives each thread its cells.
    void distribute(Halide::Stage s, const GatherVars &v) const {
        s.split(v.cell_x, lane_x, v.cell_x, cells_x)
            .split(v.cell_y, lane_y, v.cell_y, cells_y)
            .unroll(v.cell_y).unroll(v.phase_x).unroll(v.phase_y)
            .gpu_threads(lane_x, lane_y, split)
            .never_partition_all();
    }

    /// The sums of each split.
    Halide::Func keep_own_sums(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        RVar own_channel{"own_channel"}, unrolled{"unrolled"};
        f.sum.update().split(f.taps.z, pipeline, own_channel, chunk, guard)
            .split(own_channel, split_of_chunk, own_channel, chunk / splits.value());
        Func own_sum = f.sum.update().rfactor(split_of_chunk, split);
        own_sum.compute_at(f.output, column).store_in(MemoryType::Register);
        bound_tile(own_sum, f).bound_extent(v.channel, channels(f));
        Stage init = own_sum, update = own_sum.update();
        distribute(init, v);
        init.unroll(v.cell_x).unroll(v.channel)
            .reorder(v.cell_x, v.phase_x, v.phase_y, v.cell_y, v.channel, lane_x, lane_y, split);
        distribute(update, v);
        update.split(own_channel, own_channel, unrolled, unroll_in_channels)
            .unroll(v.cell_x).unroll(v.channel).unroll(f.taps.x).unroll(f.taps.y).unroll(unrolled)
            .reorder({v.cell_x, v.phase_x, v.phase_y, v.cell_y, v.channel, f.taps.x, f.taps.y, unrolled, own_channel,
                      lane_x, lane_y, split, pipeline});
        return own_sum;
    }

    Halide::Func bound_tile(Halide::Func f, const ForwardFuncs &funcs) const {
        const GatherVars &v = funcs.v;
        f.bound_extent(v.cell_x, tile_x()).bound_extent(v.cell_y, tile_y()).bound_extent(split, splits);
        f.bound(v.phase_x, 0, funcs.stride_x()).bound(v.phase_y, 0, funcs.stride_y());
        f.bound_extent(v.group, 1).bound_extent(v.batch, 1);
        return f;
    }

    /// The splits' sums meet in shared memory, where each thread adds up those of other cells than its own.
    void exchange(ForwardFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Func met = own_sum.in(f.sum);
        met.compute_at(f.output, v.channel).store_in(MemoryType::GPUShared);
        bound_tile(met, f).bound_extent(v.channel, 1);
        distribute(met, v);
        met.vectorize(v.cell_x)
            .reorder(v.cell_x, v.phase_x, v.phase_y, v.cell_y, lane_x, lane_y, split);

        f.sum.compute_at(f.output, round).store_in(MemoryType::Register);
        f.sum.bound_extent(v.cell_x, stored_columns(f) / f.stride_x()).bound_extent(v.phase_x, f.stride_x());
        for (const Var &d : {v.cell_y, v.phase_y, v.channel, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.unroll(v.cell_x).unroll(v.phase_x);
        f.sum.update().reorder(v.cell_x, v.phase_x, split_of_chunk)
            .unroll(v.cell_x).unroll(v.phase_x).unroll(split_of_chunk);
    }

    void store_tile(ForwardFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Var part{"part"}, vec{"vec"}, stored{"stored"}, row{"row"}, channel_block{"channel_block"}, image{"image"};
        f.output.split(v.x, column, v.x, tile_x() * f.stride_x(), guard)
            .split(v.x, part, v.x, stored_columns(f), guard)
            .split(v.x, vec, stored, vector, guard)
            .split(v.y, row, v.y, tile_y() * f.stride_y(), guard)
            .split(v.channel, channel_block, v.channel, channels(f), guard)
            .fuse(part, v.y, element)
            .fuse(column, channel_block, column)
            .fuse(v.group, v.batch, image);
        share_out(f.output, {stored, vec, round}, {v.channel, column, row, image});
        f.output.vectorize(stored).unroll(vec).unroll(v.channel).gpu_blocks(column, row, image);

        f.activated.compute_at(f.output, vec).store_in(MemoryType::Register);
        f.activated.bound_extent(v.x, vector).unroll(v.x);
        for (const Var &d : {v.y, v.channel, v.group, v.batch}) f.activated.bound_extent(d, 1);
        f.activated.specialize(f.no_smooth_activation);
    }

    void stage_input(ForwardFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        Func in = f.padded_input.in(own_sum);
        const std::vector<Var> args = in.args();
        in.compute_at(own_sum, pipeline).store_in(MemoryType::GPUShared);
        // Whole vectors, so that every row begins at one.
        const int staged_width = (f.x_axis.reach(tile_x()) + vector - 1) / vector * vector;
        in.bound_extent(args[0], staged_width).bound_extent(args[1], f.y_axis.reach(tile_y()));
        in.bound_extent(args[2], chunk).bound_extent(args[3], 1).bound_extent(args[4], 1);
        in.fuse(args[0], args[1], element);
        share_out(in, {round, args[2]}, {args[3], args[4]});
        in.unroll(args[2]);
    }

    void stage_weights(ForwardFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        Func weights = f.weight.in(f.tap_weight);
        const std::vector<Var> args = weights.args();
        weights.compute_at(own_sum, pipeline).store_in(MemoryType::GPUShared);
        weights.bound_extent(args[0], f.kernel_x() * f.kernel_y() * channels(f));
        weights.bound_extent(args[1], chunk).bound_extent(args[2], 1);
        // Each input channel's begin at a multiple of 16 bytes.
        weights.align_storage(args[0], vector);
        weights.fuse(args[0], args[1], element);
        share_out(weights, {round}, {args[2]});
    }
};

}  // namespace conv_transpose

#endif
