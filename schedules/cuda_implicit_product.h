// Schedule: an implicit matrix product on tensor cores, with every attribute of the convolution a run-time value.
//
// Machine: NVIDIA H200, 2026-11-21, TF32. Problem: k5 at stride 1, N16 256->256 64x64: 0.807 ms, 266 TFLOP/s,
// 73 % of what a plain matrix product reaches (docs/tensor-cores.md), with pictures packed before; 1.08 ms
// without. Problem: DCGAN's k4 s2 p1 of 4x4 pictures (N128 1024->512): 0.166 and 0.205 ms. Problem: k3 with
// dilation 2, N4 128->128 64x64: 0.040 ms (without).
//
// Order of the loops, from the inside:
// - A tile is 64 channels x `columns` positions of one phase a warpgroup. The phase is the block's, so where
//   its taps begin is found once, and the loop has just the taps that are live in it.
// - A step of the loop ("pipeline") is one tap of a chunk of channels. Its pixels are staged anew: what has
//   been computed on is a window of the picture that only the run time knows. A thread stages one position,
//   so that the place of the pixels is found once a step; neighbouring steps are taps of the same channels,
//   which still lie in L1.
// - Products of a step hide the loads of the next if there are enough of them: two warpgroups share the
//   positions, or the channels. Two blocks a multiprocessor fill each other's gaps, and 128 x 128 in two
//   blocks was faster than 128 x 256 in one (DPT's k4 s4 0.122 against 0.152 ms). Pictures that are packed
//   before, four channels side by side, are copied asynchronously, through no registers: then the large tile
//   wins wherever there are many steps (0.152 against 0.180).
// - Phases are inner blocks: their outputs alternate in memory, so that the second-level cache meets all of a
//   sector soon.
//
// Not: a producer warpgroup (DCGAN's k5 s2 0.277 against 0.214 ms), three stages (equal), chunks of 16 where
// 32 divide the channels (0.274 against 0.220), packed pictures in the input gradient, whose pixels lie a
// stride apart (0.270 against 0.175).
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_PRODUCT_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_PRODUCT_H

#include "schedules/kernel_description.h"
#include "algorithm/implicit_product_funcs.h"
#include "algorithm/machine_facts.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

struct CudaImplicitProduct : TensorCoreSchedule {
    static constexpr const char *family = "implicit_gemm";
    Halide::GeneratorParam<int> columns{"columns", 256};        // of a warpgroup's tile: positions
    Halide::GeneratorParam<int> channel_sets{"channel_sets", 2};  // of 64 rows, one for each warpgroup
    Halide::GeneratorParam<int> column_sets{"column_sets", 1};    // of `columns`, likewise
    Halide::GeneratorParam<int> chunk_channels{"chunk_channels", 32};  // of a step
    Halide::GeneratorParam<int> stages{"stages", 2};
    Halide::GeneratorParam<int> blocks{"blocks", 1};  // on a multiprocessor
    Halide::GeneratorParam<int> min_steps{"min_steps", 0};  // demanded of a problem
    Halide::GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes

    static constexpr bool far_apart = true;           // see TensorCoreOptions
    static constexpr bool guarded_pipeline = true;    // a phase has its own number of taps
    static constexpr bool separate_registers = true;  // see SoftwarePipelineOptions

    int chunk() const { return chunk_channels; }
    int rows() const { return 64 * channel_sets.value(); }
    int positions() const { return columns.value() * column_sets.value(); }

    int shared_bytes(const ImplicitProductFuncs &f) const {
        const int stage = (rows() + positions()) * chunk() * f.parts;
        // At the end eight rows of every warp pass through shared memory.
        const int turned = warpgroups() * 4 * 8 * (columns + 8);
        return 4 * std::max(stages * (stage + 32), turned);
    }

    void describe(KernelDescription &description, const ImplicitProductFuncs &f) const {
        description.set("min_compute_capability", 80);
        if (f.parts == 2 || columns > 128)
            description.set("min_compute_capability", 90), description.set("max_compute_capability", 90);
        description.set("shared_bytes", shared_bytes(f));
        description.set("counts_through_images", "true");
        description.set("block_positions", 1, positions());
        description.set("block_channels", rows());
        description.set("blocks_per_multiprocessor", blocks);
        if (min_steps > 0) description.set("min_steps", min_steps);
        description.set("split_target_blocks", machines::H200::multiprocessors * blocks);
    }

    void apply(ImplicitProductFuncs &f, const Halide::Target &) const {
        store_tile(f);
        multiply_in_tile(f);
        stage(f, f.pixels, f.v.position, positions());
        stage(f, f.weights, f.v.row, rows());
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, rest{"rest"};
    Halide::Var mma_m{"mma_m"}, mma_n{"mma_n"};
    Halide::RVar pipeline{"pipeline"}, block{"block"};

    int warpgroups() const { return channel_sets.value() * column_sets.value(); }

    // A warpgroup's tile is computed in one lane, as far as Halide knows.
    void tile_loops(const ImplicitProductFuncs &f, Halide::Stage s) const {
        Halide::Var column_set{"column_set"};
        s.split(f.v.row, warpgroup, mma_m, 64).split(f.v.position, column_set, mma_n, columns)
            .split(column_set, column_set, lane, 1).split(column_set, column_set, warp, 1)
            .fuse(column_set, warpgroup, warpgroup);
    }

    void store_tile(ImplicitProductFuncs &f) const {
        using namespace Halide;
        RVar column{"mma_n"}, column_set{"column_set"}, group_of_warps{"warpgroup"};
        RVar lane{"lane"}, warp{"warp"};
        Var channel_block{"channel_block"}, channel_set{"channel_set"};
        // Nothing is computed there, but it has to be on the GPU.
        f.output.gpu_blocks(f.output.args()[0]);
        Stage s = f.output.update();
        s.allow_race_conditions()
            .split(f.stored.column, column_set, column, columns)
            .split(column_set, column_set, lane, 1).split(column_set, column_set, warp, 1)
            .split(f.v.channel, channel_block, mma_m, rows(), guard).split(mma_m, channel_set, mma_m, 64)
            .fuse(column_set, channel_set, group_of_warps)
            .reorder(column, mma_m, lane, warp, group_of_warps, channel_block, f.stored.phase_x, f.stored.phase_y,
                     f.stored.block, f.v.group)
            .fuse(channel_block, f.stored.phase_x, block).fuse(block, f.stored.phase_y, block)
            .fuse(block, f.stored.block, block)
            .gpu_blocks(block, f.v.group).gpu_threads(lane, warp, group_of_warps)
            .never_partition_all();
    }

    void keep_in_registers(const ImplicitProductFuncs &f, Halide::Func tile) const {
        tile.store_in(Halide::MemoryType::Register).bound_extent(f.v.position, positions()).bound_extent(f.v.row, rows())
            .bound_extent(f.v.phase_x, 1).bound_extent(f.v.phase_y, 1).bound_extent(f.v.group, 1);
        tile_loops(f, tile);
        tile.reorder(mma_n, mma_m, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void multiply_in_tile(ImplicitProductFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"};
        f.sum.compute_at(f.output, block);
        keep_in_registers(f, f.sum);
        f.sum.update().rename(f.r.step, pipeline);
        Func multiplied = f.sum;
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, value_outer, f.r.product, lane, warp, warpgroup};
        if (f.parts == 2) {
            // A sum of its own for every step, added in float32: tensor cores cut bits off (cuda_tensor_core.h).
            Var step_index{"step_index"};
            multiplied = f.sum.update().rfactor(pipeline, step_index);
            multiplied.compute_at(f.sum, pipeline).bound_extent(step_index, 1);
            keep_in_registers(f, multiplied);
            Stage add = f.sum.update();
            tile_loops(f, add);
            add.reorder(mma_n, mma_m, lane, warp, warpgroup, pipeline).gpu_threads(lane, warp, warpgroup)
                .never_partition_all();
        } else {
            order.push_back(pipeline);
        }
        Stage update = multiplied.update();
        tile_loops(f, update);
        update.split(f.r.value, value_outer, mma_k, 4).rename(f.r.k4, mma_k_outer).reorder(order)
            .unroll(f.r.product).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Rows of 16 bytes, neighbouring ones by neighbouring lanes.
    void stage(ImplicitProductFuncs &f, Halide::Func rows, const Halide::Var &row, int extent) const {
        using namespace Halide;
        const ImplicitProductVars &v = f.v;
        rows.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound(v.value, 0, 4).bound(v.part, 0, f.parts).bound(v.k4, 0, chunk() / 4)
            .bound_extent(row, extent).bound_extent(v.step, 1)
            .bound_extent(v.phase_x, 1).bound_extent(v.phase_y, 1).bound_extent(v.group, 1)
            .vectorize(v.value)
            .split(row, row, lane, 32).fuse(row, v.k4, rest)
            .split(rest, rest, warp, 4 * warpgroups(), guard).split(warp, warpgroup, warp, 4)
            .reorder(v.value, v.part, rest, lane, warp, warpgroup).unroll(rest).unroll(v.part)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
