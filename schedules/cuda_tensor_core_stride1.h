// Schedule: stride 1 on tensor cores (wgmma on Hopper, mma.sync elsewhere).
//
// Machine: NVIDIA H200, 2026-11-21. Problem: KernelBench level 1, 57 (N8 64->64 k3 1024x1024) in TF32: 2.44 ms, 253
// TFLOP/s. The pipe of shared memory and L1 is busy 77 % of the time, the tensor cores 56 %. docs/tensor-cores.md has
// the other problems, and what was tried.
//
// Order of the loops, from the inside:
// - A tile is 64 channels x `columns` output positions of one row of the picture. Channels are the rows of the tile, so
//   that columns, of which there are more kinds of numbers, can be chosen to fill the picture's width.
// - All taps of the kernel are unrolled around the tile. They read the same staged pixels, each from another start
//   address: pixels have four channels innermost, 16 bytes, which is the row of an operand.
// - A chunk of input channels is staged for all taps, while the chunk before it is multiplied ("pipeline").
// - Each warpgroup has its own rows of the picture and shares weights and overlapping input rows with the others.
// - Channels of the output, then columns, are the innermost blocks: neighbours in time read the same input.
// A block may be small: two of them on a multiprocessor fill each other's gaps (the first loads, the stores at the end),
// and one large block was slower in every case.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_TENSOR_CORE_STRIDE1_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_TENSOR_CORE_STRIDE1_H

#include "compiler/async_staging.h"
#include "compiler/tensor_core_pass.h"
#include "generators/kernel_description.h"
#include "schedules/search_space.h"
#include "schedules/tensor_core_funcs.h"

namespace conv_transpose {

struct CudaTensorCoreStride1 {
    Halide::GeneratorParam<int> columns{"columns", 152};        // of a tile: output positions along x
    Halide::GeneratorParam<int> warpgroups{"warpgroups", 2};    // of a block, each with its own rows of the picture
    Halide::GeneratorParam<int> tiles{"tiles", 1};              // rows (or pairs of rows) of one warpgroup
    Halide::GeneratorParam<int> chunk_channels{"chunk_channels", 8};  // staged at once
    Halide::GeneratorParam<int> stages{"stages", 2};
    Halide::GeneratorParam<int> blocks{"blocks", 2};            // on a multiprocessor
    Halide::GeneratorParam<bool> tensor_cores{"tensor_cores", true};   // off: the same program without the passes

    int chunk() const { return chunk_channels; }

    void describe(const TensorCoreFuncs &f, KernelDescription &description) const {
        description.set("min_compute_capability", 80);
        // With two tiles (tf32x3) there are too few registers for mma.sync, and spills make it slower than float32.
        if (f.parts == 2) description.set("min_compute_capability", 90), description.set("max_compute_capability", 90);
        description.set("shared_bytes", shared_bytes(f));
        description.set("min_in_channels", std::min(chunk(), 8));
        description.set("min_out_channels", 16);
    }

    void search_space(SearchSpace &space, const SearchedProblem &problem) const {
        const int columns = space.choose(this->columns, {64, 72, 88, 104, 120, 128, 136, 144, 152, 176, 208});
        const int warpgroups = space.choose(this->warpgroups, {1, 2, 3, 4});
        const int blocks = space.choose(this->blocks, {1, 2, 3});
        const int stages = space.choose(this->stages, {2, 3});
        const int chunk = space.choose(this->chunk_channels, {8, 16});
        const int threads = 128 * warpgroups, registers = 65536 / (threads * blocks);
        const int positions = problem.x_axis.reach(columns) * problem.y_axis.reach(warpgroups) + 64 * problem.taps();
        constexpr int beside_sums = 48, hopper_shared_bytes = 227 * 1024;
        space.require("a thread's sums fit its registers", columns / 2 + beside_sums <= std::min(registers, 255));
        space.require("the stages of all blocks fit shared memory",
                      4 * stages * blocks * positions * chunk <= hopper_shared_bytes);
    }

    int staged_columns(const TensorCoreFuncs &f) const { return columns + f.reach_x; }
    int staged_rows(const TensorCoreFuncs &f) const {
        return f.picture_rows * (tiles.value() * warpgroups.value() - 1) + 1 + f.reach_y;
    }

    int shared_bytes(const TensorCoreFuncs &f) const {
        const int positions = staged_columns(f) * staged_rows(f) + 64 * f.taps_x * f.taps_y;
        const int stage = positions * chunk() * f.parts, turned = warpgroups.value() * 4 * 8 * (columns.value() + 8);
        return 4 * stages * std::max(stage, turned);
    }

    template <class Generator>
    void apply(TensorCoreFuncs &f, Generator &generator) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const TensorCoreVars &t = f.t;
        const int channels = 64 / f.picture_rows, rows = tiles * f.picture_rows, block_rows = warpgroups * rows;
        Var block{"block"}, column{"column"}, y_block{"y_block"}, channel_block{"channel_block"}, one{"one"};
        Var lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, outer{"outer"}, rest{"rest"};
        Var mma_m{"mma_m"}, mma_n{"mma_n"}, mma_m_outer{"mma_m_outer"}, mma_n_outer{"mma_n_outer"}, image{"image"};
        RVar pipeline{"pipeline"}, mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"};

        f.output.split(v.x, column, mma_n, columns, TailStrategy::GuardWithIf)
            .split(v.y, y_block, v.y, block_rows, TailStrategy::GuardWithIf)
            .split(v.y, warpgroup, v.y, rows)
            .split(v.y, mma_n_outer, mma_m_outer, f.picture_rows)
            .split(v.channel, channel_block, mma_m, channels, TailStrategy::GuardWithIf)
            .split(mma_n, one, mma_n, columns).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder(mma_n, mma_m, mma_m_outer, mma_n_outer, one, lane, warp, warpgroup, channel_block, column,
                     y_block, v.group, v.batch)
            .fuse(channel_block, column, block).fuse(v.group, v.batch, image)
            .gpu_blocks(block, y_block, image).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();

        const auto tile_loops = [&](Stage s) {
            s.split(t.row, outer, mma_m, 64).split(v.x, one, mma_n, columns).split(v.y, warpgroup, mma_n_outer, tiles)
                .split(one, one, lane, 1).split(one, one, warp, 1).never_partition_all();
        };
        f.sum.compute_at(f.output, block).store_in(MemoryType::Register)
            .bound_extent(v.x, columns).bound_extent(t.row, 64).bound_extent(v.y, block_rows / f.picture_rows)
            .bound_extent(t.row_block, 1)
            .bound_extent(v.group, 1).bound_extent(v.batch, 1);
        tile_loops(f.sum);
        f.sum.reorder(mma_n, mma_m, mma_n_outer, one, outer, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
        Func multiplied = f.sum;
        f.sum.update().split(f.r.k4, pipeline, mma_k_outer, chunk() / 4);
        if (f.parts == 2) {
            // Tensor cores cut the bits off that a sum cannot hold. A sum of its own for every chunk, added in float32,
            // keeps that error small: it is relative to the chunk's sum, and does not grow with the number of chunks.
            Var chunk_index{"chunk_index"};
            multiplied = f.sum.update().rfactor(pipeline, chunk_index);
            multiplied.compute_at(f.sum, pipeline).store_in(MemoryType::Register)
                .bound_extent(v.x, columns).bound_extent(t.row, 64).bound_extent(v.y, block_rows / f.picture_rows)
                .bound_extent(t.row_block, 1).bound_extent(v.group, 1).bound_extent(v.batch, 1);
            tile_loops(multiplied);
            multiplied.reorder(mma_n, mma_m, mma_n_outer, one, outer, lane, warp, warpgroup)
                .gpu_threads(lane, warp, warpgroup);
            Stage add = f.sum.update();
            tile_loops(add);
            add.reorder(mma_n, mma_m, mma_n_outer, one, outer, lane, warp, warpgroup, pipeline)
                .gpu_threads(lane, warp, warpgroup);
        }
        Stage update = multiplied.update();
        tile_loops(update);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, mma_n_outer, one, outer, value_outer, f.r.tap_x,
                                     f.r.tap_y, f.r.product, lane, warp, warpgroup};
        if (f.parts == 1) order.push_back(pipeline);
        update.split(f.r.value, value_outer, mma_k, 4).reorder(order)
            .unroll(f.r.tap_x).unroll(f.r.tap_y).unroll(f.r.product)
            .gpu_threads(lane, warp, warpgroup);

        const LoopLevel chunk_loop(f.sum, pipeline);
        f.pixels.compute_at(chunk_loop).store_in(MemoryType::GPUShared)
            .bound(t.value, 0, 4).bound(t.part, 0, f.parts).unroll(t.part)
            .bound_extent(v.x, staged_columns(f)).bound_extent(v.y, staged_rows(f))
            .bound_extent(t.k4, chunk() / 4).bound_extent(v.group, 1).bound_extent(v.batch, 1)
            .vectorize(t.value)
            .split(v.x, v.x, lane, 32, TailStrategy::GuardWithIf)
            .fuse(v.y, t.k4, rest).split(rest, rest, warp, 4 * warpgroups, TailStrategy::GuardWithIf)
            .split(warp, warpgroup, warp, 4)
            .reorder(t.value, t.part, v.x, rest, lane, warp, warpgroup).unroll(v.x).unroll(rest)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();

        Func staged = f.weights.in(multiplied);
        staged.compute_at(chunk_loop).store_in(MemoryType::GPUShared)
            .bound(t.value, 0, 4).bound(t.part, 0, f.parts).bound_extent(t.row, 64)
            .bound_extent(v.x, f.taps_x).bound_extent(v.y, f.taps_y).bound_extent(t.k4, chunk() / 4)
            .bound_extent(t.row_block, 1).bound_extent(v.group, 1)
            .vectorize(t.value)
            .fuse(t.row, v.x, rest).fuse(rest, v.y, rest).fuse(rest, t.k4, rest).fuse(rest, t.part, rest)
            .split(rest, rest, lane, 32, TailStrategy::GuardWithIf).split(rest, rest, warp, 4, TailStrategy::GuardWithIf)
            .split(rest, rest, warpgroup, warpgroups, TailStrategy::GuardWithIf)
            .reorder(t.value, rest, lane, warp, warpgroup).unroll(rest)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();

        if (tensor_cores) {
            generator.get_pipeline().add_custom_lowering_pass(new TensorCorePass({blocks}));
            generator.get_pipeline().add_custom_lowering_pass(new AsyncStagingPass({stages}));
        }
    }
};

}  // namespace conv_transpose

#endif
