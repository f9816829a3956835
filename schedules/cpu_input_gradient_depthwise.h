// Schedule: the input gradient of depthwise problems on the CPU (one channel a group), for constant attributes.
//
// AMD EPYC (Zen 5, AVX-512) that other programs kept busy, 2026-11-21, one thread, processor time: k4 s2 p1,
// 64 channels of 128x128, in 1.2 ms. Bound by memory: each tensor once in that time is 18 GB/s.
//
// Order: rows of one channel are the unit of work; the rows of the output gradient that they see are copied
// with their zero border when it begins, so that no test is left in the loops. Lanes are neighbouring
// positions of a row. All taps are unrolled: what a tap sees is every stride-th value, which Halide takes out
// of whole vectors by shuffles.
//
// Tried without gain: 4 vectors, 16 and 32 rows (the copy leaves the first cache).
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_DEPTHWISE_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_DEPTHWISE_H

#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuInputGradientDepthwise : CpuSchedule {
    static constexpr const char *family = "depthwise";
    /// A tile of a row; rows of a block.
    Halide::GeneratorParam<int> vectors{"vectors", 2}, rows{"rows", 8};
    /// Blocks of smaller pictures are not worth their beginning: flat matrix products are faster.
    Halide::GeneratorParam<int> min_output_h{"min_output_h", 0}, min_output_w{"min_output_w", 0};

    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const {
        description.set("min_output", min_output_h, min_output_w);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        space.choose(vectors, {1, 2, 4});
        space.choose(rows, {4, 8, 16, 32});
        space.require("the problem is depthwise", f.in_channels == 1 && f.out_channels == 1);
        space.require("the unrolled loop stays short", vectors * f.x_axis.taps() * f.y_axis.taps() <= 200);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const int width = target.natural_vector_size<float>(), tile = vectors * width;
        Var block{"block"}, work{"work"}, x_tile{"x_tile"};

        f.input_gradient.split(f.y, block, f.y, rows, TailStrategy::GuardWithIf)
            .split(f.x, x_tile, f.x, tile, TailStrategy::GuardWithIf)
            .reorder({f.x, x_tile, f.y, f.channel, block, f.group, f.batch})
            .fuse(block, f.group, work).fuse(work, f.batch, work).parallel(work)
            .vectorize(f.x, width, TailStrategy::PredicateStores).unroll(f.x);

        f.sum.compute_at(f.input_gradient, x_tile).bound_extent(f.x, tile).vectorize(f.x, width).unroll(f.x);
        f.sum.update().reorder(f.x, f.taps.x, f.taps.y, f.taps.z)
            .vectorize(f.x, width).unroll(f.x).unroll(f.taps.x).unroll(f.taps.y);

        f.padded_output_gradient.compute_at(f.input_gradient, work).bound_extent(f.out_channel, 1)
            .bound_extent(f.group, 1).bound_extent(f.batch, 1).vectorize(f.x, width, TailStrategy::RoundUp);
    }
};

}  // namespace conv_transpose

#endif
