// Schedule: the weight gradient of operands of 16 bits with channels innermost, as an implicit matrix product on tensor
// cores whose operands the copy engine reads, by tensor maps.
//
// Machine: NVIDIA H200, 2026-11-22, float16, channels_last, the sum of parts included. Problem: k4 s4, N32 256->256 37x37:
// 0.151 ms, 610 TFLOP/s (by threads 0.185; PyTorch 0.153). Problem: k2 s2, 1024->512 72x72: 0.0371 ms, 585 TFLOP/s (0.0515;
// 0.0468). KernelBench 57, k3 of 64 channels, windows: 0.705 ms, 877 TFLOP/s (integers; PyTorch 1.32); 69, k3x5: 0.565 (0.844).
//
// Order: tiles and stores are those of cuda_weight_gradient_implicit_gemm.h. One thread starts all copies of a chunk of
// positions: boxes of positions x runs of 64 channels, of the input, and of the output gradient one a kernel position.
// Nobody computes addresses of pixels, and what lies outside comes as zeros. Tensor cores take them as they lie, the
// index that is summed over outside (compiler/ptx/tensor_core_instructions.cpp).
//
// Tiles of one kernel position are the fastest of most problems: they waste nothing of nine. 128 x 128 where channels fill it
// (1x1, N4 384->384 16x48x48: 0.0829 ms, 64 x 128 0.0951, 128 x 256 0.0998, 2026-11-23), else 64 output channels. A producer
// is worth 10 to 25 % where blocks share a multiprocessor (128 x 64: 0.0534 in place of 0.0726). Not: chunks of 32 positions
// in six stages without one (0.0542 where three of 64 take 0.0585), four positions x 128 input channels (0.0532).
//
// What writes the result has such tiles, too, output x input channels: 2048 to 256, k4 s2, N32 8x6, 256 x 128 0.0386 ms, 128 x
// 128 0.0429, 64 x 128 in two blocks 0.0477 (four positions x 64 x 128 0.0540); 512 to 512, k2 s2, 37x37, 64 x 64 in three
// 0.0102 (in parts 0.0131). Not: 128 x 128 in two blocks without a producer (0.0221 where one with it takes 0.0108).
//
// Runs of positions, of pictures in channels_first as they lie (generators/weight_gradient_pictures.h): boxes are channels x 128
// bytes of neighbouring positions, of 16 bits or float32, and both operands are read along what is summed over.
//
// Windows, of all kernel positions of a line: a block stages three lines' boxes of the output gradient and one of the input,
// and each of three warpgroups multiplies a line, 64 input channels x (positions of the line, output channels). A chunk is
// read once for nine products and more; tiles of one position read as much for each, and still win where few positions leave
// three lines a block too few blocks (k3, N2 64->64 180x240).
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_MAPS_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_TENSOR_MAPS_H

#include <algorithm>
#include <stdexcept>
#include <string>

#include "schedules/cuda_weight_gradient_implicit_gemm.h"

namespace conv_transpose {

struct CudaWeightGradientTensorMaps : CudaWeightGradientImplicitGemm {
    static constexpr bool tensor_maps = true;
    GeneratorParam<bool> producer{"producer", false};  // a warpgroup of its own starts the copies
    GeneratorParam<int> producer_registers{"producer_registers", 40};
    GeneratorParam<int> window{"window", 1};  // kernel positions of a line, all of them, that share a box

    WeightGradientProductTile tile() const {
        return {tile_taps, tile_out, tile_in, steps, writes_result || window > 1, window};
    }

    /// They are those of a box; the runtime counts so, too (input_map() and output_gradient_map() in plan/view.cpp).
    int row_channels(int channels) const override { return std::min(64, channels); }

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        CudaWeightGradientImplicitGemm::describe(description, f);
        constexpr int barriers_and_alignment = 2048;
        const int row_bytes = f.neighbours ? 16 : 2;  // of a step
        const int staged = (f.tile.steps * f.tile.in_channels + f.tile.output_steps() * f.tile.output_rows()) * row_bytes;
        const int turned = warpgroups(f) * 4 * 8 * (f.tile.columns() + 8) * 4;
        describe_gpus(description, true);
        description.set("shared_bytes", std::max(stages * staged, turned) + barriers_and_alignment);
        description.set("box_positions", f.neighbours ? f.values * f.tile.steps : f.tile.steps);
        if (window > 1) description.set("window", window);
    }

    void apply(WeightGradientProductFuncs &f) const {
        if (f.neighbours) {
            store_tile(f);
            multiply(f);
            for (const WeightGradientProductOperand &operand : f.operands()) stage_runs(f, operand);
            return;
        }
        window > 1      ? store_lines(f)
        : writes_result ? store_result(f)
                        : store_tile(f);
        multiply_transposed(f);
        for (const WeightGradientProductOperand &operand : f.operands()) stage_boxes(f, operand);
    }

  private:
    // A warpgroup has a line of kernel positions.
    void store_lines(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        if (t.in_channels != warpgroup_rows || t.out_channels > row_channels(t.out_channels))
            throw std::invalid_argument("window with tile_in " + std::to_string(t.in_channels) + " and tile_out " +
                                        std::to_string(t.out_channels) + "; the rule is 64, and 64 at most");
        Halide::Var mma_n_outer{"mma_n_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard)
            .split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).split(f.tap, warpgroup, mma_n_outer, t.window)
            .split(f.in_tile, f.in_tile, one, 1).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_n, mma_n_outer, mma_m, one, lane, warp, warpgroup, f.tap_tile, f.in_tile, f.out_tile, f.group,
                      f.band})
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    // As far as Halide knows, by one thread of the block's.
    void by_one_thread(const WeightGradientProductFuncs &f, Halide::Func staged) const {
        staged.split(one, one, lane, 32, guard).split(one, one, warp, 4, guard)
            .split(one, one, warpgroup, producer ? 1 : warpgroups(f), guard);
    }

    // A run of positions of each channel.
    void stage_runs(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var bulk_channel{"bulk_channel"}, bulk_step{"bulk_step"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row}).vectorize(f.value).rename(f.step, bulk_step)
            .split(operand.row, one, bulk_channel, operand.rows);
        by_one_thread(f, staged);
        staged.reorder({f.value, bulk_step, bulk_channel, f.part, one, lane, warp, warpgroup})
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void stage_boxes(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var bulk_box{"bulk_box"}, bulk_step{"bulk_step"}, bulk_value{"bulk_value"}, value{"value"};
        Halide::Func staged = operand.staged;
        const int row = row_channels(operand.channels), boxes = operand.rows / row;
        staged.bound(f.value, 0, row).bound_extent(operand.row, boxes).bound_extent(f.step, operand.steps);
        for (const Halide::Var &d : operand.others) staged.bound_extent(d, 1);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row})
            .split(f.value, bulk_value, value, 8).vectorize(value).rename(f.step, bulk_step)
            .split(operand.row, one, bulk_box, boxes);
        by_one_thread(f, staged);
        staged.reorder({value, bulk_value, bulk_step, bulk_box, one, lane, warp, warpgroup})
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
