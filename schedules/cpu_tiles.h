// Schedule: dense problems on the CPU, by register tiles of vectors of cells x channels x phases.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_TILES_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_TILES_H

#include "schedules/forward_funcs.h"
#include "schedules/search_space.h"

namespace conv_transpose {

struct CpuTiles {
    Halide::GeneratorParam<int> vectors{"vectors", 2};
    Halide::GeneratorParam<int> channels{"channels", 1};
    Halide::GeneratorParam<int> rows{"rows", 8};
    Halide::GeneratorParam<bool> joint_phases{"joint_phases", true};
    Halide::GeneratorParam<bool> unroll_x{"unroll_x", true};
    Halide::GeneratorParam<bool> unroll_y{"unroll_y", true};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::channel_tiles;
    int weight_channel_multiple() const { return channels; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int vectors = space.choose(this->vectors, {1, 2, 3, 4, 6});
        const int channels = space.choose(this->channels, {1, 2, 3, 4, 6, 8});
        space.choose(rows, {1, 2, 4, 8, 16, 32});
        const int joint_phases = space.choose(this->joint_phases, {0, 1});
        const int unroll_x = space.choose(this->unroll_x, {0, 1});
        const int unroll_y = space.choose(this->unroll_y, {0, 1});
        const int phases = problem.stride_x * problem.stride_y, sums = vectors * channels * (joint_phases ? phases : 1);
        space.require("sums leave registers for operands", sums >= 4 && sums <= problem.vector_registers - 6);
        space.require("fewer than twice the channels", channels < 2 * std::max(problem.out_channels, 1));
        space.require("phases are joint where there is one", phases > 1 || joint_phases);
        space.require("taps unroll along the row first", unroll_x || !unroll_y);
        space.require("the unrolled loop stays short",
                      (unroll_x ? problem.kernel_x : 1) * (unroll_y ? problem.kernel_y : 1) * vectors * channels * phases <= 600);
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>();
        const int sx = f.stride_x(), sy = f.stride_y();
        Var block{"block"}, work{"work"}, channel_tile{"channel_tile"}, cell_row{"cell_row"}, x_tile{"x_tile"};

        Func cells = f.sum.in();
        f.output.split(v.y, cell_row, v.y, sy, TailStrategy::GuardWithIf)
            .split(cell_row, block, cell_row, rows, TailStrategy::GuardWithIf)
            .split(v.channel, channel_tile, v.channel, channels, TailStrategy::GuardWithIf)
            .reorder(v.x, v.y, v.channel, cell_row, channel_tile, block, v.group, v.batch)
            .fuse(block, v.group, work).fuse(work, v.batch, work).parallel(work)
            .vectorize(v.x, width, TailStrategy::PredicateStores);

        f.padded_input.compute_at(f.output, work).vectorize(f.padded_input.args()[0], width);

        cells.compute_at(f.output, cell_row)
            .bound_extent(v.cell_y, 1)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy).bound_extent(v.channel, channels)
            .reorder_storage(v.phase_x, v.cell_x, v.phase_y, v.cell_y, v.channel)
            .split(v.cell_x, x_tile, v.cell_x, vectors * width, TailStrategy::RoundUp)
            .reorder(v.phase_x, v.cell_x, v.phase_y, v.channel, v.cell_y, x_tile)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x).unroll(v.phase_y).unroll(v.channel);

        f.sum.compute_at(cells, x_tile)
            .bound_extent(v.cell_x, vectors * width).bound_extent(v.cell_y, 1)
            .bound_extent(v.phase_x, sx).bound_extent(v.phase_y, sy).bound_extent(v.channel, channels)
            .reorder(v.phase_x, v.phase_y, v.cell_x, v.channel)
            .vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.phase_x).unroll(v.phase_y).unroll(v.channel);
        Stage update = f.sum.update();
        if (joint_phases)
            update.reorder(v.phase_x, v.phase_y, v.cell_x, v.channel, f.taps.x, f.taps.y, f.taps.z);
        else
            update.reorder(v.cell_x, v.channel, f.taps.x, f.taps.y, f.taps.z, v.phase_x, v.phase_y);
        update.vectorize(v.cell_x, width).unroll(v.cell_x).unroll(v.channel).unroll(v.phase_x).unroll(v.phase_y);
        if (unroll_x) update.unroll(f.taps.x);
        if (unroll_y) update.unroll(f.taps.y);
    }
};

}  // namespace conv_transpose

#endif
