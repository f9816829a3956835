// Schedule: the weight gradient on tensor cores (wgmma on Hopper, mma.sync elsewhere).
//
// NVIDIA H200, 2026-11-21, TF32: KernelBench 57 in 2.79 ms (222 TFLOP/s, 42 % of the tensor cores' limit), 69
// in 1.83 (282, 53 %). What limits them is instructions that are no products: of 321 a thread in a chunk of DCGAN's k4 s2 (two
// rows), 16 loads with their addresses, rounding and stores are 128, places, edges and descriptors most of the others.
//
// What it is worth: without it products for any attributes took so much longer (H200, 2026-11-23, geometric means over layers that
// choose it), in TF32: k3 1.47, k3x5 1.82, k3x7 2.48, k3 s2 1.21; in tf32x3 1.33 to 1.48. In TF32 k4 s2 (1.03) has no kernel.
//
// Order of the loops, from the inside:
// - A tile is the weights of all kernel positions for some input and output channels. A warpgroup has 64 of
//   its rows, one kernel row of 64 input channels or two of 32; so all warpgroups of a block share both
//   operands, and each value that is staged meets every weight that sees it.
// - All kernel columns are columns of one product, though each sees the output gradient shifted by another number of
//   positions: weight_gradient_tensor_core_funcs.h says how.
// - A chunk of positions is staged while the chunk before it is multiplied ("pipeline"). Lanes are
//   neighbouring positions: a warp loads 128 bytes that lie together, and stores floats that lie in all
//   banks.
// - Chunks follow each other along a row, then down a band, then from image to image; blocks take bands and images.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_CORE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_CORE_H

#include "algorithm/weight_gradient_tensor_core_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/warpgroup_tile.h"

namespace conv_transpose {

struct CudaWeightGradientTensorCore : WarpgroupTile {
    static constexpr const char *family = "tensor_core";
    GeneratorParam<int> tile_in{"tile_in", 64}, tile_out{"tile_out", 64};  // channels
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    /// Steps of one call of the tensor cores; between two calls comes a part of the staging.
    GeneratorParam<int> steps_at_once{"steps_at_once", 2};
    GeneratorParam<int> stages{"stages", 2};
    GeneratorParam<int> blocks{"blocks", 1};  // on a multiprocessor
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 528};
    GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes
    static constexpr bool separate_registers = true;                 // see SoftwarePipelineOptions

    WeightGradientTile tile(int kernel_w, int kernel_h, int stride_w, int stride_h) const {
        return {tile_in, tile_out, chunk_columns, chunk_rows, kernel_w, kernel_h, stride_w, stride_h};
    }

    int shared_bytes(const WeightGradientTensorCoreFuncs &f) const {
        const WeightGradientTile &t = f.tile;
        const int rows = t.steps() * t.input_row_pitch() + t.output_rows() * t.stored_output_steps() * t.pitch();
        const int turned = t.warpgroups() * 4 * 8 * (t.columns() + 8);
        return std::max(stages * rows * f.parts * 16, turned * 4);
    }

    void describe(KernelDescription &description, const WeightGradientTensorCoreFuncs &f) const {
        // With two tiles (tf32x3) there are too few registers for mma.sync.
        describe_gpus(description, f.parts == 2);
        description.set("shared_bytes", shared_bytes(f));
        description.set("wanted_blocks", wanted_blocks);
    }

    /// It reads the tile and the parts of `f`.
    void search_space(SearchSpace &space, const WeightGradientTensorCoreFuncs &f) const {
        space.choose(this->tile_in, {32, 64});
        space.choose(this->tile_out, {16, 32, 64});
        space.choose(this->chunk_columns, {16, 32, 64});
        space.choose(this->chunk_rows, {1, 2, 3, 4, 6});
        const int at_once = space.choose(this->steps_at_once, {2, 4, 8});
        space.choose(this->stages, {2, 3});
        constexpr int round = machines::H200::multiprocessors;
        space.choose(this->wanted_blocks, {round, 2 * round, 4 * round});
        const int blocks = space.choose(this->blocks, {1, 2, 3});
        const int registers = GpuLimits::registers(128 * f.tile.warpgroups() * blocks);
        const int sums = f.tile.columns() / 2 * (f.parts == 1 ? 1 : 2);
        constexpr int beside_sums = 60;
        space.require("with a vertical stride a warpgroup has one kernel row",
                      f.tile.stride_h == 1 || f.tile.kernel_rows() == 1);
        space.require("a chunk's steps are whole calls", f.tile.steps() % at_once == 0);
        space.require("an instruction has at most 256 columns", f.tile.columns() <= 256);
        space.require("a thread's sums fit its registers", sums + beside_sums <= registers);
        space.require("the stages of all blocks fit shared memory", shared_bytes(f) * blocks <= machines::H200::block_shared_bytes);
    }

    void apply(WeightGradientTensorCoreFuncs &f, const Halide::Target &) const {
        store_tile(f);
        multiply_in_tile(f);
        stage_input(f);
        stage_output_gradient(f);
    }

  private:
    void store_tile(WeightGradientTensorCoreFuncs &f) const {
        const WeightGradientTile &t = f.tile;
        Halide::Var mma_m_outer{"mma_m_outer"}, mma_n_outer{"mma_n_outer"};
        f.partial.split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard)
            .split(f.ky, warpgroup, mma_m_outer, t.kernel_rows(), guard)
            .split(f.kx, one, mma_n_outer, t.kernel_w).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_n, mma_m, mma_n_outer, mma_m_outer, one, lane, warp, warpgroup, f.out_tile, f.in_tile, f.group,
                      f.band, f.images})
            .fuse(f.out_tile, f.in_tile, block).fuse(f.group, f.band, f.group)
            .gpu_blocks(block, f.group, f.images).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    void multiply_in_tile(WeightGradientTensorCoreFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"}, step_outer{"step_outer"};
        f.sum.update().rename(f.r.chunk, pipeline);
        Stage update = multiplied_sum(f).update();
        tile_loops(f, update);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, one, value_outer, step_outer, f.r.y, f.r.product,
                                     lane, warp, warpgroup};
        if (f.parts == 1) order.push_back(pipeline);
        update.split(f.r.value, value_outer, mma_k, 4).split(f.r.step, step_outer, mma_k_outer, steps_at_once)
            .reorder(order).unroll(step_outer).unroll(f.r.y).unroll(f.r.product)
            .gpu_threads(lane, warp, warpgroup);
    }

    void keep_in_shared_memory(const WeightGradientTensorCoreFuncs &f, Halide::Func s, const Halide::Var &tile) const {
        s.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .bound(f.value, 0, 4).bound(f.part, 0, f.parts);
        for (const Halide::Var &d : {f.chunk, tile, f.group, f.band, f.images}) s.bound_extent(d, 1);
    }

    void stage_input(WeightGradientTensorCoreFuncs &f) const {
        const WeightGradientTile &t = f.tile;
        Halide::Var input_row{"input_row"}, channel{"channel"}, positions{"positions"};
        keep_in_shared_memory(f, f.input, f.in_tile);
        f.input.bound_extent(f.row, t.input_rows() * t.in_channels).bound_extent(f.step, t.steps())
            .align_storage(f.row, t.input_row_pitch())
            .split(f.row, input_row, channel, t.in_channels).fuse(f.step, f.value, positions);
        stage<Halide::Var>(f, f.input, positions, t.chunk_columns, channel, t.in_channels, input_row, t.input_rows());
    }

    void stage_output_gradient(WeightGradientTensorCoreFuncs &f) const {
        const WeightGradientTile &t = f.tile;
        keep_in_shared_memory(f, f.output_gradient, f.out_tile);
        f.output_gradient.bound_extent(f.channel, t.position_rows()).bound_extent(f.position, t.stride_w)
            .bound_extent(f.y, t.output_rows()).bound_extent(f.step, t.stored_output_steps());
        stage_positions(f, 0, f.inside, t.chunk_columns);
        if (t.steps_beyond() > 0) stage_positions(f, 1, f.beyond, 4 * t.steps_beyond());
    }

    void stage_positions(WeightGradientTensorCoreFuncs &f, int update, const StagedPositions &r, int cells) const {
        Halide::RVar positions{"positions"};
        Halide::Stage s = f.output_gradient.update(update);
        s.fuse(r.position, r.step, positions).fuse(positions, r.value, positions);
        stage<Halide::RVar>(f, s, positions, cells * f.tile.stride_w, r.channel, f.tile.out_channels, f.y,
                            f.tile.output_rows());
    }

    /// Lanes along `positions`, of which there are `extent` with neighbouring addresses. Where they
    /// are fewer than 32, several channels fill a warp: so far apart that what the warp stores lies in all banks.
    template <class V>
    void stage(const WeightGradientTensorCoreFuncs &f, Halide::Stage s, const V &positions, int extent,
               const V &channel, int channels, const Halide::Var &row, int rows) const {
        constexpr int warp_size = 32, rows_of_banks = 8;
        V nearby("nearby"), beside("beside"), rest("rest"), lanes("lanes"), warps("warps");
        if (extent >= warp_size) {
            s.split(positions, nearby, lanes, warp_size);
        } else {
            s.split(channel, channel, nearby, rows_of_banks).split(nearby, beside, nearby, extent / 4)
                .fuse(positions, beside, lanes);
        }
        s.fuse(nearby, channel, rest).split(rest, rest, warps, 4);
        const int warpgroups = f.tile.warpgroups();
        if (channels * extent / warp_size % (4 * warpgroups) != 0 && rows % warpgroups == 0) {
            s.split(row, warpgroup, row, rows / warpgroups).reorder({f.part, rest, row, lanes, warps, warpgroup})
                .gpu_threads(lanes, warps, warpgroup);
        } else {
            // Each thread has all rows: so what rows differ in is computed once a warp.
            V others("others");
            s.split(rest, rest, others, warpgroups, guard).reorder({f.part, rest, row, lanes, warps, others})
                .gpu_threads(lanes, warps, others);
        }
        s.unroll(rest).unroll(row).unroll(f.part).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
