// Schedule: the weight gradient as a matrix product, on a GPU's CUDA cores.
//
// NVIDIA H200, 2026-11-21, packing and the sum of parts included, TFLOP/s of 67: DCGAN as published (k5 s2,
// 64 images, 256 to 128, 16x16) 40.9, its first layer (512 to 256, 8x8) 33.5, HiFi-GAN's (k16 s8) 40.1,
// EnCodec's (k10 s5) 39.3, k4 s4 of DPT 34.8.
//
// Order: a block multiplies a tile, weights of some kernel positions, output and input channels, chunk by
// chunk of positions: a chunk is on its way, by asynchronous copies of 16 bytes, while the one before is
// multiplied. A thread reads rows of 16 bytes, the same position of four pictures: 8 output and 16 input
// channels take 24 such loads for 512 multiplications.
//
// Tiles that channels and taps fill: one channel of 9x9 by 32 taps 0.080 ms (0.106 by 64), and of pictures as they lie 8 channels
// of k8 by 8 taps 0.038 (0.065 by 4 taps of 16), 3 of 7x7 by 16 of 4 0.239 (0.302 by 64 of one; H200, 2026-11-28).
//
// Shared memory limits it: with 8 x 8 channels a thread, 16 loads for 256 multiplications, it was 10 to 16 %
// slower, however lanes were arranged (where neighbours in a warp have the same row or the same column, 1 to
// 2 % faster). Neither chunks of 16 positions nor two unrolled ones were faster.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_H

#include "algorithm/weight_gradient_product_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaWeightGradientProduct : CudaSchedule {
    static constexpr const char *family = "product";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> tile_taps{"tile_taps", 2}, tile_out{"tile_out", 64}, tile_in{"tile_in", 64};
    /// Threads along rows and columns of the tile; they share rows of 16 bytes out in turn.
    GeneratorParam<int> lanes_rows{"lanes_rows", 16}, lanes_columns{"lanes_columns", 8};
    /// So many threads along rows are neighbours in a warp.
    GeneratorParam<int> neighbour_rows{"neighbour_rows", 2};
    GeneratorParam<int> steps{"steps", 8};  // see cuda_weight_gradient_product_tensor_core.h
    GeneratorParam<int> stages{"stages", 2};
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 528};
    static constexpr bool single_floats = true;

    WeightGradientProductTile tile() const { return {tile_taps, tile_out, tile_in, steps}; }

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        description.set("shared_bytes", stages * f.staged_bytes());
        description.set("wanted_blocks", wanted_blocks);
    }

    void search_space(SearchSpace &space, const WeightGradientProductFuncs &f) const {
        constexpr int round = machines::H200::multiprocessors;
        space.choose(this->tile_taps, {1, 2, 4, 8});
        space.choose(this->tile_out, {16, 32, 64});
        const int in = space.choose(this->tile_in, {32, 64, 128});
        const int lanes_rows = space.choose(this->lanes_rows, {8, 16, 32});
        const int lanes_columns = space.choose(this->lanes_columns, {4, 8, 16, 32});
        space.choose(this->neighbour_rows, {1, 2, 4});
        const int steps = space.choose(this->steps, {4, 8, 16});
        const int stages = space.choose(this->stages, {2, 3});
        space.choose(this->wanted_blocks, {2 * round, 4 * round, 8 * round});
        const int sums = f.tile.rows() * f.tile.columns() / threads();
        space.require("threads have whole rows and columns of a tile", f.tile.rows() % lanes_rows == 0 && in % lanes_columns == 0);
        space.require("a warp stages whole rows", f.tile.rows() % GpuLimits::warp == 0);
        space.require("a block has two to sixteen warps",
                      threads() >= 2 * GpuLimits::warp && threads() <= GpuLimits::threads / 2);
        space.require("a thread has enough to do", sums >= 16);
        space.require("a thread's sums fit its registers", sums <= GpuLimits::sums);
        space.require("the stages fit shared memory",
                      stages * steps * (f.tile.rows() + f.tile.columns()) * 16 <= GpuLimits::shared_bytes);
    }

    void apply(WeightGradientProductFuncs &f) const {
        store_tile(f);
        multiply(f);
        for (const WeightGradientProductOperand &operand : f.operands()) stage(f, operand);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var lane_row{"lane_row"}, neighbour_row{"neighbour_row"}, lane_column{"lane_column"}, block{"block"};
    Halide::Var thread_row{"thread_row"}, thread_column{"thread_column"};
    Halide::RVar pipeline{"pipeline"};

    int threads() const { return int(lanes_rows) * int(lanes_columns); }

    void store_tile(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        f.partial.split(f.in_channel, f.in_tile, thread_column, t.in_channels, guard)
            .split(thread_column, thread_column, lane_column, lanes_columns)
            .split(f.out_channel, f.out_tile, thread_row, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).fuse(thread_row, f.tap, thread_row)  // as rows of the product count them
            .split(thread_row, thread_row, lane_row, lanes_rows)
            .split(lane_row, lane_row, neighbour_row, neighbour_rows)
            .reorder({thread_column, thread_row, neighbour_row, lane_column, lane_row, f.tap_tile, f.in_tile,
                      f.out_tile, f.group, f.band})
            .unroll(thread_column).unroll(thread_row)
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(neighbour_row, lane_column, lane_row).never_partition_all();
    }

    void multiply(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        f.sum.compute_at(f.partial, block).store_in(MemoryType::Register)
            .bound_extent(f.n, f.tile.columns()).bound_extent(f.m, f.tile.rows());
        for (const Var &d : {f.in_tile, f.out_tile, f.tap_tile, f.group, f.band}) f.sum.bound_extent(d, 1);
        Stage clear = f.sum, add = f.sum.update();
        for (Stage *stage : {&clear, &add})
            stage->split(f.m, thread_row, lane_row, lanes_rows).split(lane_row, lane_row, neighbour_row, neighbour_rows)
                .split(f.n, thread_column, lane_column, lanes_columns).unroll(thread_row).unroll(thread_column)
                .gpu_threads(neighbour_row, lane_column, lane_row).never_partition_all();
        clear.reorder(thread_column, thread_row, neighbour_row, lane_column, lane_row);
        add.rename(f.r[3], pipeline)
            .reorder({f.r[0], thread_column, thread_row, f.r[1], f.r[2], neighbour_row, lane_column, lane_row,
                      pipeline})
            .unroll(f.r[0]);
        for (const WeightGradientProductOperand &operand : f.operands()) {
            // Four pictures' values of a row, by a load of 16 bytes.
            Func staged = operand.staged, loaded = staged.in(f.sum);
            f.bound(operand, loaded, 1, 1);
            loaded.compute_at(f.sum, operand.row.same_as(f.n) ? thread_column : thread_row)
                .store_in(MemoryType::Register).vectorize(f.value);
        }
    }

    // Packed, a warp has a step, its lanes the rows: they copy what lies side by side, and find the place of a position once.
    // Where pictures are read as they lie lanes are neighbouring positions, and warps take turns with channels of a kernel
    // position.
    void stage(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, turn{"turn"}, warp{"warp"}, lane{"lane"}, thread{"thread"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared);
        std::vector<Halide::VarOrRVar> loops{f.part, round, turn, neighbour_row, lane_column, lane_row};
        if (f.neighbours) {
            staged.align_storage(operand.row, f.pitch(operand.rows)).fuse(f.value, f.step, lane)
                .split(operand.row, turn, warp, operand.channels).split(warp, round, warp, threads() / 32, guard);
        } else {
            staged.vectorize(f.value).split(operand.row, round, lane, 32).split(f.step, turn, warp, threads() / 32, guard);
            loops.insert(loops.begin(), f.value);
        }
        staged.fuse(lane, warp, thread).split(thread, thread, neighbour_row, neighbour_rows)
            .split(thread, lane_row, lane_column, lanes_columns)
            .reorder(loops).unroll(round).unroll(turn)
            .gpu_threads(neighbour_row, lane_column, lane_row).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
