// Schedule: depthwise problems (one input and one output channel a group) on a GPU's CUDA cores.
//
// H200, 2026-11-21: 4x4 stride 2, 64 channels, 8 images of 256x256: 0.170 ms, 92 % of the memory limit (4.3
// TB/s). Other kernels of a stride, as separable resampling uses them: 32 % along rows, 14 % along columns.
// In float16, 2026-11-23: 0.161 ms, 48 %, where what it moves no longer limits but instructions do (16 x 64x64 0.022 ms; by the
// gather for any attributes 0.448 and 0.058).
//
// Bound by memory, so everything serves the stores. There are two forms. With `vector` > 1 a lane computes a
// vector of neighbouring outputs of a row, whole cells, so that its phases are constants; it stores them as
// wide as their address allows (compiler/passes/adaptive_stores.h). Where no vector is a whole number of cells (odd
// strides), lanes are (phase, cell), the order of outputs along a row: a warp stores consecutive elements
// whatever the stride, and the phase is a lane's own. In both, each thread computes several rows, whole cells
// again: taps are found and weights loaded once for all of them, and an input element is loaded once for all
// rows that it reaches. Inputs come through L1; staging them in shared memory was slower.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_DEPTHWISE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_DEPTHWISE_H

#include "algorithm/forward_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaDepthwise : CudaSchedule {
    static constexpr const char *family = "depthwise";
    /// Outputs of a lane along the row: a multiple of the stride, or 1 for lanes of one phase each.
    Halide::GeneratorParam<int> vector{"vector", 1};
    /// Lanes of a block along the row (of cells, where vector is 1), cells of a thread along the column, threads along
    /// the column.
    Halide::GeneratorParam<int> lanes_x{"lanes_x", 32}, cells_y{"cells_y", 4}, threads_y{"threads_y", 4};

    static constexpr SumIndex sum_index = SumIndex::positions;
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    /// On fewer rows than a thread has (one axis) the kernel for any attributes is faster.
    void describe(KernelDescription &description) const {
        if (vector == 1 && cells_y > 1) description.set("min_output", cells_y, 1);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int vector = space.choose(this->vector, {1, 4});
        const int lanes_x = space.choose(this->lanes_x, {8, 16, 32, 64, 128});
        const int cells_y = space.choose(this->cells_y, {1, 2, 3, 4, 6, 8});
        const int threads_y = space.choose(this->threads_y, {1, 2, 4, 8});
        const int threads = (vector > 1 ? 1 : problem.stride_x) * lanes_x * threads_y;
        space.require("the problem is depthwise", problem.in_channels == 1 && problem.out_channels == 1);
        space.require("threads fit a block", threads >= 2 * GpuLimits::warp && threads <= 512);
        space.require("no row of threads lies outside of the picture",
                      problem.output_height == 0 ||
                          (threads_y - 1) * cells_y * problem.stride_y < problem.output_height);
        space.require("a vector is whole cells", vector == 1 || vector % problem.stride_x == 0);
        space.require("a thread's sums fit its registers", vector * cells_y * problem.stride_y <= 64);
    }

    void apply(ForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Var column{"column"}, row{"row"}, lane{"lane"}, inner{"inner"}, thread_y{"thread_y"}, plane{"plane"};
        const int rows = cells_y * f.stride_y();
        const bool vectors = vector > 1;

        f.output.split(v.x, lane, inner, vectors ? static_cast<int>(vector) : f.stride_x(), TailStrategy::GuardWithIf)
            .split(lane, column, lane, lanes_x, TailStrategy::GuardWithIf)
            .split(v.y, row, v.y, rows * threads_y, TailStrategy::GuardWithIf)
            .split(v.y, thread_y, v.y, rows, TailStrategy::GuardWithIf)
            .unroll(v.y)
            .never_partition_all();
        if (vectors)
            f.output.reorder(inner, v.y, lane, thread_y, column, row, v.channel, v.group, v.batch).vectorize(inner);
        else
            f.output.reorder(v.y, inner, lane, thread_y, column, row, v.channel, v.group, v.batch).gpu_threads(inner);
        f.output.fuse(v.channel, v.group, plane)
            .fuse(plane, v.batch, plane)
            .gpu_blocks(column, row, plane)
            .gpu_threads(lane, thread_y);
        const int width = vector;
        f.activated.compute_at(f.output, v.y).store_in(MemoryType::Register);
        f.activated.bound_extent(v.x, width).unroll(v.x).specialize(f.no_smooth_activation);
        for (const Var &d : {v.y, v.channel, v.group, v.batch}) f.activated.bound_extent(d, 1);

        f.sum.compute_at(f.output, vectors ? lane : inner).store_in(MemoryType::Register);
        f.sum.bound_extent(v.x, width).unroll(v.x);
        for (const Var &d : {v.channel, v.group, v.batch}) f.sum.bound_extent(d, 1);
        f.sum.bound_extent(v.y, rows).unroll(v.y);
        f.sum.update()
            .reorder(v.x, v.y, f.taps.x, f.taps.y, f.taps.z)
            .unroll(v.x).unroll(v.y)
            .never_partition_all();
        // The kernel's size may be a run-time value: one kernel for all filters of a stride.
        for (const RVar &taps : {f.taps.x, f.taps.y})
            if (Halide::Internal::is_const(taps.extent())) f.sum.update().unroll(taps);
    }
};

}  // namespace conv_transpose

#endif
