// Schedules: tensors of any rank, format and layout on CUDA cores, every attribute a run-time value: the kernels of last resort,
// and those of depthwise problems and small groups.
//
// H200, percent of the memory limit. Depthwise, 2026-11-22: 1-D k3 s2, 8 x 512 channels, 4096 samples, forward 28 %, weight
// gradient 47 %; 3-D k5 s2, 32 channels of 64^3, 16 %. Vectors of eight channels, float16, channels_last, 2026-11-27: k5 s2, 2 x
// 144 channels of 128x128, forward 28 %, input gradient 34 %, weight gradient 24 %; 1-D k16 s8 47 and 74 %. Groups of 8 channels,
// 3-D k(3,5,7) s2: 14 % of the FP32 peak. Instructions limit: finding a thread's place and taps, and of each tap and position an
// address and a test.
//
// Order: lanes run over consecutive positions, all axes, groups and images joined, so that stores are dense and no lane idles
// whatever the extents; in channels_last they run over vectors of channels first. A row is cut into parts a multiple of the stride
// apart: a thread has the same position of each, which all see the same taps, so that these are found, and weights loaded, once.
// Summed channels are the innermost loop, behind the tests of a tap. Small problems have one channel and part a thread, and weights
// as they are given, so one launch. With a window the parts are neighbours in a column, a step of taps apart: what `window` taps
// see of them overlaps and is loaded once, by addresses that rows of taps share. Parts in a row would take a warp's stores apart if
// they were neighbours, so one axis has parts far from each other.
//
// Weight gradients: as cuda_weight_gradient_general.h; lanes are neighbouring positions of a volume, all axes joined, so none idles
// whatever the extents. A thread keeps the sums of in_tile x out_tile channels and `taps` neighbouring taps of a row. The lanes'
// sums are added from shared memory, in the order of the lanes. In channels_last a thread has a vector of groups, and its
// neighbours in a warp the vectors beside it.
//
// What was tried: docs/experiments.md#gathers-and-depthwise-kernels
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H

#include <algorithm>

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
    /// It is for problems of at most so many products, which are mostly launches: one that packs weights takes longer than it
    /// saves.
    Halide::GeneratorParam<int> max_products{"max_products", 0};
    /// They say how parts of a thread lie; see GatherTile.
    Halide::GeneratorParam<int> part_axis{"part_axis", 0}, window{"window", 0};
    Halide::GeneratorParam<bool> multiplies_zeros{"multiplies_zeros", false};

    int weight_channel_multiple() const { return packs_weights ? int(channels) : 0; }
    void describe(KernelDescription &description) const {
        describe_tile(description);
        if (!packs_weights) description.set("min_in_channels", 2);  // depthwise problems have kernels of their own
        if (max_products > 0) description.set("max_products", max_products);
        else if (!packs_weights) description.set("max_in_channels", channels);
        // With more on one side threads of a row are faster: 1x1x1, 32 to 2 channels 0.039 ms in place of 0.072 (H200, 2026-11-22).
        if (window > 0 && channels == 4)
            for (const char *most : {"max_in_channels", "max_out_channels"}) description.set(most, channels);
    }

    GatherTile tile() const { return {channels, 1, threads, parts, false, part_axis, window, multiplies_zeros}; }

    void apply(AnyGatherFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile(), 1); }

  protected:
    void describe_tile(KernelDescription &description) const {
        description.set("parts", parts);
        description.set("part_axis", part_axis);
        if (window > 0) description.set("parts_are_neighbours", "true"), description.set("taps_at_once", window);
        description.set("block_channels", channels);
    }
    /// So many summed channels are read at once.
    static void compute_in_threads(AnyGatherFuncs &f, const GatherTile &tile, int read) {
        using namespace Halide;
        const RDom &r = f.elements;
        Stage stored = f.output.update();
        stored.allow_race_conditions()  // no two elements are one
            .reorder(r[0], r[1], r[2], r[3], r[4], r[5]);
        // LLVM stores two numbers of float32 in place of two of float16 (Halide 21.0).
        if (tile.vector() > 2) stored.vectorize(tile.groups > 1 ? r[1] : r[0], tile.vector());
        stored.unroll(r[0]).unroll(r[1]).unroll(r[2]).gpu_blocks(r[4], r[5]).gpu_threads(r[3]).never_partition_all();

        if (f.place.defined()) f.place.compute_at(f.output, r[3]).store_in(MemoryType::Register);
        for (Func &taps_of : f.taps_of) taps_of.compute_at(f.output, r[3]).store_in(MemoryType::Register);
        for (Func in_thread : {f.initial, f.finished, f.sum})
            in_thread.compute_at(f.output, r[3]).store_in(MemoryType::Register)
                .bound_extent(f.channel, tile.channels).bound_extent(f.group, tile.groups)
                .reorder(f.channel, f.group).unroll(f.channel).unroll(f.group);
        for (Func of_parts : {f.finished, f.sum})
            of_parts.bound_extent(f.part, tile.parts).reorder(f.channel, f.group, f.part).unroll(f.part);
        for (const Expr &condition : {f.no_activation, f.no_smooth_activation}) f.finished.specialize(condition);

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
        describe_tile(description);
        description.set("max_out_channels", 4);
        if (window > 0) description.set("min_output", parts + parts / 2, 1);
        if (min_taps > 0) description.set("min_taps", min_taps);
        if (multiplies_zeros) description.set("strict_propagation", "false");
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

/// Depthwise problems have vectors of groups, whose weights are a vector, too.
struct CudaDepthwiseVectors : CudaGather {
    static constexpr const char *family = "depthwise";
    Halide::GeneratorParam<int> groups{"groups", 4};
    CudaDepthwiseVectors() { channels.set(1); }
    int weight_channel_multiple() const { return groups; }
    GatherTile tile() const { return {1, groups, threads, parts, true, part_axis, window, multiplies_zeros}; }
    void describe(KernelDescription &description) const {
        describe_tile(description);
        description.set("group_multiple", groups);
        if (part_axis == 1) description.set("min_output", parts + parts / 2, 1);
        if (multiplies_zeros) description.set("strict_propagation", "false");
    }
    void apply(AnyGatherFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile(), 1); }
};

struct CudaWeightGradientGather : CudaSchedule {
    static constexpr const char *family = "gather";
    Halide::GeneratorParam<int> in_tile{"in_tile", 4}, out_tile{"out_tile", 4}, taps{"taps", 1};
    /// Lanes have positions of their own, and warps output channels.
    Halide::GeneratorParam<int> lanes{"lanes", 32}, warps{"warps", 4};
    Halide::GeneratorParam<int> at_once{"at_once", 4};  // positions of a lane whose loads are under way together
    Halide::GeneratorParam<int> wanted_blocks{"wanted_blocks", 2112};
    Halide::GeneratorParam<int> window{"window", 1}, run{"run", 1};  // see WeightTile

    int block_out_channels() const { return int(out_tile) * int(warps); }
    WeightTile tile() const { return {in_tile, block_out_channels(), taps, lanes, warps, 1, window, run}; }

    void describe(KernelDescription &description) const {
        description.set("tile_taps", int(taps) * int(window));
        if (window > 1) description.set("window", window);
        description.set("run_rows", run);
        if (run > 1) description.set("min_output", run + run / 2, 1);
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", block_out_channels());
        description.set("wanted_blocks", wanted_blocks);
        description.set("chunk_rows", lanes);
    }

    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile()); }

  protected:
    void compute_in_threads(AnyWeightGradientFuncs &f, const WeightTile &tile) const {
        using namespace Halide;
        const int lanes = tile.lanes;
        const RDom &w = f.weights;
        Var lane{"lane"}, warp{"warp"};
        RVar step{"step"}, next{"next"}, r_lane{"r_lane"};

        f.sum.update().split(f.positions.x, step, r_lane, lanes).split(step, step, next, at_once);
        Func lane_sum = f.sum.update().rfactor(r_lane, lane);
        Func lane_sums = lane_sum.in(f.sum);

        f.partial.update().allow_race_conditions()  // no two elements are one
            .gpu_blocks(w[3], w[4], w[5]).gpu_threads(w[1], w[2]).never_partition_all();
        f.sum.compute_at(f.partial, w[0]);
        f.sum.update().unroll(r_lane, std::min(lanes, 16));

        const int of_thread = tile.weights() / tile.warps;
        lane_sums.compute_at(f.partial, w[3]).store_in(MemoryType::GPUShared)
            .bound_extent(f.weight, tile.weights()).reorder_storage(f.weight, lane)
            .align_storage(f.weight, tile.weights() + 1)
            .split(f.weight, warp, f.weight, of_thread);
        if (tile.of_groups()) lane_sums.reorder(f.weight, warp, lane).gpu_threads(warp, lane);
        else lane_sums.reorder(f.weight, lane, warp).gpu_threads(lane, warp);
        lane_sums.unroll(f.weight);
        lane_sum.compute_at(lane_sums, tile.of_groups() ? warp : lane).store_in(MemoryType::Register)
            .bound_extent(f.weight, of_thread).unroll(f.weight);
        Stage update = lane_sum.update();
        update.reorder(f.weight, f.positions[1], next, step).unroll(f.positions[1]).unroll(next);
        if (tile.of_groups()) update.vectorize(f.weight, tile.vector);
        update.unroll(f.weight).never_partition_all();
    }
};

/// One input channel a group, of which a block has one weight after the other: all threads are lanes.
struct CudaDepthwiseWeightGradientGather : CudaWeightGradientGather {
    static constexpr const char *family = "depthwise";
    CudaDepthwiseWeightGradientGather() {
        in_tile.set(1), out_tile.set(1), taps.set(4), lanes.set(128), warps.set(1), wanted_blocks.set(8448);
    }
};

/// Depthwise in channels_last: neighbouring threads have neighbouring vectors of groups, and share positions.
struct CudaDepthwiseWeightGradientVectors : CudaWeightGradientGather {
    static constexpr const char *family = "depthwise";
    Halide::GeneratorParam<int> vector{"vector", 4};
    CudaDepthwiseWeightGradientVectors() {
        in_tile.set(1), out_tile.set(1), taps.set(4), lanes.set(16), warps.set(16), wanted_blocks.set(2112);
    }
    WeightTile tile() const { return {1, 1, taps, lanes, warps, vector, window, run, true}; }
    void describe(KernelDescription &description) const {
        CudaWeightGradientGather::describe(description);
        description.set("tile_out_channels", 1);
        description.set("tile_groups", tile().groups());
        description.set("group_multiple", vector);
    }
    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile()); }
};

}  // namespace conv_transpose

#endif
