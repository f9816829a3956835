// Schedule: the weight gradient of operands of 16 bits with channels innermost, as an implicit matrix product on tensor
// cores: no tensor is packed before.
//
// H200, 2026-11-22, float16, channels_last: k2 s2, 256->256, 384x384: 0.161 ms, 481 TFLOP/s, 49 % of the peak; 512->512,
// 37x37: 0.0155 ms, 185 TFLOP/s.
//
// Order: the tile, its store and the loop over chunks are those of cuda_weight_gradient_product_tensor_core.h. Rows of 16
// bytes are eight channels of one position, which tensor cores take transposed. Eight lanes copy 128 bytes of one
// position, zeros where it lies outside; four positions a warp. In shared memory positions follow each other, and eights
// of channels lie an odd number of rows apart, so that what the eight lanes write lies in all banks.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_IMPLICIT_GEMM_H

#include <algorithm>

#include "schedules/cuda_weight_gradient_product_tensor_core.h"

namespace conv_transpose {

struct CudaWeightGradientImplicitGemm : CudaWeightGradientProductTensorCore {
    static constexpr const char *family = "implicit_gemm";

    /// The sum has one part, and the kernel stores the weights themselves, output channels innermost: these are columns of
    /// the tile then, and neighbours in memory.
    GeneratorParam<bool> writes_result{"writes_result", false};

    WeightGradientProductTile tile() const { return {tile_taps, tile_out, tile_in, steps, writes_result}; }

    /// An operand with so many channels has so many neighbours that follow each other in shared memory: 16 bytes.
    virtual int row_channels(int /*channels*/) const { return values; }
    virtual ~CudaWeightGradientImplicitGemm() = default;

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        // More columns, or threads, leave mma.sync too few registers.
        describe_gpus(description, f.tile.columns() > 128 || warpgroups(f) > 2);
        const int staged = (f.tile.steps + 1) * (f.tile.rows() + f.tile.columns()) / values * 16;
        const int turned = warpgroups(f) * 4 * 8 * (f.tile.columns() + 8) * 4;
        description.set("shared_bytes", std::max(stages * staged, turned));
        description.set("wanted_blocks", wanted_blocks);
    }

    void search_space(SearchSpace &, const WeightGradientProductFuncs &) const {}

    void apply(WeightGradientProductFuncs &f) const {
        writes_result ? store_result(f) : store_tile(f);
        multiply_transposed(f);
        for (const WeightGradientProductOperand &operand : f.operands()) stage_channels(f, operand);
    }

  protected:
    static constexpr int values = 8;  // of 16 bytes

    void store_result(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        Halide::Var mma_n_outer{"mma_n_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard).split(mma_m, warpgroup, mma_m, warpgroup_rows)
            .split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).rename(f.tap, mma_n_outer)
            .split(f.in_tile, f.in_tile, one, 1).split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_n, mma_n_outer, mma_m, one, lane, warp, warpgroup, f.tap_tile, f.in_tile, f.out_tile, f.group,
                      f.band})
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    void multiply_transposed(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        Var mma_m_group{"mma_m_group"}, mma_n_group{"mma_n_group"};
        const int of_input = row_channels(f.tile.in_channels), of_output = row_channels(f.tile.out_channels);
        const bool turned = f.tile.in_channels_are_rows;
        f.sum.compute_at(f.partial, block);
        keep_in_registers(f, f.sum);
        f.sum.update().rename(f.r[3], pipeline).rename(f.r[0], mma_k).rename(f.r[1], mma_k_outer)
            .split(f.m, warpgroup, mma_m_group, warpgroup_rows).split(mma_m_group, mma_m_group, mma_m, turned ? of_input : of_output)
            .split(f.n, one, mma_n_group, f.tile.columns()).split(mma_n_group, mma_n_group, mma_n, turned ? of_output : of_input)
            .split(one, one, lane, 1).split(one, one, warp, 1)
            .reorder({mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, mma_m_group, one, f.r[2], lane, warp, warpgroup, pipeline})
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

  private:
    void stage_channels(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, position{"position"}, position_round{"position_round"};
        Halide::Func staged = operand.staged;
        const int eights = operand.rows / values, neighbours = std::min(eights, 8), positions = 32 / neighbours;
        staged.bound(f.value, 0, values).bound_extent(operand.row, eights).bound_extent(f.step, f.tile.steps);
        for (const Halide::Var &d : operand.others) staged.bound_extent(d, 1);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row}).align_storage(f.step, f.tile.steps + 1)
            .vectorize(f.value).split(operand.row, round, lane, neighbours)
            .split(f.step, position_round, warp, positions * 4 * warpgroups(f), guard)
            .split(warp, warp, position, positions).fuse(lane, position, lane)
            .split(warp, warpgroup, warp, 4)
            .reorder({f.value, round, position_round, lane, warp, warpgroup})
            .unroll(round).unroll(position_round)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
