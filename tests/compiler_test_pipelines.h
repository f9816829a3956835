// A matrix product for tensor cores, on which the compiler's passes are tested: small, and no convolution.
#ifndef CONV_TRANSPOSE_TESTS_COMPILER_TEST_PIPELINES_H
#define CONV_TRANSPOSE_TESTS_COMPILER_TEST_PIPELINES_H

#include <gtest/gtest.h>

#include <initializer_list>
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
    bool keeps_b = false;        ///< what they stage of b comes once for all tiles of a block
    bool boxed = false;          ///< a comes in boxes of a tensor, k by m
    bool rows_of_boxes = true;   ///< they lie in shared memory as they come
    bool row_stores = false;    ///< of rows of c, which have whole 16 bytes
    bool box_stores = false;     ///< of boxes of c, n by m
    bool scales_rows = false;    ///< c's, by their numbers
    bool adds_in_clusters = false;  ///< the blocks along c's rows
    bool run_stores = false;    ///< by four elements and two, where rows of c have whole ones
    bool late_runs = false;     ///< or where they have them from half as many elements on
    SoftwarePipelineOptions options{};  ///< but for stages

    Halide::Module lower(const std::string &name = "matrix_product") const;
    std::string ptx() const { return device_ptx(lower()); }
};

/// Two warpgroups multiply what a third one stages.
inline MatrixProduct with_producer(MatrixProduct product) {
    product.warpgroups = 2, product.staging_warpgroups = 1;
    product.options.producer = true, product.options.producer_registers = 40;
    return product;
}

/// The Funcs of a MatrixProduct and their schedules.
class MatrixProductFuncs {
    const MatrixProduct &p_;

  public:
    explicit MatrixProductFuncs(const MatrixProduct &product) : p_(product) {
        using namespace Halide;
        const Func b_padded = p_.zero_outside ? BoundaryConditions::constant_exterior(b, cast(p_.type_of_b, 0)) : Func(b);
        a_rows(value, m, k4) = p_.packed ? a(value, m + k4 * p_.padded_rows) : a(k4 * values + value, m);
        if (p_.boxed) {
            a_rows = Func("a_rows");
            a_rows(value, m, k4) = element_of_box({a(k4 * values + value, m), {k4 * values, m, 0}, {0}});
        }
        b_rows(value, n, k4) = p_.columns_of_b ? b_padded(k4 * values + value, n) : b_padded(n, k4 * values + value);
        tile(n, m) = 0.f;
        tile(n, m) += cast<float>(a_rows(k.x, m, k.y)) * cast<float>(b_rows(k.x, n, k.y));
        const Expr sum = tile(n / sets, m % rows_of_c + m / rows_of_c * p_.rows + rows_of_c * (n % sets)),
                   result = cast(p_.type, sum * (p_.scales_rows ? cast<float>(m) : 2.f));
        c(n, m) = p_.box_stores ? stored_in_box({result, {n, 0, m, 0}, 64, a.dim(1).extent() > 32, 1}) : result;
        declare_shapes();
        schedule_c();
        schedule_tile();
        stage(a_rows, m, p_.rows * p_.warpgroups);
        stage(b_rows, n, p_.columns);
    }

    Halide::ImageParam a{p_.type, 2, "a"}, b{p_.type_of_b, 2, "b"};
    Halide::Func c{"c"};

  private:
    Halide::Var m{"m"}, n{"n"}, value{"value"}, k4{"k4"}, mo{"mo"}, no{"no"}, one{"one"}, lane{"lane"}, warp{"warp"};
    Halide::Var warpgroup{"warpgroup"}, mma_m{"mma_m"}, mma_n{"mma_n"}, mma_m_tile{"mma_m_tile"}, mma_n_group{"mma_n_group"};
    const int values = 16 / p_.type.bytes(), lanes = p_.one_lane ? 1 : 2;
    const int sets = p_.alternating, rows_of_c = p_.rows / sets, neighbours = p_.run ? p_.run : p_.columns / lanes;
    Halide::Func a_rows{"a_rows"}, b_rows{"b_rows"}, tile{"tile"};
    Halide::RDom k{0, values, 0, p_.terms / values, "k"};
    Halide::RVar pipeline{p_.pipelined ? "pipeline" : "chunk"};

    void declare_shapes() {
        const int width_of_a = p_.packed ? values : p_.terms;
        a.dim(0).set_bounds(0, width_of_a), a.dim(1).set_min(0).set_stride(width_of_a), a.set_host_alignment(16);
        b.dim(0).set_min(0), b.dim(1).set_min(0);
        if (p_.columns_of_b) b.dim(0).set_extent(p_.terms), b.dim(1).set_stride(p_.terms), b.set_host_alignment(16);
        Halide::OutputImageParam output = c.output_buffer();
        output.dim(0).set_min(0), output.dim(1).set_min(0);
        if (p_.row_stores) {
            output.dim(1).set_stride(output.dim(1).stride() / values * values);
            output.set_host_alignment(16);
        }
    }

    void share_lanes(Halide::Stage s) const { s.split(one, one, lane, lanes).split(one, one, warp, 1); }

    void schedule_c() {
        const auto guard = Halide::TailStrategy::GuardWithIf;
        c.split(m, mo, mma_m, rows_of_c * p_.warpgroups, guard).split(mma_m, warpgroup, mma_m, rows_of_c)
            .split(n, no, mma_n, p_.columns * sets, guard).split(mma_n, mma_n, mma_m_tile, sets)
            .split(mma_n, one, mma_n, p_.columns / lanes).split(mma_n, mma_n_group, mma_n, neighbours);
        share_lanes(c);
        c.reorder(mma_m_tile, mma_n, mma_n_group, mma_m, one, lane, warp, warpgroup, no, mo).gpu_blocks(no, mo)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void schedule_tile() {
        tile.compute_at(c, no).store_in(Halide::MemoryType::Register)
            .bound_extent(m, p_.rows * p_.warpgroups).bound_extent(n, p_.columns);
        const auto tile_loops = [&](Halide::Stage s, int rows) {
            s.split(m, warpgroup, mma_m, p_.rows).split(mma_m, mo, mma_m, rows)
                .split(n, one, mma_n, p_.columns / lanes).split(mma_n, mma_n_group, mma_n, neighbours);
            share_lanes(s);
        };
        tile_loops(tile, p_.rows);
        tile.reorder(mma_n, mma_n_group, mma_m, one, mo, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup);
        Halide::RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, ko{"ko"};
        Halide::Stage update = tile.update();
        tile_loops(update, rows_of_c);
        if (sets > 1) update.unroll(mo);
        update.split(k.y, pipeline, mma_k_outer, p_.k_at_once / values).split(k.x, ko, mma_k, values)
            .reorder(mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, one, mo, ko, lane, warp, warpgroup, pipeline)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void share_staging(Halide::Func f, const Halide::Var &rest) const {
        const auto guard = Halide::TailStrategy::GuardWithIf;
        f.split(rest, rest, lane, 32, guard).split(rest, rest, warp, 4, guard)
            .split(rest, rest, warpgroup, p_.staging_warpgroups ? p_.staging_warpgroups : p_.warpgroups, guard)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void stage(Halide::Func f, const Halide::Var &row, int extent) {
        const bool in_shared_memory = p_.staging_threads > 0 || p_.staged_in_shared_memory;
        f.compute_at(tile, pipeline).store_in(in_shared_memory ? Halide::MemoryType::GPUShared : Halide::MemoryType::Heap)
            .bound(value, 0, values).bound_extent(row, extent).bound_extent(k4, p_.k_at_once / values).vectorize(value);
        if (p_.staging_threads) return stage_in_bulk(f, row, extent);
        // Given by columns, an operand's neighbours in memory are those of k.
        Halide::Var rest{"rest"};
        p_.columns_of_b ? f.fuse(k4, row, rest) : f.fuse(row, k4, rest);
        share_staging(f, rest);
        f.reorder(value, rest, lane, warp, warpgroup).unroll(rest);
    }

    void stage_in_bulk(Halide::Func f, const Halide::Var &row, int extent) {
        const bool kept = p_.keeps_b && f.name() == b_rows.name();
        Halide::Var bulk_row{"bulk_row"}, bulk_k{kept ? "bulk_kept_k" : "bulk_k"};
        f.split(row, one, bulk_row, extent / p_.staging_threads).rename(k4, bulk_k);
        share_staging(f, one);
        const bool whole_rows = p_.boxed && f.name() == a_rows.name();
        if (whole_rows) f.reorder(value, bulk_k, bulk_row, one, lane, warp, warpgroup);
        else f.reorder(value, bulk_row, bulk_k, one, lane, warp, warpgroup);
        if (whole_rows && p_.rows_of_boxes) f.reorder_storage(value, k4, m);
    }
};

inline Halide::Module MatrixProduct::lower(const std::string &name) const {
    const MatrixProductFuncs funcs(*this);
    Halide::Pipeline p(funcs.c);
    if (pass) {
        TensorCoreOptions tensor_cores{.stages = pipelined ? stages : 1, .row_stores = row_stores, .run_stores = run_stores,
                                       .further_tiles = options.resident_blocks > 0, .adds_in_clusters = adds_in_clusters};
        const Halide::OutputImageParam output = funcs.c.output_buffer();
        const Halide::Expr row = output.dim(1).stride(), width = output.dim(0).extent();
        for (int values : {2, 4}) {
            const Halide::Expr are_whole = row % values == 0 && width % values == 0;
            if (run_stores) tensor_cores.runs.emplace_back(values, are_whole);
            if (late_runs) tensor_cores.late_runs.emplace_back(values, are_whole);
        }
        p.add_custom_lowering_pass(new TensorCorePass(tensor_cores));
        SoftwarePipelineOptions pipeline_options = options;
        pipeline_options.stages = stages;
        if (pipelined) p.add_custom_lowering_pass(new SoftwarePipelinePass(pipeline_options));
    }
    return p.compile_to_module({funcs.a, funcs.b}, name, Halide::Target("x86-64-linux-cuda-cuda_capability_80-no_runtime"));
}

inline int count(const std::string &text, const std::string &part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
    return n;
}

/// Calls of placeholders that a pass has left for instructions; a name may end early.
inline int calls(const std::string &ptx, const std::string &name) { return count(ptx, "call.uni (retval0), conv_tc_" + name); }

/// Why a pass does not take what is given to it.
template <class Lowering>
std::string refusal(Lowering lower) {
    try {
        lower();
    } catch (const SoftwarePipelineRefusal &error) {
        return error.what();
    } catch (const TensorCoreRefusal &error) {
        return error.what();
    }
    return "not refused";
}

inline void expect_words(const std::string &text, std::initializer_list<const char *> words) {
    for (const char *word : words) EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' in: " << text;
}

inline std::string refusal(const MatrixProduct &product) {
    return refusal([&] { product.lower(); });
}

inline void expect_refusal(const MatrixProduct &product, const char *words) { expect_words(refusal(product), {words}); }

}  // namespace conv_transpose::testing

#endif
