// Schedule: the weight gradient as an implicit matrix product on a GPU's CUDA cores, of float32 pictures in channels_last, read as
// they lie.
//
// NVIDIA H200, 2026-11-28, the sum of parts included: k2 s2, 128 to 128 channels of 768x768, 1.99 ms, 38.9 TFLOP/s, 58 % of the
// peak (turned to channels_first before 2.65); k4 s4, N32 256 to 256 37x37, 2.42 ms, 38.0; 1x1, N4 64 to 128 248x216, 0.100 ms, 35.1
// (0.208); k1 s2 of three axes, N2 64 to 32 64x64x64, 0.088 ms (0.545). Of 60 layers 42 are faster than turned, by 4 to 84 %.
//
// Order: a block multiplies a tile, weights of some kernel positions, output and input channels, chunk by chunk of positions: a
// chunk is on its way, by asynchronous copies of 16 bytes, while the one before is multiplied. Four channels of a position are 16
// bytes, in memory and in shared memory: lanes copy neighbouring fours of a position's, and a thread reads fours of both pictures
// for the products of all pairs. So nothing is packed or turned, and what lanes read of a position lies in all banks. Where channels
// do not come in fours, lanes copy neighbouring channels, one by one, and what is missing of a four is zero.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_CHANNELS_H

#include "algorithm/weight_gradient_product_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaWeightGradientChannels : CudaSchedule {
    static constexpr const char *family = "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> tile_taps{"tile_taps", 1}, tile_out{"tile_out", 64}, tile_in{"tile_in", 64};
    /// Threads along rows and columns of the tile; they share fours of channels out in turn.
    GeneratorParam<int> lanes_rows{"lanes_rows", 8}, lanes_columns{"lanes_columns", 8};
    GeneratorParam<int> steps{"steps", 16};  // positions of a chunk
    GeneratorParam<int> stages{"stages", 3};
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 528};
    /// Of any number of channels: lanes copy neighbouring channels, one by one.
    GeneratorParam<bool> single_floats{"single_floats", false};
    static constexpr bool writes_result = false, row_stores = false;

    WeightGradientProductTile tile() const { return {tile_taps, tile_out, tile_in, steps}; }
    /// Channels that are a row of what is staged: 16 bytes.
    int row_channels(int, int values) const { return values; }

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        description.set("shared_bytes", stages.value() * steps.value() * (f.tile.rows() + f.tile.columns()) * 16 / f.values);
        description.set("wanted_blocks", wanted_blocks);
    }

    void apply(WeightGradientProductFuncs &f) const {
        store_tile(f);
        multiply(f);
        for (const WeightGradientProductOperand &operand : f.operands()) stage(f, operand);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var lane_row{"lane_row"}, lane_column{"lane_column"}, block{"block"};
    Halide::Var thread_row{"thread_row"}, thread_column{"thread_column"}, row{"row"}, column{"column"};
    Halide::RVar pipeline{"pipeline"};

    int threads() const { return int(lanes_rows) * int(lanes_columns); }

    void store_tile(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        f.partial.split(f.in_channel, f.in_tile, column, t.in_channels, guard)
            .split(column, thread_column, column, f.values).split(thread_column, thread_column, lane_column, lanes_columns)
            .split(f.out_channel, f.out_tile, row, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).fuse(row, f.tap, row)  // as rows of the product count them
            .split(row, thread_row, row, f.values).split(thread_row, thread_row, lane_row, lanes_rows)
            .reorder({column, thread_column, row, thread_row, lane_column, lane_row, f.tap_tile, f.in_tile, f.out_tile, f.group,
                      f.band})
            .unroll(column).unroll(thread_column).unroll(row).unroll(thread_row)
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(lane_column, lane_row).never_partition_all();
    }

    void multiply(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        f.sum.compute_at(f.partial, block).store_in(MemoryType::Register)
            .bound_extent(f.n, f.tile.columns()).bound_extent(f.m, f.tile.rows());
        for (const Var &d : f.of_block()) f.sum.bound_extent(d, 1);
        Stage clear = f.sum, add = f.sum.update();
        for (Stage *stage : {&clear, &add})
            stage->split(f.m, thread_row, row, f.values).split(thread_row, thread_row, lane_row, lanes_rows)
                .split(f.n, thread_column, column, f.values).split(thread_column, thread_column, lane_column, lanes_columns)
                .unroll(thread_row).unroll(thread_column).unroll(row).unroll(column)
                .gpu_threads(lane_column, lane_row).never_partition_all();
        clear.reorder(column, thread_column, row, thread_row, lane_column, lane_row);
        add.rename(f.r[3], pipeline)
            .reorder({column, row, thread_column, thread_row, f.r[0], f.r[1], f.r[2], lane_column, lane_row, pipeline})
            .unroll(f.r[0]);
        for (const WeightGradientProductOperand &operand : f.operands()) {
            // Four channels, by a load of 16 bytes.
            Func staged = operand.staged, loaded = staged.in(f.sum);
            loaded.bound(f.value, 0, f.values).bound_extent(operand.row, 1).bound_extent(f.step, 1);
            for (const Var &d : operand.others) loaded.bound_extent(d, 1);
            loaded.compute_at(f.sum, operand.row.same_as(f.n) ? thread_column : thread_row)
                .store_in(MemoryType::Register).vectorize(f.value);
        }
    }

    // Neighbouring lanes copy what lies side by side: fours of channels of a position, then those of the next.
    void stage(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        using namespace Halide;
        Var round{"round"}, thread{"thread"};
        Func staged = operand.staged;
        const int rows = operand.rows / f.values;
        staged.bound(f.value, 0, f.values).bound_extent(operand.row, rows).bound_extent(f.step, operand.steps);
        for (const Var &d : operand.others) staged.bound_extent(d, 1);
        staged.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared).reorder_storage(f.value, operand.row, f.step);
        if (single_floats) staged.fuse(f.value, operand.row, thread);
        else staged.vectorize(f.value).rename(operand.row, thread);
        staged.fuse(thread, f.step, thread).split(thread, round, thread, threads(), guard)
            .split(thread, lane_row, lane_column, lanes_columns);
        if (single_floats) staged.reorder(round, lane_column, lane_row);
        else staged.reorder(f.value, round, lane_column, lane_row);
        staged.unroll(round).gpu_threads(lane_column, lane_row).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
