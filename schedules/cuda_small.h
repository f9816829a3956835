// Schedule: problems so small that launching a second kernel, which packs the weights, takes longer than it saves.
//
// NVIDIA H200, 2026-11-21, microseconds, and of the next best kernel with its packing: 4 to 4 channels k3 on
// 4x4 pixels 5.1 (5.8), 8 to 8 on 8x8 6.7 (9.4), 16 to 16 k4 s2 p1 on 16x16 7.6 (9.6), 32 to 32 k3 p1 on 8x8
// 19.9 (20.0). All under 1 % of what memory or multipliers allow.
//
// Order: lanes run over consecutive outputs of a plane, rows joined, so that stores are dense and no lane idles whatever the
// width. One thread computes one element, and reads weights as PyTorch has them. The launch itself is the larger part
// of a few microseconds, so there is nothing to tile; what counts is that one launch is all. Where a sum
// is long its latency adds up, as it does in the others. Depthwise problems have kernels that need no packing
// either, and take 3.1 us where this one takes 11.7 (64 channels k4 s2 p1, 32x32).
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_SMALL_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_SMALL_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

/// Products of input and weight elements up to which the second launch is the longer part.
constexpr int small_problem_products = 1 << 20;

struct CudaSmall : CudaSchedule {
    static constexpr const char *family = "small";
    Halide::GeneratorParam<int> threads{"threads", 128};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const {
        description.set("max_products", small_problem_products);
        description.set("min_in_channels", 2);  // depthwise problems
    }
    void search_space(SearchSpace &, const SearchedProblem &) const {}  // nothing to choose

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Var position{"position"}, thread{"thread"}, channel_block{"channel_block"}, block{"block"}, image{"image"};

        f.output.split(v.channel, channel_block, v.channel, 1, TailStrategy::GuardWithIf)
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
        for (const Var &d : {v.x, v.y, v.channel, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.update().reorder(v.channel, f.taps.z, f.taps.x, f.taps.y).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
