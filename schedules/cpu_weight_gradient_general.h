// Schedule: the weight gradient of any problem on the CPU, every attribute a run-time value.
//
// AMD EPYC (Zen 5, AVX-512), 2026-11-21, one thread, processor time: depthwise k4 s2, 64 channels of 128x128,
// in 9.1 ms (PyTorch 14.3), KernelBench 75, one image, in 34.7 (6 % of the FMA units' rate, since what the
// taps see is gathered with the stride). With 8 input channels and more cpu_weight_gradient_channels.h takes
// the problem.
//
// Order: the sum runs over positions, of which there are many, for weights, of which there are few. So the
// lanes of a vector are neighbouring positions of a row. A tile of in_tile x out_tile channels for all taps
// is the unit of work. For a chunk of columns it stages its input and what the taps of a kernel row see of the
// output gradient, dense and padded; a tap's vectors of sums stay in registers over the chunk, and their
// lanes are added at the end.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_GENERAL_H

#include <limits>

#include "schedules/shared/search_space.h"
#include "algorithm/weight_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuWeightGradientGeneral : CpuSchedule {
    static constexpr const char *family = "general";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> in_tile{"in_tile", 3}, out_tile{"out_tile", 3};
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    /// In shorter rows much of a vector of positions is empty; 0 is no limit.
    GeneratorParam<int> min_output_w{"min_output_w", 0};

    void describe(KernelDescription &description, const WeightGradientFuncs &) const {
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", out_tile);
        description.set("tile_taps", std::numeric_limits<int>::max());  // all
        description.set("wanted_blocks", 64);
        if (min_output_w > 0) description.set("min_output", 0, min_output_w);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int in_tile = space.choose(this->in_tile, {1, 2, 3, 4, 6}),
                  out_tile = space.choose(this->out_tile, {1, 2, 3, 4, 6});
        space.choose(chunk_columns, {16, 32, 64, 128});
        space.require("the sums of a tap fit the registers", in_tile * out_tile <= 24);
        space.require("a tile has no more than the channels",
                      in_tile <= std::max(f.in_channels, 1) && out_tile <= std::max(f.out_channels, 1));
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const int width = target.natural_vector_size<float>();
        const auto guard = TailStrategy::GuardWithIf;
        const RDom &r = f.positions;
        Var lane{"lane"}, task_in{"task_in"}, task_out{"task_out"}, work{"work"};
        RVar x_outer{"x_outer"}, x_lane{"x_lane"};

        f.partial.split(f.out_channel, task_out, f.out_channel, out_tile, guard)
            .split(f.in_channel, task_in, f.in_channel, in_tile, guard)
            .reorder(f.out_channel, f.in_channel, f.kx, f.ky, task_out, task_in, f.group, f.band, f.images)
            .fuse(task_out, task_in, work).fuse(work, f.group, work).fuse(work, f.band, work).fuse(work, f.images, work)
            .parallel(work);

        f.sum.update().split(r[0], x_outer, x_lane, width);
        Func lane_sum = f.sum.update().rfactor(x_lane, lane);
        f.sum.compute_at(f.partial, f.out_channel).update().atomic().vectorize(x_lane);
        lane_sum.compute_at(f.partial, work).bound_extent(f.out_channel, out_tile).bound_extent(f.in_channel, in_tile)
            .reorder_storage(lane, f.out_channel, f.in_channel, f.kx, f.ky)
            .vectorize(lane).unroll(f.out_channel).unroll(f.in_channel);
        lane_sum.update().reorder({lane, f.out_channel, f.in_channel, x_outer, f.kx, f.ky, r[1], r[2], r[3], r[4]})
            .vectorize(lane).unroll(f.out_channel).unroll(f.in_channel).unroll(x_outer)
            .never_partition({r[1], r[2], r[3], r[4]});

        const auto stage = [&](Func s, const Var &channel, int channels) {
            s.bound_extent(f.x, chunk_columns).bound_extent(channel, channels)
                .bound_extent(f.y, 1).bound_extent(f.group, 1).bound_extent(f.batch, 1).vectorize(f.x, width);
        };
        stage(f.padded_input.in(lane_sum).compute_at(lane_sum, r[2]), f.in_channel, in_tile);
        stage(f.tap_row.compute_at(lane_sum, f.ky), f.out_channel, out_tile);
        f.tap_row.specialize(f.x_axis.stride == 1);
    }
};

}  // namespace conv_transpose

#endif
