// Schedule: depthwise problems on the CPU (one channel a group), memory-bound: resampling, mostly.
//
// Order: blocks of output rows of one channel are the unit of work. For each output row the input rows that it needs
// are in the first caches (padded with zeros when the block began, so that no test is left in the loops); the sums of
// all column phases of a tile of cells stay in registers over their taps and are interleaved into a row that the
// output copies from. Phases are the outer loops: each has its own taps, so none is multiplied by zero, and the sizes
// of kernel, padding and vertical stride can be run-time values.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_DEPTHWISE_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_DEPTHWISE_H

#include "schedules/forward_funcs.h"
#include "schedules/search_space.h"

namespace conv_transpose {

struct CpuDepthwise {
    /// Vectors of cells in a tile; every phase of a row has as many sums.
    Halide::GeneratorParam<int> vectors{"vectors", 2};
    /// Output rows of a block.
    Halide::GeneratorParam<int> rows{"rows", 32};
    Halide::GeneratorParam<bool> unroll_taps{"unroll_taps", false};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    static constexpr bool single_rows = true;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int vectors = space.choose(this->vectors, {1, 2, 3, 4});
        space.choose(rows, {4, 8, 16, 32, 64});
        space.choose(unroll_taps, {0, 1});
        space.require("the problem is depthwise", problem.in_channels == 1 && problem.out_channels == 1);
        space.require("sums leave registers for operands", vectors * problem.stride_x <= problem.vector_registers - 6);
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>();
        Var block{"block"}, work{"work"}, x_tile{"x_tile"};
        Func row = f.sum.in();

        f.output.split(v.y, block, v.y, rows, TailStrategy::GuardWithIf)
            .reorder(v.x, v.y, block, v.channel, v.group, v.batch)
            .fuse(block, v.channel, work).fuse(work, v.group, work).fuse(work, v.batch, work).parallel(work)
            .vectorize(v.x, width, TailStrategy::PredicateStores);

        f.padded_input.compute_at(f.output, work).vectorize(f.padded_input.args()[0], width);

        row.compute_at(f.output, v.y)
            .bound_extent(v.phase_x, f.stride_x()).reorder_storage(v.phase_x, v.cell_x)
            .split(v.cell_x, x_tile, v.cell_x, vectors * width, TailStrategy::RoundUp)
            .reorder(v.phase_x, v.cell_x, x_tile)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);

        f.sum.compute_at(row, x_tile)
            .bound_extent(v.phase_x, f.stride_x()).bound_extent(v.cell_x, vectors * width)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);
        Stage update = f.sum.update();
        update.reorder(v.cell_x, f.taps.x, f.taps.y, f.taps.z, v.phase_x)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x);
        if (unroll_taps) update.unroll(f.taps.x).unroll(f.taps.y);
    }
};

}  // namespace conv_transpose

#endif
