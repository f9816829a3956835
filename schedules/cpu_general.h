// Schedule: any problem on the CPU, every attribute a run-time value. The kernel of last resort: dilation
// with a stride, strides above 4.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), shared with other work, one thread, processor time,
// 2026-11-21, 64 to 64 channels, 64x128, percent of the FMA rate: k3 s1 29.0 ms (6 %), k4 s2 p1 35 ms (9 %),
// k3 s2 p1 d2 41 ms (4 %). What limits it: which taps are live is tested for each, so sums are loaded and
// stored at every tap.
//
// Order: an output row of a tile of channels is the unit of work. For each input channel the rows that the
// taps see are copied once, with their zero border, and serve all channels of the tile. Every phase of the
// row is a dense convolution along it: vectors run over cells of one phase, where the first tap is the same
// for all lanes, and four of them take a weight together. The row is then interleaved from its phases; for
// the two common strides the division is compiled in.
//
// Without the copy (lanes test each element) and with rows fused into the unit of work as they are (Halide
// then reserves sums for the whole picture) it took 2 to 25 times as long; only 128 channels to 1 were 2.5
// times as fast without the copy, which nothing shares there.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_GENERAL_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuGeneral : CpuSchedule {
    static constexpr const char *family = "general";
    static constexpr bool last_resort = true;
    /// Vectors of cells that take a weight together, and output channels of a tile.
    Halide::GeneratorParam<int> vectors{"vectors", 4}, channels{"channels", 8};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    static constexpr bool single_rows = true;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const SearchedProblem &) const {
        space.choose(vectors, {1, 2, 3, 4, 6, 8});
        space.choose(channels, {1, 2, 4, 8, 16, 32});
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>();
        const TailStrategy guard = TailStrategy::GuardWithIf;
        Var row{"row"}, channel_tile{"channel_tile"}, work{"work"}, tile{"tile"}, vec{"vec"};

        f.output.split(v.channel, channel_tile, v.channel, channels, guard).split(v.y, row, v.y, 1)
            .reorder(v.x, v.y, v.channel, row, channel_tile, v.group, v.batch)
            .fuse(row, channel_tile, work).fuse(work, v.group, work).fuse(work, v.batch, work).parallel(work)
            .vectorize(v.x, width, guard);
        for (int stride : {1, 2}) f.output.specialize(f.x_axis.stride() == stride);

        f.sum.compute_at(f.output, work).align_bounds(v.cell_x, vectors * width).vectorize(v.cell_x, width);
        for (const Var &d : {v.cell_y, v.phase_y, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.update()
            .split(v.cell_x, tile, v.cell_x, vectors * width).split(v.cell_x, vec, v.cell_x, width)
            .reorder({v.cell_x, vec, f.taps.x, tile, v.channel, v.phase_x, f.taps.y, f.taps.z})
            .vectorize(v.cell_x).unroll(vec);
        f.padded_input.compute_at(f.sum, f.taps.z)
            .vectorize(f.padded_input.args()[0], width, TailStrategy::RoundUp);
    }
};

}  // namespace conv_transpose

#endif
