// Schedule: depthwise problems (one input and one output channel a group) on a GPU's CUDA cores.
//
// Bound by memory, so everything serves the stores. Lanes are (phase, cell), which is the order of outputs along a row:
// whatever the stride, the width and the alignment, a warp stores consecutive elements. The phase is a lane's own; its
// kernel taps are found once and stay in registers, because each thread computes several rows. Rows come in whole
// cells, so that their phases are constants and an input element is loaded once for all rows that it reaches. Inputs
// come through L1, which lanes of a cell share; staging them in shared memory was slower.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_DEPTHWISE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_DEPTHWISE_H

#include "schedules/forward_funcs.h"
#include "schedules/search_space.h"

namespace conv_transpose {

struct CudaDepthwise {
    /// Cells of a block along the row, cells of a thread along the column, threads along the column.
    Halide::GeneratorParam<int> cells_x{"cells_x", 32}, cells_y{"cells_y", 4}, threads_y{"threads_y", 4};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int cells_x = space.choose(this->cells_x, {8, 16, 32, 64, 128});
        const int cells_y = space.choose(this->cells_y, {1, 2, 3, 4, 6, 8});
        const int threads_y = space.choose(this->threads_y, {1, 2, 4, 8});
        const int threads = problem.stride_x * cells_x * threads_y;
        space.require("the problem is depthwise", problem.in_channels == 1 && problem.out_channels == 1);
        space.require("threads fit a block", threads >= 2 * GpuLimits::warp && threads <= 512);
        space.require("a thread's rows fit its registers", cells_y * problem.stride_y <= 32);
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Var column{"column"}, row{"row"}, cell{"cell"}, phase{"phase"}, thread_y{"thread_y"}, plane{"plane"};
        const int rows = cells_y * f.stride_y();

        f.output.split(v.x, cell, phase, f.stride_x(), TailStrategy::GuardWithIf)
            .split(cell, column, cell, cells_x, TailStrategy::GuardWithIf)
            .split(v.y, row, v.y, rows * threads_y, TailStrategy::GuardWithIf)
            .split(v.y, thread_y, v.y, rows, TailStrategy::GuardWithIf)
            .reorder(v.y, phase, cell, thread_y, column, row, v.channel, v.group, v.batch)
            .fuse(v.channel, v.group, plane)
            .fuse(plane, v.batch, plane)
            .unroll(v.y)
            .gpu_blocks(column, row, plane)
            .gpu_threads(phase, cell, thread_y)
            .never_partition_all();

        f.sum.compute_at(f.output, phase).store_in(MemoryType::Register);
        for (const Var &d : {v.x, v.channel, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.bound_extent(v.y, rows).unroll(v.y);
        f.sum.update()
            .reorder(v.y, f.taps.x, f.taps.y, f.taps.z)
            .unroll(v.y).unroll(f.taps.x).unroll(f.taps.y)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
