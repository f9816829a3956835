// A matrix product for tensor cores, on which the compiler's passes are tested: small, and no convolution.
#ifndef CONV_TRANSPOSE_TESTS_COMPILER_TEST_PIPELINES_H
#define CONV_TRANSPOSE_TESTS_COMPILER_TEST_PIPELINES_H

#include <string>

#include "Halide.h"
#include "compiler/driver/device_code.h"
#include "compiler/passes/software_pipeline.h"
#include "compiler/passes/tensor_boxes.h"
#include "compiler/passes/tensor_core_pass.h"

namespace conv_transpose::testing {

/// c(n, m) = sum over k of a(k, m) * b(n, k), with the operands staged in rows of 16 bytes. Members are what a test may
/// change to break a rule.
struct MatrixProduct {
    int rows = 64, columns = 32, k_at_once = 8, terms = 64;
    Halide::Type type = Halide::Float(32), type_of_b = type;  ///< the product's is a's
    int warpgroups = 1;  ///< of a block, each with so many rows
    bool staged_in_shared_memory = true, one_lane = true, zero_outside = false;
    int run = 0;  ///< of neighbouring columns: the others are groups (mma_n_group); 0 for all
    /// Sets of rows whose elements alternate in the output (mma_m_tile), which is so many times as wide as the tile.
    int alternating = 1;
    bool pass = true, pipelined = true;
    bool packed = false;  ///< a is a(value, padded_rows * k4 + m)
    int padded_rows = 256;
    bool columns_of_b = false;  ///< b(k, n) in place of b(n, k): then both operands are copied asynchronously
    int stages = 2;
    int staging_warpgroups = 0;  ///< that stage; 0 for all
    int staging_threads = 0;     ///< that stage by bulk copies, side by side in x; 0: no bulk copies
    bool boxed = false;          ///< a comes in boxes of a tensor, k by m
    bool rows_of_boxes = true;   ///< they lie in shared memory as they come
    bool row_stores = false;    ///< of rows of c, which have whole 16 bytes
    bool adds_in_clusters = false;  ///< the blocks along c's rows
    bool run_stores = false;    ///< by four elements and two, where rows of c have whole ones
    SoftwarePipelineOptions options{};  ///< but for stages

    Halide::Module lower(const std::string &name = "matrix_product") const {
        using namespace Halide;
        Var m{"m"}, n{"n"}, value{"value"}, k4{"k4"}, mo{"mo"}, no{"no"}, one{"one"}, lane{"lane"}, warp{"warp"};
        Var warpgroup{"warpgroup"}, mma_m{"mma_m"}, mma_n{"mma_n"}, mma_m_tile{"mma_m_tile"},
            mma_n_group{"mma_n_group"}, rest{"rest"};
        ImageParam a(type, 2, "a"), b(type_of_b, 2, "b");
        const int values = 16 / type.bytes();
        Func a_rows{"a_rows"}, b_rows{"b_rows"}, tile{"tile"}, c{"c"};
        RDom k(0, values, 0, terms / values, "k");
        const Func b_padded = zero_outside ? BoundaryConditions::constant_exterior(b, cast(type_of_b, 0)) : Func(b);
        a_rows(value, m, k4) = packed ? a(value, m + k4 * padded_rows) : a(k4 * values + value, m);
        if (boxed) {
            a_rows = Func("a_rows");
            a_rows(value, m, k4) = element_of_box({a(k4 * values + value, m), {k4 * values, m, 0}, {0}});
        }
        b_rows(value, n, k4) = columns_of_b ? b_padded(k4 * values + value, n) : b_padded(n, k4 * values + value);
        tile(n, m) = 0.f;
        tile(n, m) += cast<float>(a_rows(k.x, m, k.y)) * cast<float>(b_rows(k.x, n, k.y));
        const int sets = alternating, rows_of_c = rows / sets;
        c(n, m) = cast(type, tile(n / sets, m % rows_of_c + m / rows_of_c * rows + rows_of_c * (n % sets)) * 2.f);

        const int width_of_a = packed ? values : terms;
        a.dim(0).set_bounds(0, width_of_a), a.dim(1).set_min(0).set_stride(width_of_a), a.set_host_alignment(16);
        b.dim(0).set_min(0), b.dim(1).set_min(0);
        if (columns_of_b) b.dim(0).set_extent(terms), b.dim(1).set_stride(terms), b.set_host_alignment(16);
        c.output_buffer().dim(0).set_min(0), c.output_buffer().dim(1).set_min(0);
        if (row_stores) {
            const int aligned = 16 / type.bytes();
            c.output_buffer().dim(1).set_stride(c.output_buffer().dim(1).stride() / aligned * aligned);
            c.output_buffer().set_host_alignment(16);
        }
        const int lanes = one_lane ? 1 : 2;
        const auto threads = [&](Stage s) { s.split(one, one, lane, lanes).split(one, one, warp, 1); };
        const int neighbours = run ? run : columns / lanes;
        c.split(m, mo, mma_m, rows_of_c * warpgroups, TailStrategy::GuardWithIf)
            .split(mma_m, warpgroup, mma_m, rows_of_c)
            .split(n, no, mma_n, columns * sets, TailStrategy::GuardWithIf)
            .split(mma_n, mma_n, mma_m_tile, sets)
            .split(mma_n, one, mma_n, columns / lanes)
            .split(mma_n, mma_n_group, mma_n, neighbours);
        threads(c);
        c.reorder(mma_m_tile, mma_n, mma_n_group, mma_m, one, lane, warp, warpgroup, no, mo).gpu_blocks(no, mo)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();

        const int block_rows = rows * warpgroups;
        tile.compute_at(c, no).store_in(MemoryType::Register).bound_extent(m, block_rows).bound_extent(n, columns);
        RVar pipeline{pipelined ? "pipeline" : "chunk"}, mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, ko{"ko"};
        const auto tile_loops = [&](Stage s, int rows) {
            s.split(m, warpgroup, mma_m, this->rows).split(mma_m, mo, mma_m, rows)
                .split(n, one, mma_n, columns / lanes).split(mma_n, mma_n_group, mma_n, neighbours);
            threads(s);
        };
        tile_loops(tile, rows);
        tile.reorder(mma_n, mma_n_group, mma_m, one, mo, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
        Stage update = tile.update();
        tile_loops(update, rows_of_c);
        if (sets > 1) update.unroll(mo);
        update.split(k.y, pipeline, mma_k_outer, k_at_once / values).split(k.x, ko, mma_k, values)
            .reorder(mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, one, mo, ko, lane, warp, warpgroup, pipeline)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();

        const auto stage_in_bulk = [&](Func f, const Var &row, int extent) {
            Var bulk_row{"bulk_row"}, bulk_k{"bulk_k"};
            f.compute_at(tile, pipeline).store_in(MemoryType::GPUShared)
                .bound(value, 0, values).bound_extent(row, extent).bound_extent(k4, k_at_once / values)
                .vectorize(value).split(row, one, bulk_row, extent / staging_threads).rename(k4, bulk_k)
                .split(one, one, lane, 32, TailStrategy::GuardWithIf)
                .split(one, one, warp, 4, TailStrategy::GuardWithIf)
                .split(one, one, warpgroup, staging_warpgroups ? staging_warpgroups : warpgroups,
                       TailStrategy::GuardWithIf)
                .gpu_threads(lane, warp, warpgroup)
                .never_partition_all();
            const bool whole_rows = boxed && f.name() == a_rows.name();
            if (whole_rows) f.reorder(value, bulk_k, bulk_row, one, lane, warp, warpgroup);
            else f.reorder(value, bulk_row, bulk_k, one, lane, warp, warpgroup);
            if (whole_rows && rows_of_boxes) f.reorder_storage(value, k4, m);
        };
        const auto stage = [&](Func f, const Var &row, int extent) {
            if (staging_threads) return stage_in_bulk(f, row, extent);
            f.compute_at(tile, pipeline)
                .store_in(staged_in_shared_memory ? MemoryType::GPUShared : MemoryType::Heap)
                .bound(value, 0, values).bound_extent(row, extent).bound_extent(k4, k_at_once / values)
                .vectorize(value);
            // Given by columns, an operand's neighbours in memory are those of k.
            columns_of_b ? f.fuse(k4, row, rest) : f.fuse(row, k4, rest);
            f.split(rest, rest, lane, 32, TailStrategy::GuardWithIf)
                .split(rest, rest, warp, 4, TailStrategy::GuardWithIf)
                .split(rest, rest, warpgroup, staging_warpgroups ? staging_warpgroups : warpgroups,
                       TailStrategy::GuardWithIf)
                .reorder(value, rest, lane, warp, warpgroup)
                .unroll(rest)
                .gpu_threads(lane, warp, warpgroup)
                .never_partition_all();
        };
        stage(a_rows, m, block_rows);
        stage(b_rows, n, columns);

        Pipeline p(c);
        if (pass) {
            TensorCoreOptions tensor_cores{.stages = pipelined ? stages : 1, .row_stores = row_stores, .run_stores = run_stores,
                                           .further_tiles = options.resident_blocks > 0, .adds_in_clusters = adds_in_clusters};
            for (int values : {2, 4}) {
                const Expr row = c.output_buffer().dim(1).stride(), width = c.output_buffer().dim(0).extent();
                if (run_stores) tensor_cores.runs.emplace_back(values, row % values == 0 && width % values == 0);
            }
            p.add_custom_lowering_pass(new TensorCorePass(tensor_cores));
            SoftwarePipelineOptions pipeline_options = options;
            pipeline_options.stages = stages;
            if (pipelined) p.add_custom_lowering_pass(new SoftwarePipelinePass(pipeline_options));
        }
        return p.compile_to_module({a, b}, name, Target("x86-64-linux-cuda-cuda_capability_80-no_runtime"));
    }

    std::string ptx() const { return device_ptx(lower()); }
};

inline int count(const std::string &text, const std::string &part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
    return n;
}

}  // namespace conv_transpose::testing

#endif
