// The tile of sums that the warpgroups of a block keep in registers, for schedules of weight gradients on tensor cores.
#ifndef CONV_TRANSPOSE_SCHEDULES_SHARED_WARPGROUP_TILE_H
#define CONV_TRANSPOSE_SCHEDULES_SHARED_WARPGROUP_TILE_H

#include "Halide.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

/// A base of schedules whose Funcs have `sum` over rows `m` and columns `n` of a `tile`, and `of_block()`: the indices that a
/// block has one value of.
struct WarpgroupTile : TensorCoreSchedule {
  protected:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, one{"one"}, block{"block"};
    Halide::Var mma_m{"mma_m"}, mma_n{"mma_n"};
    Halide::RVar pipeline{"pipeline"};

    template <class Funcs>
    void tile_loops(const Funcs &f, Halide::Stage s) const {
        s.split(f.m, warpgroup, mma_m, f.tile.warpgroup_rows).split(f.n, one, mma_n, f.tile.columns())
            .split(one, one, lane, 1).split(one, one, warp, 1).never_partition_all();
    }

    template <class Funcs>
    void keep_in_registers(const Funcs &f, Halide::Func s) const {
        s.store_in(Halide::MemoryType::Register).bound_extent(f.n, f.tile.columns()).bound_extent(f.m, f.tile.rows());
        for (const Halide::Var &d : f.of_block()) s.bound_extent(d, 1);
        tile_loops(f, s);
        s.reorder(mma_n, mma_m, one, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
    }

    /// The sum that products are added to: for tf32x3 one of its own for every chunk, see cuda_tensor_core.h.
    template <class Funcs>
    Halide::Func multiplied_sum(Funcs &f) const {
        f.sum.compute_at(f.partial, block);
        keep_in_registers(f, f.sum);
        if (f.parts != 2) return f.sum;
        Halide::Func multiplied = f.sum.update().rfactor(pipeline, Halide::Var("chunk_index"));
        multiplied.compute_at(f.sum, pipeline);
        keep_in_registers(f, multiplied);
        Halide::Stage add = f.sum.update();
        tile_loops(f, add);
        add.reorder(mma_n, mma_m, one, lane, warp, warpgroup, pipeline).gpu_threads(lane, warp, warpgroup);
        return multiplied;
    }
};

}  // namespace conv_transpose

#endif
