// Schedule: the weight gradient on a GPU's CUDA cores, for any problem and for those with few channels.
//
// NVIDIA H200, 2026-11-21: depthwise, kernel 4, stride 2, 8 x 64 x 256 x 256, in 0.34 ms (2.2 times the time
// of reading its operands once).
//
// Order: the sum runs over positions, of which there are many, for weights, of which there are few. So the
// lanes of a warp are neighbouring positions of a row: loads are dense, apart from the stride. Each thread
// keeps the sums of in_tile x out_tile channels in registers over all its positions, of one tap, or of
// several if the attributes are constants: it reads in_tile + out_tile * taps values for in_tile * out_tile *
// taps products. The warps of a block take different output channels and find the input in L1. At the end the
// sums of the lanes are added from shared memory, in the order of the lanes.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GENERAL_H

#include "algorithm/weight_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaWeightGradientGeneral : CudaSchedule {
    static constexpr const char *family = "general";
    Halide::GeneratorParam<int> in_tile{"in_tile", 4}, out_tile{"out_tile", 4}, warps{"warps", 4};
    Halide::GeneratorParam<int> wanted_blocks{"wanted_blocks", 2112};
    /// With constant attributes: the taps of a thread on each axis, 1 or all.
    Halide::GeneratorParam<bool> all_taps_x{"all_taps_x", false}, all_taps_y{"all_taps_y", false};

    static constexpr int lanes = 32;
    int block_out_channels() const { return int(out_tile) * int(warps); }

    int taps_x(const GradientFacts &f) const { return all_taps_x ? f.x_axis.taps() : 1; }
    int taps_y(const GradientFacts &f) const { return all_taps_y ? f.y_axis.taps() : 1; }

    void describe(KernelDescription &description, const WeightGradientFuncs &f) const {
        description.set("tile_taps", taps_x(f) * taps_y(f));
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", block_out_channels());
        description.set("wanted_blocks", wanted_blocks);
        description.set("chunk_columns", lanes);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int in_tile = space.choose(this->in_tile, {1, 2, 4, 8}),
                  out_tile = space.choose(this->out_tile, {1, 2, 4});
        const int warps = space.choose(this->warps, {1, 2, 4, 8});
        space.choose(this->all_taps_x, {0, 1});
        space.choose(this->all_taps_y, {0, 1});
        space.choose(this->wanted_blocks, {1056, 2112, 4224, 8448});
        const int sums = in_tile * out_tile * taps_x(f) * taps_y(f);
        space.require("a thread's sums fit its registers", sums <= GpuLimits::sums);
        space.require("all lanes' sums fit shared memory", 4 * 32 * (sums + 1) * warps <= GpuLimits::shared_bytes);
        space.require("no channels are idle",
                      in_tile <= std::max(f.in_channels, 1) && block_out_channels() < 2 * std::max(f.out_channels, 1));
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const int taps_x = this->taps_x(f), taps_y = this->taps_y(f);
        Var lane{"lane"}, warp{"warp"}, block_in{"block_in"}, block_out{"block_out"}, rest{"rest"},
            weight{"weight"}, round{"round"};
        Var block_kx{"block_kx"}, block_ky{"block_ky"};
        RVar x_outer{"x_outer"}, x_lane{"x_lane"};

        f.sum.update().split(f.positions[0], x_outer, x_lane, lanes, TailStrategy::GuardWithIf);
        Func lane_sum = f.sum.update().rfactor(x_lane, lane);
        Func lane_sums = lane_sum.in(f.sum);

        f.partial.split(f.out_channel, block_out, f.out_channel, block_out_channels(), TailStrategy::PredicateStores)
            .split(f.in_channel, block_in, f.in_channel, in_tile, TailStrategy::PredicateStores)
            .split(f.kx, block_kx, f.kx, taps_x)
            .split(f.ky, block_ky, f.ky, taps_y)
            .fuse(f.kx, f.ky, weight).fuse(weight, f.out_channel, weight).fuse(weight, f.in_channel, weight)
            .split(weight, round, weight, lanes * int(warps), TailStrategy::GuardWithIf)
            .split(weight, warp, lane, lanes)
            .fuse(block_kx, block_ky, rest).fuse(rest, block_out, rest).fuse(rest, block_in, rest)
            .fuse(f.group, f.band, f.group)
            .reorder(round, lane, warp, rest, f.group, f.images)
            .gpu_blocks(rest, f.group, f.images).gpu_threads(lane, warp)
            .never_partition_all();
        f.sum.compute_at(f.partial, round);
        for (const Var &d : {f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images})
            f.sum.bound_extent(d, 1);

        lane_sums.compute_at(f.partial, rest).store_in(MemoryType::GPUShared)
            .reorder_storage(f.kx, f.ky, f.out_channel, f.in_channel, lane)
            .bound_extent(f.kx, taps_x).bound_extent(f.ky, taps_y)
            .bound_extent(f.out_channel, block_out_channels()).bound_extent(f.in_channel, in_tile)
            .align_storage(f.in_channel, in_tile + 1)
            .split(f.out_channel, warp, f.out_channel, out_tile)
            .reorder(f.kx, f.ky, f.out_channel, f.in_channel, lane, warp)
            .unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(f.in_channel).gpu_threads(lane, warp);
        lane_sum.compute_at(lane_sums, lane).bound_extent(f.kx, taps_x).bound_extent(f.ky, taps_y)
            .unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(f.in_channel);
        lane_sum.update()
            .reorder({f.kx, f.ky, f.out_channel, f.in_channel, x_outer, f.positions[1], f.positions[2], f.positions[3],
                      f.positions[4]})
            .unroll(f.kx).unroll(f.ky).unroll(f.out_channel).unroll(f.in_channel);
    }
};

}  // namespace conv_transpose

#endif
