// A matrix product for tensor cores, step by step as docs/tensor-cores.md tells: an example of the compiler's
// passes, and the rate that convolutions are compared with.
//
//     c(n, m) = sum over k of a(k, m) * b(k, n)
//
// Both operands have k innermost in memory, as in a linear layer, whose weights are (out_features,
// in_features).
#ifndef CONV_TRANSPOSE_TESTS_MATRIX_PRODUCT_H
#define CONV_TRANSPOSE_TESTS_MATRIX_PRODUCT_H

#include <string>

#include "Halide.h"
#include "algorithm/tf32.h"
#include "compiler/passes/software_pipeline.h"
#include "compiler/passes/tensor_core_pass.h"

namespace conv_transpose {

inline Halide::Target matrix_product_target() {
    return Halide::Target("x86-64-linux-cuda-cuda_capability_80-user_context-no_runtime");
}

/// packed(value, row, k_row) = operand(values * k_row + value, row): rows of 16 bytes, four values rounded to TF32 or
/// eight of 16 bits. It is what tensor cores read, and what asynchronous copies move at full rate. (Of rows with k innermost, a
/// copy takes 16 of the 32 bytes that the cache hands out: the two halves go to different places in shared memory.)
class PackedOperand {
  public:
    explicit PackedOperand(const Halide::Type &type) : type(type) {}

    Halide::Module lower(const std::string &name) {
        using namespace Halide;
        const int values = 16 / type.bytes();
        // Beyond the last row, where packed rows fill whole tiles, lies the last row again.
        const Expr unpacked = operand(values * k_row + value, min(row, operand.dim(1).max()));
        packed(value, row, k_row) =
            type == Float(32) ? round_to_tf32(unpacked, matrix_product_target()) : unpacked;
        operand.dim(1).set_min(0);
        packed.output_buffer().dim(0).set_bounds(0, values), packed.output_buffer().dim(1).set_min(0);
        packed.output_buffer().dim(2).set_min(0);
        // Lanes read along k, and write along rows.
        Var row_block{"row_block"}, k_block{"k_block"}, k{"k"}, lane{"lane"}, warp{"warp"};
        constexpr auto guard = TailStrategy::GuardWithIf;
        packed.bound(value, 0, values).split(row, row_block, lane, 32, guard).split(k_row, k_block, warp, 8, guard)
            .reorder(value, lane, warp, row_block, k_block).vectorize(value)
            .gpu_blocks(row_block, k_block).gpu_threads(lane, warp);
        return Pipeline(packed).compile_to_module({operand}, name, matrix_product_target());
    }

  private:
    const Halide::Type type;
    Halide::ImageParam operand{type, 2, "operand"};
    Halide::Func packed{"packed"};
    Halide::Var value{"value"}, row{"row"}, k_row{"k_row"};
};

/// The product is of packed operands. Rows and columns are any, k is a multiple of `chunk`.
///
/// NVIDIA H200, 2026-11-21, 4096 x 4096 x 4096: 0.379 ms, 362 TFLOP/s, 89 % of cuBLAS in the same run. Tensor
/// cores are busy 79 % of the time. Order: a block is as large as registers and four buffers allow, because
/// every block fetches its operands from the second-level cache, which gives 8.6 TB/s. One of the buffers is
/// multiplied, one is being finished, and two are on their way: that hides the latency of the fetches (with one:
/// 0.458 ms). Bulk copies and a producer reach 407 TFLOP/s (2026-11-22), 101 % of cuBLAS in the same run, and 722 in
/// float16 (97 %).
struct MatrixProduct {
    Halide::Type type = Halide::Float(32);  ///< of the operands and of the product; sums are of float32
    int warpgroups = 2, columns = 256;  ///< of a block's tile; each warpgroup has 64 rows
    int repeats = 1;                    ///< of the tile, side by side
    int chunk = 32;                     ///< of k, staged at once
    int stages = 4, blocks = 1;
    int width = 0;  ///< of the product; 0: any
    /// b(n, k) as it is, n innermost, in place of a packed operand: its values go through the registers of a warpgroup
    /// that stages for the others.
    bool gathers = false;
    /// Packed operands are staged by bulk copies that one thread starts; their rows must fill whole tiles.
    bool bulk_copies = false;
    bool producer = false;  ///< a warpgroup of its own stages
    int producer_registers = 104;
    int resident_blocks = 0;  ///< along n, which go through all tiles (SoftwarePipelineOptions)
    bool tiles_in_rounds = false;

    Halide::Module lower(const std::string &name) {
        using namespace Halide;
        a = ImageParam(type, 3, "a"), b = ImageParam(type, gathers ? 2 : 3, "b");
        k = RDom(0, values(), 0, a.dim(2).extent() / rows_of_chunk() * rows_of_chunk(), "k");
        // Beyond the last row lies the last row again: what comes of it is not stored.
        const auto row_of = [&](const ImageParam &packed, const Var &row) {
            return bulk_copies ? Expr(row) : min(row, packed.dim(1).max());
        };
        a_rows(value, m, k_row) = a(value, row_of(a, m), k_row);
        b_rows(value, n, k_row) =
            gathers ? BoundaryConditions::constant_exterior(b, cast(type, 0))(n, values() * k_row + value)
                    : b(value, row_of(b, n), k_row);
        tile(n, m) = 0.f;
        tile(n, m) += cast<float>(a_rows(k.x, m, k.y)) * cast<float>(b_rows(k.x, n, k.y));
        c(n, m) = cast(type, tile(n, m));

        for (ImageParam *packed : {&a, &b}) {
            if (packed->dimensions() == 2) continue;
            packed->dim(0).set_bounds(0, values()), packed->dim(1).set_min(0).set_stride(values());
            packed->dim(2).set_min(0).set_stride(values() * packed->dim(1).extent());
            packed->set_host_alignment(16);
        }
        c.output_buffer().dim(0).set_min(0), c.output_buffer().dim(1).set_min(0);
        if (width) c.output_buffer().dim(0).set_extent(width);
        store_tile();
        multiply();
        bulk_copies ? stage_in_bulk(a_rows, m, 64 * warpgroups) : stage(a_rows, m, 64 * warpgroups);
        bulk_copies ? stage_in_bulk(b_rows, n, block_columns()) : stage(b_rows, n, block_columns());
        Pipeline pipeline(c);
        pipeline.add_custom_lowering_pass(
            new TensorCorePass({.blocks_per_multiprocessor = blocks, .stages = stages, .further_tiles = resident_blocks > 0}));
        pipeline.add_custom_lowering_pass(new SoftwarePipelinePass({.stages = stages, .producer = producer,
                                                                    .producer_registers = producer_registers,
                                                                    .resident_blocks = resident_blocks,
                                                                    .tiles_in_rounds = tiles_in_rounds}));
        return pipeline.compile_to_module({a, b}, name, matrix_product_target());
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    int values() const { return 16 / type.bytes(); }  ///< of a row
    int rows_of_chunk() const { return chunk / values(); }

    Halide::ImageParam a, b;
    Halide::Func a_rows{"a_rows"}, b_rows{"b_rows"}, tile{"tile"}, c{"c"};
    Halide::Var m{"m"}, n{"n"}, value{"value"}, k_row{"k_row"};
    Halide::Var m_block{"m_block"}, n_block{"n_block"}, mma_m{"mma_m"}, mma_n{"mma_n"}, mma_n_outer{"mma_n_outer"};
    Halide::Var one{"one"}, lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, rest{"rest"};
    Halide::RDom k;

    int block_columns() const { return columns * repeats; }

    /// A warpgroup's tile is computed in one lane, as far as Halide knows.
    void tile_loops(Halide::Stage s) const {
        s.split(m, warpgroup, mma_m, 64).split(n, one, mma_n, columns)
            .split(one, one, mma_n_outer, repeats).split(one, one, lane, 1).split(one, one, warp, 1);
    }

    void store_tile() {
        c.split(m, m_block, m, 64 * warpgroups, guard).split(n, n_block, n, block_columns(), guard);
        tile_loops(c);
        c.reorder(mma_n, mma_m, mma_n_outer, one, lane, warp, warpgroup, n_block, m_block)
            .gpu_blocks(n_block, m_block).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void multiply() {
        using namespace Halide;
        RVar pipeline{"pipeline"}, mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, k_outer{"k_outer"};
        tile.compute_at(c, n_block).store_in(MemoryType::Register)
            .bound_extent(m, 64 * warpgroups).bound_extent(n, block_columns());
        tile_loops(tile);
        tile.reorder(mma_n, mma_m, mma_n_outer, one, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
        Stage update = tile.update();
        tile_loops(update);
        update.split(k.y, pipeline, mma_k_outer, rows_of_chunk()).split(k.x, k_outer, mma_k, values())
            .reorder(mma_k, mma_k_outer, mma_n, mma_m, mma_n_outer, one, k_outer, lane, warp, warpgroup, pipeline)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    /// Copies chunks of k as they lie, 16 bytes a lane.
    void stage(Halide::Func rows, const Halide::Var &row, int extent) const {
        using namespace Halide;
        rows.compute_at(tile, Var("pipeline")).store_in(MemoryType::GPUShared)
            .bound(value, 0, values()).bound_extent(row, extent).bound_extent(k_row, rows_of_chunk()).vectorize(value)
            .fuse(row, k_row, rest).split(rest, rest, lane, 32, guard).split(rest, rest, warp, 4, guard)
            .split(rest, rest, warpgroup, producer ? 1 : warpgroups, guard).reorder(value, rest, lane, warp, warpgroup)
            .unroll(rest).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    /// The same by one thread of the block's, as far as Halide knows: rows of one k lie side by side.
    void stage_in_bulk(Halide::Func rows, const Halide::Var &row, int extent) const {
        using namespace Halide;
        Var bulk_row{"bulk_row"}, bulk_k{"bulk_k"};
        rows.compute_at(tile, Var("pipeline"))
            .store_in(MemoryType::GPUShared)
            .bound(value, 0, values())
            .bound_extent(row, extent)
            .bound_extent(k_row, rows_of_chunk())
            .vectorize(value)
            .split(row, one, bulk_row, extent)
            .rename(k_row, bulk_k)
            .split(one, one, lane, 32, guard)
            .split(one, one, warp, 4, guard)
            .split(one, one, warpgroup, producer ? 1 : warpgroups, guard)
            .reorder(value, bulk_row, bulk_k, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif
