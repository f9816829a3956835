// Schedules: the forward operation and the input gradient of tensors of any rank, format and layout on CUDA cores, every
// attribute a run-time value: the kernels of last resort, and those of depthwise problems.
//
// H200, 2026-11-22: depthwise 1-D k3 s2, 8 x 512 channels, 4096 samples: 0.191 ms forward, 24 % of the memory limit; 3-D k5
// s2, 2 x 32 channels of 64^3, 1.96 ms (7 %). float16 takes as long, so instructions limit. Groups of 8 channels, 3-D
// k(3,5,7) s2: 0.869 ms, 10 % of the FP32 peak.
//
// Order: lanes run over consecutive positions of a volume, all axes joined, so that stores are dense and no lane idles
// whatever the extents. A thread computes the same position of several channels (depthwise: of several groups): which taps
// are live and where their inputs lie is found once for all of them. Summed channels are the innermost loop, behind the
// tests of a tap.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_GATHER_H

#include "algorithm/gather_funcs.h"
#include "schedules/kernel_description.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

struct CudaGather : CudaSchedule {
    static constexpr const char *family = "gather";
    /// Of a thread; threads of a block.
    Halide::GeneratorParam<int> channels{"channels", 8}, groups{"groups", 1}, threads{"threads", 128};

    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &) const {}
    template <class Read, class Written>
    void declare_layout(Read &, Written &) const {}

    GatherTile tile() const { return {channels, groups, threads}; }

    void apply(AnyGatherFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const RDom &r = f.elements;
        f.output.update().allow_race_conditions()  // no two elements are one
            .reorder(r[0], r[1], r[2], r[3], r[4]).unroll(r[0]).unroll(r[1])
            .gpu_blocks(r[3], r[4]).gpu_threads(r[2]).never_partition_all();

        for (Func &taps_of : f.taps_of) taps_of.compute_at(f.output, r[2]).store_in(MemoryType::Register);
        f.sum.compute_at(f.output, r[2]).store_in(MemoryType::Register)
            .bound_extent(f.channel, channels).bound_extent(f.group, groups).unroll(f.channel).unroll(f.group);
        Stage update = f.sum.update();
        update.reorder(f.channel, f.group, f.taps[0], f.taps[1], f.taps[2], f.taps[3]);
        if (channels % 4 == 0) update.vectorize(f.channel, 4);
        update.unroll(f.channel).unroll(f.group).never_partition_all();
    }
};

/// Without packing: weights are few, and read as they are given.
struct CudaDepthwiseGather : CudaGather {
    static constexpr const char *family = "depthwise";
    CudaDepthwiseGather() { channels.set(1), groups.set(8); }
    int weight_channel_multiple() const { return 0; }
    /// More channels of a group share what a thread reads in CudaGather.
    void describe(KernelDescription &description) const {
        description.set("min_groups", groups);
        description.set("max_out_channels", 4);
    }
};

}  // namespace conv_transpose

#endif
