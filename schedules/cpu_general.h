// Schedule: any problem on the CPU, every attribute a run-time value. The kernel of last resort.
//
// Order: an output row is the unit of work. For it, every phase is a dense convolution along the row, so the vectors
// run over cells of one phase: loads are dense, the position of the first tap is the same for a whole vector, and
// four vectors of sums stay in registers over all taps. The row is then interleaved from its phases.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_GENERAL_H

#include "schedules/forward_funcs.h"
#include "schedules/search_space.h"

namespace conv_transpose {

struct CpuGeneral {
    Halide::GeneratorParam<int> vectors{"vectors", 4};

    static constexpr SumIndex sum_index = SumIndex::cells_and_phases;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const SearchedProblem &) const {
        space.choose(vectors, {1, 2, 3, 4, 6, 8});
    }

    void apply(ForwardFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const int width = target.natural_vector_size<float>();
        Var work{"work"}, tile{"tile"};

        f.output.fuse(v.y, v.channel, work).fuse(work, v.group, work).fuse(work, v.batch, work).parallel(work);
        f.output.vectorize(v.x, width, TailStrategy::GuardWithIf);

        f.sum.compute_at(f.output, work);
        f.sum.vectorize(v.cell_x, width, TailStrategy::RoundUp);
        f.sum.update()
            .split(v.cell_x, tile, v.cell_x, vectors * width, TailStrategy::GuardWithIf)
            .reorder(v.cell_x, f.taps.x, f.taps.y, f.taps.z, tile, v.phase_x)
            .vectorize(v.cell_x, width, TailStrategy::GuardWithIf);
    }
};

}  // namespace conv_transpose

#endif
