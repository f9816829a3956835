// Schedule: the weight gradient of any problem on the CPU, every attribute a run-time value.
//
// Order: the sum runs over positions, of which there are many, for weights, of which there are few. So the lanes of a
// vector are neighbouring positions of a row. A tile of in_tile x out_tile channels of one tap is the unit of work; its
// vectors of sums stay in registers over all positions, and their lanes are added at the end.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_GENERAL_H

#include "schedules/weight_gradient_funcs.h"

namespace conv_transpose {

struct CpuWeightGradientGeneral {
    Halide::GeneratorParam<int> in_tile{"in_tile", 3}, out_tile{"out_tile", 3};

    void describe(KernelDescription &description, const WeightGradientFuncs &) const {
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", out_tile);
        description.set("wanted_blocks", 64);
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const int width = target.natural_vector_size<float>();
        Var lane{"lane"}, tile_in{"tile_in"}, tile_out{"tile_out"}, work{"work"};
        RVar x_outer{"x_outer"}, x_lane{"x_lane"};

        f.partial.split(f.out_channel, tile_out, f.out_channel, out_tile, TailStrategy::PredicateStores)
            .split(f.in_channel, tile_in, f.in_channel, in_tile, TailStrategy::PredicateStores)
            .reorder(f.out_channel, f.in_channel, f.kx, f.ky, tile_out, tile_in, f.group, f.band, f.images)
            .unroll(f.out_channel).unroll(f.in_channel)
            .fuse(f.kx, f.ky, work).fuse(work, tile_out, work).fuse(work, tile_in, work).fuse(work, f.group, work)
            .fuse(work, f.band, work).fuse(work, f.images, work).parallel(work);

        f.sum.update().split(f.positions.x, x_outer, x_lane, width, TailStrategy::GuardWithIf);
        Func lane_sum = f.sum.update().rfactor(x_lane, lane);
        f.sum.compute_at(f.partial, work).bound_extent(f.out_channel, out_tile).bound_extent(f.in_channel, in_tile)
            .unroll(f.out_channel).unroll(f.in_channel)
            .update().atomic().vectorize(x_lane).unroll(f.out_channel).unroll(f.in_channel);
        lane_sum.compute_at(f.partial, work).vectorize(lane).unroll(f.out_channel).unroll(f.in_channel);
        lane_sum.update().reorder(lane, f.out_channel, f.in_channel, x_outer, f.positions[1], f.positions[2], f.positions[3], f.positions[4])
            .vectorize(lane).unroll(f.out_channel).unroll(f.in_channel);
    }
};

}  // namespace conv_transpose

#endif
