// Schedule: the weight gradient as a matrix product, on tensor cores (wgmma on Hopper, mma.sync elsewhere).
//
// NVIDIA H200, 2026-11-21, TF32, packing and the sum of parts included, TFLOP/s: DCGAN as published (k5 s2,
// 64 images, 256 to 128, 16x16) 226, its first layer (512 to 256, 8x8) 200, pix2pix (k4 s2, 16 images, 1024
// to 256, 32x32) 291, that is 80 % of a plain matrix product through the same passes; where kernels are short
// packing takes half of the time: k4 s4 of DPT 113.
//
// Order: as in tests/matrix_product, whose limit it shares, the second-level cache: a block computes as large
// a tile as its registers hold, and copies chunks of positions into four or five buffers, of which two or
// three are on their way. The four values that tensor cores read together are the same position of four
// pictures; therefore a kernel position, whatever stride and dilation, is another place to copy from. A warp
// copies all rows of its position and finds that place once.
//
// 128 x 256 was the best tile, 256 x 128 4 % slower, 192 x 256 8 %, 128 x 128 in two blocks of three buffers
// 5 % slower than in one of five. In tiles of few rows, of 16 channels, several small blocks are better.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_TENSOR_CORE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_TENSOR_CORE_H

#include "schedules/shared/kernel_description.h"
#include "algorithm/weight_gradient_product_funcs.h"
#include "schedules/shared/warpgroup_tile.h"

namespace conv_transpose {

struct CudaWeightGradientProductTensorCore : WarpgroupTile {
    static constexpr const char *family = "product";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> tile_taps{"tile_taps", 2}, tile_out{"tile_out", 64}, tile_in{"tile_in", 128};
    /// Positions of four pictures that are staged at once; a multiple of the warps, if a thread is to find
    /// but one place.
    GeneratorParam<int> steps{"steps", 8};
    GeneratorParam<int> stages{"stages", 3};
    GeneratorParam<int> blocks{"blocks", 2};  // on a multiprocessor
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 264};
    GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes
    /// See SoftwarePipelineOptions; where pictures are packed nothing goes through registers.
    GeneratorParam<bool> separate_registers{"separate_registers", false};

    WeightGradientProductTile tile() const { return {tile_taps, tile_out, tile_in, steps}; }

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        // With two tiles (tf32x3) there are too few registers for mma.sync.
        describe_gpus(description, f.parts == 2);
        description.set("shared_bytes", shared_bytes(f));
        description.set("wanted_blocks", wanted_blocks);
    }

    void search_space(SearchSpace &space, const WeightGradientProductFuncs &f) const {
        using machines::Multiprocessor;
        constexpr int round = machines::H200::multiprocessors;
        space.choose(this->tile_taps, {1, 2, 4, 8});
        const int out = space.choose(this->tile_out, {16, 32, 64});
        const int in = space.choose(this->tile_in, {32, 64, 128, 256});
        space.choose(this->steps, {8, 16});
        space.choose(this->stages, {2, 3, 4, 5});
        const int blocks = space.choose(this->blocks, {1, 2, 4});
        space.choose(this->wanted_blocks, {round, 2 * round, 4 * round});
        const bool whole = f.tile.rows() % warpgroup_rows == 0 && warpgroup_rows % out == 0;
        space.require("warpgroups have whole kernel positions", whole);
        if (!whole) return;  // what follows divides by it
        constexpr int beside_sums = 60, most_warpgroups = 4;
        const int sums = in / 2 * (f.parts == 2 ? 2 : 1);
        space.require("a block has at most four warpgroups", warpgroups(f) <= most_warpgroups);
        space.require("a thread's sums fit its registers",
                      sums + beside_sums <= GpuLimits::registers(128 * warpgroups(f) * blocks));
        space.require("the stages of all blocks fit shared memory",
                      blocks * (shared_bytes(f) + Multiprocessor::reserved_shared_bytes) <=
                          machines::H200::block_shared_bytes);
    }

    void apply(WeightGradientProductFuncs &f) const {
        store_tile(f);
        multiply(f);
        for (const WeightGradientProductOperand &operand : f.operands())
            f.neighbours ? stage_positions(f, operand) : stage(f, operand);
    }

  protected:
    int warpgroups(const WeightGradientProductFuncs &f) const { return f.tile.rows() / warpgroup_rows; }

    int shared_bytes(const WeightGradientProductFuncs &f) const {
        const int turned = warpgroups(f) * 4 * 8 * (f.tile.columns() + 8) * 4;
        return std::max(stages * f.staged_bytes(), turned);
    }

    void store_tile(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        Halide::Var mma_m_outer{"mma_m_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_n, t.in_channels, guard)
            .split(f.out_channel, f.out_tile, mma_m, t.out_channels, guard).bound(f.tap, 0, t.taps);
        if (t.shares_out_channels()) f.partial.split(mma_m, warpgroup, mma_m, warpgroup_rows).rename(f.tap, mma_m_outer);
        else f.partial.split(f.tap, warpgroup, mma_m_outer, warpgroup_rows / t.out_channels);
        f.partial.split(f.in_tile, f.in_tile, one, 1).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_n, mma_m, mma_m_outer, one, lane, warp, warpgroup, f.tap_tile, f.in_tile, f.out_tile, f.group,
                      f.band})
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    void multiply(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"}, step_outer{"step_outer"};
        f.sum.update().rename(f.r[3], pipeline);
        Stage update = multiplied_sum(f).update();
        tile_loops(f, update);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, one, value_outer, step_outer, f.r[2],
                                     lane, warp, warpgroup};
        if (f.parts != 2) order.push_back(pipeline);
        update.split(f.r[0], value_outer, mma_k, f.values).split(f.r[1], step_outer, mma_k_outer, f.tile.steps)
            .reorder(order).unroll(f.r[2]).gpu_threads(lane, warp, warpgroup);
    }

    // A warp has a step, its lanes the rows: they copy what lies side by side, and find the place of a position once.
    void stage(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, step_round{"step_round"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .vectorize(f.value).split(operand.row, round, lane, 32)
            .split(f.step, step_round, warp, 4 * warpgroups(f), guard)
            .split(warp, warpgroup, warp, 4)
            .reorder({f.value, f.part, round, step_round, lane, warp, warpgroup})
            .unroll(f.part).unroll(round).unroll(step_round)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Pictures as they lie: lanes are neighbouring positions, warps take turns with channels of a kernel position.
    void stage_positions(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, tap{"tap"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .align_storage(operand.row, f.pitch(operand.rows)).fuse(f.value, f.step, lane)
            .split(operand.row, tap, warp, operand.channels).split(warp, round, warp, 4 * warpgroups(f), guard)
            .split(warp, warpgroup, warp, 4)
            .reorder({f.part, round, tap, lane, warp, warpgroup})
            .unroll(f.part).unroll(round).unroll(tap)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
