// Schedule: the weight gradient of any problem on CUDA cores; every attribute may be a run-time value.
//
// Order: the sum runs over positions, of which there are many, for weights, of which there are few. So the lanes of a
// warp are neighbouring positions of a row: loads are dense, whatever the stride of the taps. Each thread keeps
// the sums of in_tile x out_tile channels of one tap in registers over all its positions, which reads
// in_tile + out_tile values for in_tile * out_tile products. The warps of a block take different output channels and find
// the input in L1. At the end the block's sums of lanes are added from shared memory, in the order of the lanes.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_LANES_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_LANES_H

#include "schedules/weight_gradient_funcs.h"

namespace conv_transpose {

struct CudaWeightGradientLanes {
    Halide::GeneratorParam<int> in_tile{"in_tile", 4}, out_tile{"out_tile", 4}, warps{"warps", 4};

    int block_out_channels() const { return int(out_tile) * int(warps); }

    void describe(KernelDescription &description) const {
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", block_out_channels());
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        constexpr int lanes = 32;
        Var lane{"lane"}, warp{"warp"}, block_in{"block_in"}, block_out{"block_out"}, rest{"rest"}, weight{"weight"};
        RVar x_outer{"x_outer"}, x_lane{"x_lane"};

        f.sum.update().split(f.positions.x, x_outer, x_lane, lanes, TailStrategy::GuardWithIf);
        Func lane_sum = f.sum.update().rfactor(x_lane, lane);
        Func lane_sums = lane_sum.in(f.sum);

        f.partial.split(f.out_channel, block_out, f.out_channel, block_out_channels(), TailStrategy::PredicateStores)
            .split(f.in_channel, block_in, f.in_channel, in_tile, TailStrategy::PredicateStores)
            .fuse(f.out_channel, f.in_channel, weight)
            .split(weight, warp, lane, lanes)
            .fuse(f.kx, f.ky, rest).fuse(rest, block_out, rest).fuse(rest, block_in, rest)
            .fuse(f.group, f.band, f.group)
            .reorder(lane, warp, rest, f.group, f.images)
            .gpu_blocks(rest, f.group, f.images).gpu_threads(lane, warp);
        f.sum.compute_at(f.partial, lane);
        for (const Var &d : {f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images}) f.sum.bound_extent(d, 1);

        lane_sums.compute_at(f.partial, rest).store_in(MemoryType::GPUShared)
            .reorder_storage(f.out_channel, f.in_channel, lane)
            .bound_extent(f.out_channel, block_out_channels()).bound_extent(f.in_channel, in_tile)
            .align_storage(f.in_channel, in_tile + 1)
            .split(f.out_channel, warp, f.out_channel, out_tile)
            .reorder(f.out_channel, f.in_channel, lane, warp)
            .unroll(f.out_channel).unroll(f.in_channel).gpu_threads(lane, warp);
        lane_sum.compute_at(lane_sums, lane).unroll(f.out_channel).unroll(f.in_channel);
        lane_sum.update().reorder(f.out_channel, f.in_channel, x_outer, f.positions.y, f.positions.z)
            .unroll(f.out_channel).unroll(f.in_channel);
    }
};

}  // namespace conv_transpose

#endif
