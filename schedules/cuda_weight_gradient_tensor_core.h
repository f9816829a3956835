// Schedule: the weight gradient on tensor cores (wgmma on Hopper, mma.sync elsewhere).
//
// NVIDIA H200, 2026-11-21, TF32: KernelBench 57 in 3.75 ms (165 TFLOP/s, 31 % of the tensor cores' limit), 69 in 2.55
// (202, 38 %), U-Net's k2 s2 in 0.582 (32 % of what memory allows), DCGAN's k4 s2 in 1.22 (56). What limits it is the latency of staging: at 12 warps a multiprocessor, ncu saw an issue every 3.4 cycles.
//
// Order of the loops, from the inside:
// - A tile is the weights of all kernel positions for some input and output channels. A warpgroup has 64 of its rows, one
//   kernel row of 64 input channels or two of 32; so all warpgroups of a block share both operands, and each value that
//   is staged meets every weight that sees it.
// - All kernel columns are columns of one product, though each sees the output gradient shifted by another number of
//   positions: weight_gradient_tensor_core_funcs.h says how.
// - A chunk of positions is staged while the chunk before it is multiplied ("pipeline"). Lanes are neighbouring positions,
//   so that loads are dense, and store 16 bytes each, in other banks.
// - Chunks follow each other along a row, then down a band, then from image to image; blocks take bands and images.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_CORE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_CORE_H

#include "generators/kernel_description.h"
#include "generators/problem_params.h"
#include "schedules/search_space.h"
#include "schedules/weight_gradient_tensor_core_funcs.h"

namespace conv_transpose {

struct CudaWeightGradientTensorCore {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> tile_in{"tile_in", 64}, tile_out{"tile_out", 64};  // channels
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    /// Steps of one call of the tensor cores; between two calls comes a part of the staging.
    GeneratorParam<int> steps_at_once{"steps_at_once", 2};
    GeneratorParam<int> stages{"stages", 2};
    GeneratorParam<int> blocks{"blocks", 1};  // on a multiprocessor
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 528};
    GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes
    static constexpr bool separate_registers = true;                 // see SoftwarePipelineOptions

    WeightGradientTile tile(const ProblemParams &problem) const {
        return {tile_in, tile_out, chunk_columns, chunk_rows, problem.kernel_w, problem.kernel_h, problem.stride_w, problem.stride_h};
    }

    int shared_bytes(const WeightGradientTensorCoreFuncs &f) const {
        const WeightGradientTile &t = f.tile;
        const int rows = t.steps() * t.input_row_pitch() + t.output_rows() * t.stored_output_steps() * t.pitch();
        const int turned = t.warpgroups() * 4 * 8 * (t.columns() + 8);
        return std::max(stages * rows * f.parts * 16, turned * 4);
    }

    void describe(KernelDescription &description, const WeightGradientTensorCoreFuncs &f) const {
        description.set("min_compute_capability", 80);
        // With two tiles (tf32x3) there are too few registers for mma.sync.
        if (f.parts == 2) description.set("min_compute_capability", 90), description.set("max_compute_capability", 90);
        description.set("shared_bytes", shared_bytes(f));
        description.set("wanted_blocks", wanted_blocks);
    }

    /// Of `f` the tile and the parts are read.
    void search_space(SearchSpace &space, const WeightGradientTensorCoreFuncs &f) const {
        space.choose(this->tile_in, {32, 64});
        space.choose(this->tile_out, {16, 32, 64});
        space.choose(this->chunk_columns, {16, 32, 64});
        space.choose(this->chunk_rows, {1, 2, 4});
        space.choose(this->steps_at_once, {2, 4, 8});
        space.choose(this->stages, {2, 3});
        const int blocks = space.choose(this->blocks, {1, 2, 3});
        const int registers = 65536 / (128 * f.tile.warpgroups() * blocks);
        const int sums = f.tile.columns() / 2 * (f.parts == 1 ? 1 : 2);
        constexpr int beside_sums = 60, hopper_shared_bytes = 227 * 1024;
        space.require("an instruction has at most 256 columns", f.tile.columns() <= 256);
        space.require("a thread's sums fit its registers", sums + beside_sums <= std::min(registers, 255));
        space.require("the stages of all blocks fit shared memory", shared_bytes(f) * blocks <= hopper_shared_bytes);
    }

    void apply(WeightGradientTensorCoreFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const WeightGradientTile &t = f.tile;
        const int warpgroups = t.warpgroups();
        const auto guard = TailStrategy::GuardWithIf;
        Var lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, one{"one"}, rest{"rest"}, block{"block"};
        Var mma_m{"mma_m"}, mma_n{"mma_n"}, mma_m_outer{"mma_m_outer"}, mma_n_outer{"mma_n_outer"};
        RVar pipeline{"pipeline"}, mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"}, step_outer{"step_outer"};

        f.partial.split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard)
            .split(f.ky, warpgroup, mma_m_outer, t.kernel_rows(), guard)
            .split(f.kx, one, mma_n_outer, t.kernel_w).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_n, mma_m, mma_n_outer, mma_m_outer, one, lane, warp, warpgroup, f.out_tile, f.in_tile, f.group,
                      f.band, f.images})
            .fuse(f.out_tile, f.in_tile, block).fuse(f.group, f.band, f.group)
            .gpu_blocks(block, f.group, f.images).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();

        const auto tile_loops = [&](Stage s) {
            s.split(f.m, warpgroup, mma_m, 64).split(f.n, one, mma_n, t.columns())
                .split(one, one, lane, 1).split(one, one, warp, 1).never_partition_all();
        };
        const auto one_tile = [&](Func s) {
            s.store_in(MemoryType::Register).bound_extent(f.n, t.columns()).bound_extent(f.m, t.rows());
            for (const Var &d : {f.out_tile, f.in_tile, f.group, f.band, f.images}) s.bound_extent(d, 1);
            tile_loops(s);
            s.reorder(mma_n, mma_m, one, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
        };
        one_tile(f.sum.compute_at(f.partial, block));
        f.sum.update().rename(f.r.chunk, pipeline);
        Func multiplied = f.sum;
        if (f.parts == 2) {
            // A sum of its own for every chunk: see cuda_tensor_core.h.
            Var chunk_index{"chunk_index"}, image_index{"image_index"};
            multiplied = f.sum.update().rfactor({{pipeline, chunk_index}, {f.r.image, image_index}});
            one_tile(multiplied.compute_at(f.sum, pipeline));
            Stage add = f.sum.update();
            tile_loops(add);
            add.reorder(mma_n, mma_m, one, lane, warp, warpgroup, pipeline, f.r.image).gpu_threads(lane, warp, warpgroup);
        }
        Stage update = multiplied.update();
        tile_loops(update);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, one, value_outer, step_outer, f.r.y, f.r.product, lane, warp,
                                     warpgroup};
        if (f.parts == 1) order.push_back(pipeline), order.push_back(f.r.image);
        update.split(f.r.value, value_outer, mma_k, 4).split(f.r.step, step_outer, mma_k_outer, steps_at_once)
            .reorder(order).unroll(step_outer).unroll(f.r.y).unroll(f.r.product)
            .gpu_threads(lane, warp, warpgroup);

        const LoopLevel chunk_loop(f.sum, pipeline);
        const auto stage = [&](Func s, const Var &tile) {
            s.compute_at(chunk_loop).store_in(MemoryType::GPUShared)
                .bound(f.value, 0, 4).bound(f.part, 0, f.parts).vectorize(f.value).unroll(f.part);
            for (const Var &d : {f.chunk, f.image, tile, f.group, f.band, f.images}) s.bound_extent(d, 1);
        };
        Var input_row{"input_row"};
        // A warpgroup has its own rows of the input, so that a thread's loads differ in the channel alone.
        stage(f.input, f.in_tile);
        f.input.bound_extent(f.row, t.input_rows() * t.in_channels).bound_extent(f.step, t.steps())
            .align_storage(f.row, t.input_row_pitch())
            .split(f.row, input_row, rest, t.in_channels)
            .split(input_row, warpgroup, input_row, (t.input_rows() + warpgroups - 1) / warpgroups, guard)
            .split(rest, rest, lane, 32 / t.steps()).split(rest, rest, warp, 4).fuse(f.step, lane, lane)
            .reorder(f.value, f.part, rest, input_row, lane, warp, warpgroup).unroll(rest).unroll(input_row)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
        stage(f.output_gradient, f.out_tile);
        f.output_gradient.bound_extent(f.channel, t.pitch()).bound_extent(f.step, t.output_steps()).bound_extent(f.y, t.output_rows())
            .align_storage(f.step, t.stored_output_steps())
            .fuse(f.step, f.channel, rest).fuse(rest, f.y, rest)
            .split(rest, rest, lane, 32, guard).split(rest, rest, warp, 4, guard).split(rest, rest, warpgroup, warpgroups, guard)
            .reorder(f.value, f.part, rest, lane, warp, warpgroup).unroll(rest)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
