// Schedules: the forward operation and the input gradient of tensors of any rank, format and layout on CUDA cores, every
// attribute a run-time value: the kernels of last resort, and those of depthwise problems and small groups.
//
// H200, 2026-11-22, channels_first: depthwise 1-D k3 s2, 8 x 512 channels, 4096 samples: 0.170 ms forward, 28 % of the memory
// limit; 3-D k5 s2, 32 channels of 64^3, 0.450 ms (16 %). float16 takes as long, so instructions limit: finding a thread's
// place and taps, and of each tap and position an address and a test. Groups of 8 channels, 3-D k(3,5,7) s2: 0.61 ms, 14 % of
// the FP32 peak. channels_last, float16, without packing of weights: the 3-D one 0.88 ms (8 %), k4 s2, 16 x 64 channels of
// 64x64, 0.044 (22 %).
//
// With a window the parts are neighbours in a column, a step of taps apart: what `window` taps see of them overlaps and is
// loaded once, by addresses that rows of taps share (1.5 to 2.3 times as fast in three axes). Parts in a row would take
// a warp's stores apart if they were neighbours, so one axis has parts far from each other.
//
// Order: lanes run over consecutive positions, all axes, groups and images joined, so that stores are dense and no lane idles
// whatever the extents; in channels_last they run over vectors of channels first. A row is cut into parts a multiple of the
// stride apart: a thread has the same position of each, which all see the same taps, so that these are found, and weights
// loaded, once. Depthwise, eight parts are up to 1.3 times as fast as four; of vectors four are as many sums. Summed
// channels are the innermost loop, behind the tests of a tap.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H

#include "algorithm/gather_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaGather : CudaSchedule {
    static constexpr const char *family = "gather";
    /// A thread has so many channels and parts, and a block so many threads.
    Halide::GeneratorParam<int> channels{"channels", 8}, parts{"parts", 4}, threads{"threads", 128};
    /// Off: they are read as they are given, of input gradients of no more than `channels`, which are done before they were packed.
    Halide::GeneratorParam<bool> packs_weights{"packs_weights", true};
    /// They say how parts of a thread lie; see GatherTile.
    Halide::GeneratorParam<int> part_axis{"part_axis", 0}, window{"window", 0};

    int weight_channel_multiple() const { return packs_weights ? int(channels) : 0; }
    void describe(KernelDescription &description) const {
        describe_tile(description);
        if (!packs_weights) description.set("max_in_channels", channels);
        // With more on one side threads of a row are faster: 1x1x1, 32 to 2 channels 0.039 ms in place of 0.072 (H200, 2026-11-22).
        if (window > 0 && channels == 4)
            for (const char *most : {"max_in_channels", "max_out_channels"}) description.set(most, channels);
    }

    GatherTile tile() const { return {channels, 1, threads, parts, false, part_axis, window}; }

    void apply(AnyGatherFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile(), 1); }

  protected:
    void describe_tile(KernelDescription &description) const {
        description.set("parts", parts);
        description.set("part_axis", part_axis);
        if (window > 0) description.set("parts_are_neighbours", "true");
        description.set("block_channels", channels);
    }
    /// So many summed channels are read at once.
    static void compute_in_threads(AnyGatherFuncs &f, const GatherTile &tile, int read) {
        using namespace Halide;
        const RDom &r = f.elements;
        Stage stored = f.output.update();
        stored.allow_race_conditions()  // no two elements are one
            .reorder(r[0], r[1], r[2], r[3], r[4], r[5]);
        if (tile.vector() > 1) stored.vectorize(tile.groups > 1 ? r[1] : r[0], tile.vector());
        stored.unroll(r[0]).unroll(r[1]).unroll(r[2]).gpu_blocks(r[4], r[5]).gpu_threads(r[3]).never_partition_all();

        if (f.place.defined()) f.place.compute_at(f.output, r[3]).store_in(MemoryType::Register);
        for (Func &taps_of : f.taps_of) taps_of.compute_at(f.output, r[3]).store_in(MemoryType::Register);
        for (Func in_thread : {f.initial, f.finished, f.sum})
            in_thread.compute_at(f.output, r[3]).store_in(MemoryType::Register)
                .bound_extent(f.channel, tile.channels).bound_extent(f.group, tile.groups)
                .reorder(f.channel, f.group).unroll(f.channel).unroll(f.group);
        for (Func of_parts : {f.finished, f.sum})
            of_parts.bound_extent(f.part, tile.parts).reorder(f.channel, f.group, f.part).unroll(f.part);
        f.finished.specialize(f.no_smooth_activation);

        RVar summed{"summed_vector"};
        Stage update = f.sum.update();
        if (read > 1) update.split(f.taps[0], f.taps[0], summed, read).unroll(summed);
        std::vector<VarOrRVar> order{f.channel, f.group, f.part};
        if (read > 1) order.push_back(summed);
        for (int d : {4, 0, 1, 2, 5, 3}) order.push_back(f.taps[d]);
        update.reorder(order).unroll(f.taps[4]);
        if (tile.groups % 4 == 0) update.vectorize(f.group, 4);
        else if (tile.channels % 4 == 0) update.vectorize(f.channel, 4);
        update.unroll(f.channel).unroll(f.group).unroll(f.part).never_partition_all();
        const Var loops[] = {f.thread, f.block, f.outer, f.tap_x, f.tap_y, f.tap_z, f.first_tap};
        if (tile.window > 0) {
            f.tap_weight.compute_at(f.sum, f.taps[0]).store_in(MemoryType::Register).bound_extent(f.channel, tile.channels)
                .bound_extent(f.group, tile.groups).bound_extent(f.in_window, tile.window).bound_extent(f.summed, read)
                .reorder(f.channel, f.group, f.summed, f.in_window);
            for (const Var &of_loops : loops) f.tap_weight.bound_extent(of_loops, 1);
            if (tile.groups % 4 == 0) f.tap_weight.vectorize(f.group, 4);
            else if (tile.channels % 4 == 0) f.tap_weight.vectorize(f.channel, 4);
            f.tap_weight.unroll(f.channel).unroll(f.group).unroll(f.summed).unroll(f.in_window);
        }
        if (tile.parts == 1) return;
        f.seen.compute_at(f.sum, f.taps[0]).store_in(MemoryType::Register).bound_extent(f.part, tile.seen())
            .bound_extent(f.group, tile.groups).bound_extent(f.summed, read).reorder(f.group, f.summed, f.part);
        for (const Var &of_loops : loops) f.seen.bound_extent(of_loops, 1);
        if (tile.groups > 1) f.seen.vectorize(f.group, tile.groups);
        if (read > 1) f.seen.vectorize(f.summed, read);
        f.seen.unroll(f.group).unroll(f.summed).unroll(f.part);
    }
};

/// Depthwise: weights are few, and read as they are given.
struct CudaDepthwiseGather : CudaGather {
    static constexpr const char *family = "depthwise";
    Halide::GeneratorParam<int> min_taps{"min_taps", 0};
    CudaDepthwiseGather() { channels.set(1), parts.set(8); }
    int weight_channel_multiple() const { return 0; }
    /// More channels of a group share what a thread reads in CudaGather. Most parts of low columns would lie outside.
    void describe(KernelDescription &description) const {
        description.set("max_out_channels", 4);
        if (window > 0) description.set("min_output", parts + parts / 2, 1);
        if (min_taps > 0) description.set("min_taps", min_taps);
    }
};

/// In channels_last, of whole vectors of channels: lanes run over them first, so that a warp stores what lies together.
struct CudaGatherVectors : CudaGather {
    /// Summed channels that are read at once.
    Halide::GeneratorParam<int> read{"read", 4};
    CudaGatherVectors() { channels.set(4), parts.set(8); }
    GatherTile tile() const { return {channels, 1, threads, parts, true, part_axis, window}; }
    void describe(KernelDescription &description) const { describe_tile(description); }
    void apply(AnyGatherFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile(), read); }
};

/// The same of depthwise problems: vectors of groups, whose weights are a vector, too.
struct CudaDepthwiseVectors : CudaGather {
    static constexpr const char *family = "depthwise";
    Halide::GeneratorParam<int> groups{"groups", 4};
    CudaDepthwiseVectors() { channels.set(1); }
    int weight_channel_multiple() const { return groups; }
    GatherTile tile() const { return {1, groups, threads, parts, true, part_axis, window}; }
    void describe(KernelDescription &description) const { description.set("group_multiple", groups); }
    void apply(AnyGatherFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile(), 1); }
};

}  // namespace conv_transpose

#endif
