// Schedule: the forward operation and the input gradient of depthwise problems on the CPU (one channel a group): resampling,
// mostly.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, 2026-11-21. Bound by
// memory: k4 s2 p1, 64 channels of 256x256, in 3.3 ms with the taps compiled in, 70 % of what writing 67 MB
// and reading 17 MB takes in a plain loop; 5.4 ms with the kernel of a run-time size. Input gradient of constant attributes, 64
// channels of 128x128: 1.2 ms, each tensor once in that time is 18 GB/s; flat products for any attributes take 2.2 to 2.8 times as
// long (2026-11-23).
//
// Order: blocks of output rows of one channel are the unit of work; their input is copied with its zero
// border when a block begins, so that no test is left in the loops. Along an output row (one long stream to
// memory; two rows at once were slower) go tiles of 4 vectors of cells. Where the kernel is known all taps of
// all column phases are unrolled. Else column phases are the outer loop of a tile and taps the inner, so each
// phase takes its own taps, no more, and kernel size, padding and vertical stride can be run-time values: one
// kernel for each horizontal stride. The phases are interleaved into a piece of a row on the stack and copied
// out. Of an input gradient all taps are unrolled: what a tap sees is every stride-th value, which Halide takes out of whole
// vectors by shuffles.
//
// Tried without gain: both row phases together, 8 vectors, reading the input without the copy; of the input gradient 4 vectors, 16
// and 32 rows (the copy leaves the first cache).
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_DEPTHWISE_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_DEPTHWISE_H

#include "algorithm/forward_funcs.h"
#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CpuDepthwise : CpuSchedule {
    static constexpr const char *family = "depthwise";
    /// Vectors (of cells) in a tile; every phase of a row has as many sums.
    Halide::GeneratorParam<int> vectors{"vectors", 4};
    /// Rows of a block.
    Halide::GeneratorParam<int> rows{"rows", 16};
    /// For kernels of a constant size.
    Halide::GeneratorParam<bool> unroll_taps{"unroll_taps", false};

    /// Blocks of less output are not worth their beginning: flat matrix products are faster.
    Halide::GeneratorParam<int> min_output_h{"min_output_h", 0}, min_output_w{"min_output_w", 0};
    /// Nor are such rows, where vectors of groups are full (2 x 64 groups of 16x16, k4 s2, AVX-512: 0.37 and 0.07 ms; EPYC, Zen 4,
    /// 2026-11-28).
    Halide::GeneratorParam<int> min_width_of_groups{"min_width_of_groups", 0};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    static constexpr bool single_rows = true;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const {
        description.set("min_output", min_output_h, min_output_w);
        description.set("min_output_width_of_groups", min_width_of_groups);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        space.choose(vectors, {1, 2, 3, 4, 6, 8});
        space.choose(rows, {4, 8, 16, 32, 64});
        space.choose(unroll_taps, {0, 1});
        space.require("the problem is depthwise", problem.in_channels == 1 && problem.out_channels == 1);
    }
    void search_space(SearchSpace &space, const GradientFacts &f) const {
        space.choose(vectors, {1, 2, 4});
        space.choose(rows, {4, 8, 16, 32});
        space.require("the problem is depthwise", f.in_channels == 1 && f.out_channels == 1);
        space.require("the unrolled loop stays short", vectors * f.x_axis.taps() * f.y_axis.taps() <= 200);
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>(), sx = f.stride_x(), tile = vectors * width;
        store_rows(f.output, {v.x, v.y, v.channel, v.group, v.batch}, tile * sx, width);

        f.padded_input.compute_at(f.output, work).vectorize(f.padded_input.args()[0], width);

        // Constant extents, or the sums would not be kept in registers.
        f.interleaved.compute_at(f.output, x_tile)
            .align_bounds(v.x, sx).bound_extent(v.x, tile * sx).bound_extent(v.y, 1).bound_extent(v.channel, 1)
            .split(v.x, v.cell_x, v.phase_x, sx).reorder(v.phase_x, v.cell_x)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);
        f.sum.compute_at(f.output, x_tile)
            .bound_extent(v.cell_x, tile).bound_extent(v.cell_y, 1).bound_extent(v.channel, 1)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, 1)
            .reorder(v.phase_x, v.cell_x).vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);
        Stage update = f.sum.update();
        if (unroll_taps)
            update.reorder(v.cell_x, v.phase_x, f.taps.x, f.taps.y, f.taps.z).unroll(f.taps.x).unroll(f.taps.y);
        else
            update.reorder(v.cell_x, f.taps.x, f.taps.y, f.taps.z, v.phase_x);
        update.vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &target) const {
        const int width = target.natural_vector_size<float>(), tile = vectors * width;
        store_rows(f.input_gradient, {f.x, f.y, f.channel, f.group, f.batch}, tile, width);

        f.sum.compute_at(f.input_gradient, x_tile).bound_extent(f.x, tile).vectorize(f.x, width).unroll(f.x);
        f.sum.update().reorder(f.x, f.taps.x, f.taps.y, f.taps.z)
            .vectorize(f.x, width).unroll(f.x).unroll(f.taps.x).unroll(f.taps.y);

        f.padded_output_gradient.compute_at(f.input_gradient, work).bound_extent(f.out_channel, 1)
            .bound_extent(f.group, 1).bound_extent(f.batch, 1).vectorize(f.x, width, Halide::TailStrategy::RoundUp);
    }

  private:
    Halide::Var work{"work"}, x_tile{"x_tile"};

    // Blocks of rows of one channel are the unit of work; tiles go along a row. `at` is (x, y, channel, group, image).
    void store_rows(Halide::Func output, const std::vector<Halide::Var> &at, int tile, int width) const {
        using namespace Halide;
        const Var &x = at[0], &y = at[1], &group = at[3];
        Var block{"block"};
        output.split(y, block, y, rows, TailStrategy::GuardWithIf).split(x, x_tile, x, tile, TailStrategy::GuardWithIf)
            .reorder(x, x_tile, y, at[2], block, group, at[4])
            .fuse(block, group, work).fuse(work, at[4], work).parallel(work)
            .vectorize(x, width, TailStrategy::PredicateStores).unroll(x);
    }
};

}  // namespace conv_transpose

#endif
