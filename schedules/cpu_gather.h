// Schedules: tensors of any rank, format and layout on the CPU, every attribute a run-time value. The kernels of last resort.
//
// AMD EPYC (Zen 5, AVX-512), one thread, 2026-11-22: depthwise 3-D k5 s2, 64 channels of 16^3: 76 ms forward, 31 ms input
// gradient, 65 ms weight gradient: 0.3, 0.4 and 0.3 % of the limit.
//
// Order: rows of a tile of channels are the unit of work. Lanes are neighbouring channels, of which the packed weights
// have whole vectors; every position is a scalar that all of them share. So layouts cost nothing in the loops over taps,
// and positions find their live taps without gathers. What limits it: channels that do not fill a vector.
//
// Of the weight gradient a tap of a tile of channels is the unit of work. Lanes are neighbouring positions of a row; their sums
// stay in registers over all positions, and are added at the end. What limits it: the output gradient is gathered with the
// stride, and in channels_last the input with the channels.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_GATHER_H

#include "algorithm/gather_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuGather : CpuSchedule {
    static constexpr const char *family = "gather";
    Halide::GeneratorParam<int> channels{"channels", 8};

    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &) const {}

    GatherTile tile() const { return {channels, 1, 0}; }

    void apply(AnyGatherFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const int width = std::min<int>(channels, target.natural_vector_size<float>());
        const RDom &r = f.elements;
        RVar work{"work"};
        f.output.update().allow_race_conditions()  // no two elements are one
            .reorder(r[0], r[1], r[2], r[3], r[4], r[5]).fuse(r[4], r[5], work).parallel(work).never_partition_all();
        for (size_t d = 0; d < f.taps_of.size(); d++)
            f.taps_of[d].compute_at(f.output, d == 0 ? r[3] : work).store_in(MemoryType::Stack);
        f.sum.compute_at(f.output, r[3]).store_in(MemoryType::Stack)
            .bound_extent(f.channel, channels).vectorize(f.channel, width).unroll(f.channel);
        f.sum.update().reorder(f.channel, f.group, f.taps[0], f.taps[1], f.taps[2], f.taps[3])
            .vectorize(f.channel, width).unroll(f.channel).never_partition_all();
    }
};

struct CpuWeightGradientGather : CpuSchedule {
    static constexpr const char *family = "gather";
    Halide::GeneratorParam<int> in_tile{"in_tile", 2}, out_tile{"out_tile", 2};

    void describe(KernelDescription &description) const {
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", out_tile);
        description.set("wanted_blocks", 64);
    }

    WeightTile tile() const { return {in_tile, out_tile, 1, int(in_tile) * int(out_tile), 1}; }

    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        constexpr int lanes = 4;
        const RDom &w = f.weights;
        Var lane{"lane"};
        RVar step{"step"}, r_lane{"r_lane"}, parts{"parts"}, work{"work"};
        f.partial.update().allow_race_conditions()  // no two elements are one
            .fuse(w[4], w[5], parts).fuse(w[3], parts, work).parallel(work).never_partition_all();
        // A few sums of neighbours at a time hide the latency of additions.
        f.sum.update().split(f.positions[0], step, r_lane, lanes, TailStrategy::GuardWithIf);
        Func lane_sum = f.sum.update().rfactor(r_lane, lane);
        const auto bound = [&](Func s) { s.bound_extent(f.weight, tile().weights()).unroll(f.weight); };
        bound(f.sum.compute_at(f.partial, work).store_in(MemoryType::Stack));
        bound(lane_sum.compute_at(f.partial, work).store_in(MemoryType::Stack));
        lane_sum.unroll(lane);
        lane_sum.update().reorder({f.weight, lane, step, f.positions[1], f.positions[2]})
            .unroll(f.weight).unroll(lane).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
