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
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

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

/// Products of input and weight elements up to which the second launch is the longer part.
constexpr int small_problem_products = 1 << 20;

/// The same for problems so small that launching a second kernel, which packs the weights, takes longer than it saves.
///
/// NVIDIA H200, 2026-11-21, microseconds, and of the next best kernel with its packing: 4 to 4 channels k3 on
/// 4x4 pixels 5.1 (5.8), 8 to 8 on 8x8 6.7 (9.4), 16 to 16 k4 s2 p1 on 16x16 7.6 (9.6), 32 to 32 k3 p1 on 8x8
/// 19.9 (20.0). All under 1 % of what memory or multipliers allow.
///
/// One thread computes one element, and reads weights as PyTorch has them. The launch itself is the larger part
/// of a few microseconds, so there is nothing to tile; what counts is that one launch is all. Where a sum
/// is long its latency adds up, as it does in the others. Depthwise problems have kernels that need no packing
/// either, and take 3.1 us where this one takes 11.7 (64 channels k4 s2 p1, 32x32).
struct CudaSmall : CudaGeneral {
    static constexpr const char *family = "small";
    static constexpr bool last_resort = false;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    CudaSmall() { channels.set(1); }
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const {
        description.set("max_products", small_problem_products);
        description.set("min_in_channels", 2);  // depthwise problems
    }
    void search_space(SearchSpace &, const SearchedProblem &) const {}  // nothing to choose
};

}  // namespace conv_transpose

#endif
