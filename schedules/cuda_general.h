// Schedule: any problem on a GPU, every attribute a run-time value. The kernel of last resort.
//
// H200, 2026-11-21: 12 % of the FP32 peak (67 TF/s) on dense problems, bound by the loads of weights through
// L1. On twenty random mid-sized problems (tests/shapes/random.txt) 0.43 to 4.4 times as fast as cuDNN, 1.2
// times at the median.
//
// Order: lanes run over consecutive outputs of a plane, rows joined, so that stores are dense and no lane
// idles whatever the width. A thread computes the same position of several channels: each input element that
// it loads is used once a channel, and the channels' weights are 128-bit loads, shared through L1 by all
// lanes of a phase. Input channels are the innermost loop, so that the tests of a tap (is it live, is its
// input inside the picture) are made once a tap.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_GENERAL_H

#include "algorithm/forward_funcs.h"
#include "schedules/search_space.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

struct CudaGeneral : CudaSchedule {
    static constexpr const char *family = "general";
    static constexpr bool last_resort = true;
    /// Channels a thread.
    Halide::GeneratorParam<int> channels{"channels", 8};
    Halide::GeneratorParam<int> threads{"threads", 128};

    /// For problems of few channels, where the others would be computed in vain; 0 is no limit.
    Halide::GeneratorParam<int> max_out_channels{"max_out_channels", 0};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &description) const {
        if (max_out_channels > 0) description.set("max_out_channels", max_out_channels);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int channels = space.choose(this->channels, {4, 8, 12, 16, 32});
        space.choose(threads, {32, 64, 128, 256});
        space.require("less than half of the channels are idle", channels < 2 * std::max(problem.out_channels, 4));
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int vector = std::min<int>(4, channels);
        Var position{"position"}, thread{"thread"}, channel_block{"channel_block"}, block{"block"}, image{"image"};

        f.output.split(v.channel, channel_block, v.channel, channels, TailStrategy::GuardWithIf)
            .fuse(v.x, v.y, position)
            .split(position, position, thread, threads, TailStrategy::GuardWithIf)
            .reorder(v.channel, thread, position, channel_block, v.group, v.batch)
            .fuse(position, channel_block, block)
            .fuse(v.group, v.batch, image)
            .unroll(v.channel)
            .gpu_blocks(block, image)
            .gpu_threads(thread);
        f.output.never_partition_all();

        f.sum.compute_at(f.output, thread).store_in(MemoryType::Register);
        for (const Var &d : {v.x, v.y, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.bound_extent(v.channel, channels).vectorize(v.channel, vector).unroll(v.channel);
        f.sum.update()
            .reorder(v.channel, f.taps.z, f.taps.x, f.taps.y)
            .vectorize(v.channel, vector)
            .unroll(v.channel)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
