// Schedule: a matrix product on a GPU's CUDA cores, every attribute of the problem a run-time value: the forward operation and the
// input gradient of any problem whose channels fill enough of a tile.
//
// H200, 2026-11-21, TFLOP/s of 67: k16 s8 512 to 256 channels 38 (57 %), k5 s2 256 to 128 35, their input gradients 33 to 41;
// cuBLAS's products of the same sizes 39 to 46 (2026-11-28). Three axes, 2026-11-22: k2 s2, 128 to 64 channels, 26 (39 %). ncu on
// k5 s2: 70 % of all cycles issue, the ends of phases of unequal length among them; 84 % of the loop's instructions multiply.
//
// Order: a block computes a tile of one phase, columns x channels. Columns are cells of the phase, counted through all pictures, so
// that small and narrow pictures fill tiles. The sum runs in steps, each a tap of a chunk of channels. A step stages two matrices:
// the pixels that the tap sees, and the tap's weights. Each thread stages pixels of few columns, whose place in a picture it finds
// once; the next step's are on their way meanwhile (compiler/passes/software_pipeline.h). Only a phase's live taps are steps
// (compiler/passes/guarded_pipeline.h). Taps are innermost: they see much the same pixels, which are in the first cache. Threads
// keep 4x4 to 8x16 sums. Phases are outermost among blocks, those of most taps first, so that multiprocessors have as much of each;
// parts of a sum are inside of phases. At the end sums pass through shared memory, so that lanes store neighbouring columns, whose
// place is found once for all channels; where phases are channels, lanes of four channels x eight columns store.
// - Weights are read as they are given where their rows lie as a step needs them: where taps are summed like channels, or phases are
//   channels. That is a launch less, and as fast for each product.
// - Small problems read them so, too. Few tiles leave multiprocessors idle: there the threads of a block share out the channels of a
//   step, and their sums meet on the way to the stores.
// - Windows: tiles of few channels stage a pixel for few products, 4 bytes at a time. There a step has a window of taps along x,
//   whose pixels are neighbours in a row of cells, as a thread's columns are, and those that rows share are filled up.
// - Taps that are summed like channels: lanes stage four neighbouring taps of eight columns, which takes fewer lines of the first
//   cache, and finds a tap's place once for four columns.
//
// What was tried: docs/experiments.md#implicit-products-on-cuda-cores
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_CUDA_CORES_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_CUDA_CORES_H

#include "algorithm/implicit_gemm_funcs.h"
#include "schedules/shared/block_threads.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaImplicitGemmCudaCores : CudaSchedule {
    static constexpr const char *family = "implicit_gemm";

    /// Threads of a block along columns, channels and further columns.
    GeneratorParam<int> lanes_x{"lanes_x", 8}, lanes_channel{"lanes_channel", 8}, lanes_y{"lanes_y", 2};
    /// What a thread keeps, in vectors of four: columns, and channels.
    GeneratorParam<int> column_vectors{"column_vectors", 2}, channel_vectors{"channel_vectors", 2};
    /// Sets of threads that share out the channels of a step.
    GeneratorParam<int> splits{"splits", 1};
    /// Channels of a step, and how many of a thread's own are unrolled.
    GeneratorParam<int> chunk_channels{"chunk", 8}, unroll_summed{"unroll_summed", 8};
    /// Steps in shared memory: one is computed while the next are on their way.
    GeneratorParam<int> stages{"stages", 2};

    /// Taps along x of a step, which see neighbours that are staged once, and that a thread loads once for its own columns.
    GeneratorParam<int> window{"window", 1};

    /// Lanes that stage neighbouring channels of a column: where taps are summed like channels these are neighbours in the picture,
    /// and columns lie a stride apart.
    GeneratorParam<int> staging_channels{"staging_channels", 1};

    /// Lanes that store neighbouring channels of a column: where phases are channels these are neighbours in the output.
    GeneratorParam<int> storing_channels{"storing_channels", 1};

    /// On a multiprocessor, as registers allow: for the estimate of times.
    GeneratorParam<int> blocks{"blocks", 4};

    /// Channels of a group: with fewer most of a tile would be computed in vain.
    static constexpr int least_summed = 5, least_computed = 5;
    /// A kernel with a window takes at most so many output channels: with 56 and 64 larger tiles took half as long (k4
    /// s4, k2 s2 of three axes, H200, 2026-11-22).
    static constexpr int most_of_window = 4;
    static constexpr bool guarded_pipeline = true;

    GemmTile tile(const GemmFuncs &) const {
        return {.positions = positions(), .channels = channels(),
                .loops = {{.extent = stored_channels() / storing_channels, .positions = 0, .channels = storing_channels},
                          {.extent = storing_channels, .positions = 0, .channels = 1},
                          {.extent = positions(), .positions = 1, .channels = 0},
                          {.extent = channels() / stored_channels(), .positions = 0, .channels = stored_channels()}},
                .phases_innermost = true};
    }
    int chunk(const GemmFuncs &) const { return chunk_channels; }

    void describe(KernelDescription &description, const GemmFuncs &) const {
        description.set("weight_channel_multiple", channels());
        describe_gpus(description);
        description.set("block_positions", 1, positions());
        if (window > 1) {
            description.set("window", window);
            if (lanes_channel == 1) description.set("max_out_channels", most_of_window);
        }
        description.set("block_channels", channels());
        description.set("weight_in_channel_multiple", chunk_channels);
        description.set("blocks_per_multiprocessor", blocks);
        description.set("counts_through_images", "true");
    }

    /// `fewest_channels`: of a group's input and output.
    void search_space(SearchSpace &space, int fewest_channels) const {
        space.choose(lanes_x, {4, 8, 16});
        space.choose(lanes_channel, {4, 8, 16});
        space.choose(lanes_y, {1, 2, 4});
        space.choose(column_vectors, {1, 2});
        space.choose(channel_vectors, {1, 2});
        const int shared_out = space.choose(splits, {1, 2, 4, 8, 16});
        const int chunk = space.choose(chunk_channels, {8, 16, 32, 64, 128});
        const int unrolled = space.choose(unroll_summed, {4, 8, 16});
        const int buffers = space.choose(stages, {2, 3});
        const int count = threads().count();
        space.require("channels fill enough of a tile", fewest_channels >= std::max(least_summed, least_computed));
        space.require("a block has two to sixteen warps",
                      count >= 2 * GpuLimits::warp && count <= GpuLimits::threads / 2 && count % GpuLimits::warp == 0);
        space.require("threads of a split have whole channels of a chunk", chunk % (shared_out * unrolled) == 0);
        space.require("a thread stages whole columns of a chunk", chunk % std::max(count / positions(), 1) == 0);
        space.require("the stages fit shared memory",
                      buffers * chunk * (positions() + channels()) * 4 <= GpuLimits::shared_bytes);
    }

    void apply(GemmFuncs &f, const Halide::Target &) const {
        const Halide::Func own_sum = keep_own_sums(f);
        store_tile(f, own_sum);
        stage_pixels(f, own_sum);
        stage_weights(f, own_sum);
    }

  private:
    static constexpr int vector = 4;

    int positions() const { return lanes_x * lanes_y.value() * column_vectors.value() * vector; }
    int channels() const { return lanes_channel * channel_vectors.value() * vector; }
    /// Threads exchange a vector of channels of each at a time, before they store.
    int stored_channels() const { return lanes_channel * vector; }

    Halide::Var vec{"vec"}, part{"part"}, element{"element"}, piece{"piece"}, split{"split"};
    Halide::RVar block{"block"};
    /// The loop over steps, by the name that compiler/passes/software_pipeline.h looks for.
    Halide::RVar pipeline{"pipeline"};

    BlockThreads threads() const { return {lanes_x, lanes_channel, lanes_y * splits.value()}; }

    /// The sums of each split.
    Halide::Func keep_own_sums(GemmFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        RVar summed = f.r.k_group, split_of_chunk{"split_of_chunk"}, unrolled{"unrolled"};
        f.sum.update()
            .rename(f.r.step, pipeline)
            .split(summed, split_of_chunk, summed, chunk_channels * window.value() / splits.value());
        Func own_sum = f.sum.update().rfactor(split_of_chunk, split);
        own_sum.compute_at(f.output, block).store_in(MemoryType::Register);
        bound_tile(own_sum, f).bound_extent(f.v.channel, channels());
        Stage init = own_sum, update = own_sum.update();
        distribute(init, f);
        init.reorder(thread_loops());
        distribute(update, f);
        update.split(summed, summed, unrolled, unroll_summed)
            .unroll(unrolled)
            .reorder({f.r.value, f.r.term, vec, part, element, piece, unrolled, summed, threads.x, threads.channel,
                      threads.y, pipeline});
        return own_sum;
    }

    Halide::Func bound_tile(Halide::Func sums, const GemmFuncs &f) const {
        sums.bound_extent(f.v.position, positions()).bound(split, 0, splits).bound_extent(f.v.phase, 1)
            .bound_extent(f.v.group, 1);
        return sums;
    }

    /// Gives each thread its columns and channels.
    void distribute(Halide::Stage s, const GemmFuncs &f) const {
        const BlockThreads threads = this->threads();
        s.split(f.v.position, f.v.position, vec, vector).split(f.v.position, f.v.position, threads.x, lanes_x);
        s.split(f.v.position, threads.y, part, column_vectors)
            .fuse(threads.y, split, threads.y)
            .split(f.v.channel, f.v.channel, element, vector)
            .split(f.v.channel, piece, threads.channel, lanes_channel)
            .unroll(vec).unroll(part).unroll(element).unroll(piece)
            .gpu_threads(threads.x, threads.channel, threads.y)
            .never_partition_all();
    }

    /// The first are a thread's own.
    std::vector<Halide::VarOrRVar> thread_loops() const {
        const BlockThreads threads = this->threads();
        return {vec, part, element, piece, threads.x, threads.channel, threads.y};
    }

    /// Sums change threads in shared memory, a piece of the tile at a time: those who add up the splits and store have
    /// neighbouring columns.
    void store_tile(GemmFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        RVar channel = f.stored.loops[0], lane = f.stored.loops[1], column = f.stored.loops[2], piece = f.stored.loops[3],
             group = f.stored.group;
        RVar unrolled{"unrolled"};
        f.output.gpu_single_thread();  // defines nothing, but must not seem to be on the host
        Stage s = f.output.update();
        s.allow_race_conditions()
            .fuse(lane, column, column)
            .split(channel, channel, unrolled, vector).unroll(unrolled).unroll(piece)
            .rename(f.stored.block, block);
        std::vector<VarOrRVar> outside{RVar(threads.round.name()), piece, block, group};
        if (f.stored.phase) outside.push_back(*f.stored.phase);
        threads.share_out(s, column, {unrolled, channel}, outside);
        if (f.stored.phase) s.gpu_blocks(block, group, *f.stored.phase);
        else s.gpu_blocks(block, group);

        Func met = own_sum.in(f.sum);
        met.compute_at(f.output, piece).store_in(MemoryType::GPUShared);
        bound_tile(met, f).bound_extent(f.v.channel, stored_channels());
        // So that lanes of several channels read from banks of their own.
        if (storing_channels > 1) met.align_storage(f.v.position, positions() + GpuLimits::warp / storing_channels);
        distribute(met, f);
        met.reorder(thread_loops());

        f.sum.compute_at(f.output, unrolled).store_in(MemoryType::Register);
        for (const Var &d : {f.v.position, f.v.channel, f.v.phase, f.v.group}) f.sum.bound_extent(d, 1);
        f.sum.update().unroll(RVar("split_of_chunk"));
    }

    void stage_pixels(GemmFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        f.picture.compute_at(own_sum, pipeline).store_in(MemoryType::GPUShared)
            .bound_extent(f.v.position, positions() + window.value() - 1).bound_extent(f.v.k_group, chunk_channels)
            .bound_extent(f.v.step, 1).bound_extent(f.v.phase, 1).bound_extent(f.v.group, 1)
            .bound(f.v.value, 0, 1).bound(f.v.piece, 0, 1);
        // A thread has as few columns as there can be: each has a place of its own in a picture.
        Var channels{"channels"}, lane{"lane"};
        const int sharers = std::max(threads.count() / (positions() * staging_channels.value()), 1);
        f.picture.split(f.v.k_group, channels, f.v.k_group, chunk_channels / sharers);
        if (window > 1) f.picture.align_storage(f.v.position, vector);
        if (const int columns = GpuLimits::warp / staging_channels; columns < GpuLimits::warp) {
            f.picture.align_storage(f.v.position, positions() + columns)  // a warp writes to banks of its own
                .split(f.v.k_group, f.v.k_group, lane, staging_channels)
                .split(f.v.position, f.v.position, element, columns)
                .fuse(lane, element, element).fuse(element, f.v.position, f.v.position);
        }
        f.picture.fuse(f.v.position, channels, element);
        threads.share_out(f.picture, element, {f.v.value, f.v.piece, f.v.k_group, threads.round},
                          {f.v.step, f.v.phase, f.v.group});
        f.picture.unroll(f.v.k_group).unroll(threads.round);
    }

    void stage_weights(GemmFuncs &f, Halide::Func own_sum) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        f.weights.compute_at(own_sum, pipeline).store_in(MemoryType::GPUShared)
            .bound_extent(f.v.channel, channels()).bound_extent(f.v.k_group, chunk_channels * window.value())
            .bound_extent(f.v.step, 1).bound_extent(f.v.phase, 1).bound_extent(f.v.group, 1)
            .bound(f.v.value, 0, 1).bound(f.v.piece, 0, 1);
        std::vector<VarOrRVar> own{f.v.value, f.v.piece, threads.round};
        if (f.computes_neighbours) {
            f.weights.fuse(f.v.channel, f.v.k_group, element);
        } else if (f.weights_as_given) {
            join_sectors(f);
        } else {
            f.weights.split(f.v.channel, f.v.channel, vec, vector).vectorize(vec).fuse(f.v.channel, f.v.k_group, element);
            own.insert(own.begin(), vec);
        }
        threads.share_out(f.weights, element, own, {f.v.step, f.v.phase, f.v.group});
        f.weights.unroll(threads.round);
    }

    /// Lanes read eight neighbours, which are 32 bytes, of four rows each; by a vector more a row of shared memory
    /// they write to banks of their own.
    void join_sectors(GemmFuncs &f) const {
        Halide::Var sector{"sector"}, row{"row"};
        f.weights.align_storage(f.v.channel, channels() + vector)
            .split(f.v.k_group, f.v.k_group, sector, 8)
            .split(f.v.channel, f.v.channel, row, 4)
            .fuse(sector, row, element).fuse(element, f.v.channel, element).fuse(element, f.v.k_group, element);
    }
};

}  // namespace conv_transpose

#endif
