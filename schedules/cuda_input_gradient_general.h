// Schedule: the input gradient of any problem on CUDA cores; every attribute may be a run-time value.
//
// NVIDIA H200, 2026-11-21: depthwise k4 s2, 8 x 64 x 256 x 256, in 0.41 ms (38 % of what the tensors' bytes allow at
// 4.3 TB/s; PyTorch 0.52).
//
// Order: the lanes of a warp are neighbours in a row, so that loads and stores are dense (with gaps of the
// stride). Each thread keeps the sums of `channels` channels at `columns` neighbouring positions in
// registers: it reads channels + columns values for channels * columns products. Weights are packed with
// channels innermost; they are the same for all threads of a block, so they come from L1.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_INPUT_GRADIENT_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_INPUT_GRADIENT_GENERAL_H

#include "algorithm/input_gradient_funcs.h"
#include "schedules/search_space.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

struct CudaInputGradientGeneral : CudaSchedule {
    static constexpr const char *family = "general";
    Halide::GeneratorParam<int> channels{"channels", 8}, columns{"columns", 2}, rows{"rows", 4};

    static constexpr WeightLayout weight_layout = WeightLayout::channels_innermost;
    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int channels = space.choose(this->channels, {1, 2, 4, 8, 16, 32});
        const int columns = space.choose(this->columns, {1, 2, 4, 8});
        space.choose(this->rows, {1, 2, 4, 8, 16});
        space.require("a thread's sums fit its registers", channels * columns <= GpuLimits::sums);
        space.require("less than half of a thread's channels are idle", channels < 2 * std::max(f.in_channels, 1));
        space.require("the unrolled loop stays short",
                      channels * columns * f.x_axis.taps() * f.y_axis.taps() <= GpuLimits::unrolled);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        constexpr int lanes = 32;
        Var block_x{"block_x"}, block_y{"block_y"}, block_c{"block_c"}, row{"row"}, lane{"lane"};

        f.input_gradient.split(f.x, block_x, f.x, lanes * columns, TailStrategy::GuardWithIf)
            .split(f.x, lane, f.x, columns)
            .split(f.y, block_y, row, rows, TailStrategy::PredicateStores)
            .split(f.channel, block_c, f.channel, channels, TailStrategy::PredicateStores)
            .reorder(f.x, f.channel, lane, row, block_x, block_y, block_c, f.group, f.batch)
            .unroll(f.x).unroll(f.channel)
            .fuse(block_x, block_y, block_x).fuse(f.group, f.batch, f.group)
            .gpu_blocks(block_x, block_c, f.group).gpu_threads(lane, row);

        f.sum.compute_at(f.input_gradient, lane).bound_extent(f.x, columns).bound_extent(f.channel, channels);
        for (const Var &d : {f.y, f.group, f.batch}) f.sum.bound_extent(d, 1);
        f.sum.unroll(f.x).unroll(f.channel);
        f.sum.update().reorder(f.x, f.channel, f.taps.x, f.taps.y, f.taps.z).unroll(f.x).unroll(f.channel);
        if (f.constant_attributes()) f.sum.update().unroll(f.taps.x).unroll(f.taps.y);
    }
};

}  // namespace conv_transpose

#endif
