// Operands of 16 bits in the tensor-core pass, the pipeline and the PTX expansion.
#include <gtest/gtest.h>

#include "compiler/ptx/ptx_expansion.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

MatrixProduct half_product(const Halide::Type &type = Halide::Float(16)) {
    MatrixProduct product;
    product.type = product.type_of_b = type;
    product.k_at_once = 16;  // two rows of eight
    return product;
}

TEST(HalfPrecision, OperandsAreRowsOfEight) {
    MatrixProduct product = half_product();
    const std::string ptx = product.ptx();
    // Rows are 16 bytes, as of float32, but twice as many k.
    EXPECT_EQ(calls(ptx, "multiply__ak1024_bk512_br0_bs128_format1_k16_m64_n32_r1_row0_tile0, "), 3);
    product = half_product(Halide::BFloat(16));
    EXPECT_EQ(calls(product.ptx(), "multiply__ak1024_bk512_br0_bs128_format2_k16_m64_n32_r1_row0_tile0, "), 3);
}

TEST(HalfPrecision, HasInstructionsOfItsOwn) {
    for (const auto &[type, name] : {std::pair(Halide::Float(16), "f16"), std::pair(Halide::BFloat(16), "bf16")}) {
        const std::string ptx = half_product(type).ptx(), types = std::string(".f32.") + name + "." + name;
        EXPECT_EQ(count(expand_tensor_core_calls(ptx, Architecture("sm_90a")),
                        "wgmma.mma_async.sync.aligned.m64n32k16" + types + " "), 3);
        EXPECT_EQ(count(expand_tensor_core_calls(ptx, Architecture("sm_80")),
                        "mma.sync.aligned.m16n8k16.row.col" + types + ".f32 "), 3 * 4);
    }
}

TEST(HalfPrecision, AlignedRowsAreCopiedAndOthersGoThroughRegisters) {
    EXPECT_EQ(calls(half_product().ptx(), "copy__bytes16, "), 3);
    MatrixProduct product = half_product();
    product.columns_of_b = product.zero_outside = true;
    product.columns = 64;  // a row a thread
    const std::string ptx = product.ptx();
    EXPECT_GT(calls(ptx, "copy__bytes16, "), 3);
    EXPECT_EQ(count(ptx, "st.shared"), 0);
    product.columns_of_b = false;
    EXPECT_GT(count(product.ptx(), "st.shared"), 0);
}

TEST(HalfPrecision, AProducerStages) {
    MatrixProduct product = with_producer(half_product());
    product.columns = 64;
    EXPECT_EQ(calls(product.ptx(), "multiply"), 2);
}

TEST(HalfPrecision, PairsAreRoundedAndStoredTogether) {
    for (const auto &[type, name] : {std::pair(Halide::Float(16), "f16"), std::pair(Halide::BFloat(16), "bf16")}) {
        const std::string ptx = half_product(type).ptx(), expanded = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
        const int pairs = calls(ptx, "store_pair__format"),
                  singles = calls(ptx, "store_single__format");
        EXPECT_GT(pairs, 0);
        EXPECT_EQ(count(expanded, std::string("cvt.rn.") + name + "x2.f32 "), pairs + singles);
        EXPECT_EQ(count(expanded, "@aligned st.global.b32 "), pairs);
    }
}

/// c(n, m) = sum over k of a(m, k) * b(n, k), m and n innermost: 16 bytes are neighbours along these, of one k.
std::string transposed_product(const Halide::Type &type) {
    using namespace Halide;
    constexpr int rows = 64, columns = 32, terms = 64, at_once = 16;
    const int values = 16 / type.bytes();
    Var m{"m"}, n{"n"}, value{"value"}, k{"k"}, eight{"eight"}, mo{"mo"}, no{"no"}, one{"one"}, lane{"lane"}, warp{"warp"};
    Var mma_m{"mma_m"}, mma_n{"mma_n"}, mma_m_group{"mma_m_group"}, mma_n_group{"mma_n_group"}, odd{"odd"};
    ImageParam a(type, 2, "a"), b(type, 2, "b");
    Func tile{"tile"}, c{"c"}, a_rows{"a_rows"}, b_rows{"b_rows"};
    RDom r(0, values, 0, at_once / values, 0, terms / at_once, "r");
    a_rows(value, k, eight) = a(eight * values + value, k);
    b_rows(value, k, eight) = b(eight * values + value, k);
    const Expr at = r.z * at_once + r.y * values + r.x;
    tile(n, m) = 0.f;
    tile(n, m) += cast<float>(a_rows(m % values, at, m / values)) * cast<float>(b_rows(n % values, at, n / values));
    c(n, m) = tile(n, m);
    for (ImageParam *p : {&a, &b})
        p->dim(0).set_bounds(0, p->dim(0).extent() / values * values), p->dim(1).set_min(0).set_stride(1024),
            p->set_host_alignment(16);
    c.output_buffer().dim(0).set_min(0), c.output_buffer().dim(1).set_min(0);
    c.split(m, mo, mma_m, rows, TailStrategy::GuardWithIf).split(n, no, mma_n, columns, TailStrategy::GuardWithIf)
        .split(no, no, one, 1).split(one, one, lane, 1).split(one, one, warp, 1)
        .reorder(mma_n, mma_m, one, lane, warp, no, mo).gpu_blocks(no, mo).gpu_threads(lane, warp).never_partition_all();
    tile.compute_at(c, no).store_in(MemoryType::Register).bound_extent(m, rows).bound_extent(n, columns)
        .split(n, one, mma_n, columns).split(one, one, lane, 1).split(one, one, warp, 1).split(m, mo, mma_m, rows)
        .reorder(mma_n, mma_m, one, mo, lane, warp).gpu_threads(lane, warp).never_partition_all();
    RVar pipeline{"pipeline"}, mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
    tile.update()
        .rename(r.x, mma_k)
        .rename(r.y, mma_k_outer)
        .rename(r.z, pipeline)
        .split(m, mo, mma_m_group, rows)
        .split(mma_m_group, mma_m_group, mma_m, values)
        .split(n, one, mma_n_group, columns)
        .split(mma_n_group, mma_n_group, mma_n, values)
        .split(one, one, lane, 1)
        .split(one, one, warp, 1)
        .reorder(mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, mma_m_group, one, mo, lane, warp, pipeline)
        .gpu_threads(lane, warp)
        .never_partition_all();
    for (const auto &[staged, extent] : {std::pair(a_rows, rows), std::pair(b_rows, columns)})
        Func(staged).compute_at(tile, pipeline).store_in(MemoryType::GPUShared).bound(value, 0, values).bound_extent(k, at_once)
            .bound_extent(eight, extent / values).align_storage(k, at_once + 1).vectorize(value)
            .split(eight, eight, odd, 2).fuse(k, odd, lane).split(eight, one, warp, 4, TailStrategy::GuardWithIf)
            .reorder(value, one, lane, warp)
            .gpu_threads(lane, warp).never_partition_all();
    Pipeline p(c);
    p.add_custom_lowering_pass(new TensorCorePass({.stages = 3}));
    p.add_custom_lowering_pass(new SoftwarePipelinePass({.stages = 3}));
    return device_ptx(p.compile_to_module({a, b}, "transposed", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
}

TEST(HalfPrecision, OperandsMayLieTransposed) {
    const std::string ptx = transposed_product(Halide::Float(16)), wgmma = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
    // The next eight k lie 8 rows further, the next eight m or n 17: an odd number.
    EXPECT_GT(count(ptx, "conv_tc_multiply__ak128_as272_at1_bk128_br0_bs272_bt1_format1_k16_m64_n32_r1_row0_tile0, "), 0);
    EXPECT_EQ(count(wgmma, "wgmma.mma_async"), count(wgmma, ", 1, 1, 1, 1;"));
    const std::string mma = expand_tensor_core_calls(ptx, Architecture("sm_80"));
    EXPECT_GT(count(mma, "ldmatrix"), 0);
    EXPECT_EQ(count(mma, "ldmatrix"), count(mma, ".trans.shared"));
    EXPECT_GT(count(ptx, "conv_tc_copy__bytes16"), 0);
}

// Fragments of operands of 32 bits are read from whole lines, whose swizzle keeps banks apart.
TEST(HalfPrecision, OperandsOfFloat32LieTransposedInLinesAlone) {
    expect_words(refusal([] { transposed_product(Halide::Float(32)); }),
                 {"mma_m has extent 4 where it runs along a row; the rule is 128 bytes"});
}

TEST(HalfPrecision, RefusesWhatDoesNotFit) {
    MatrixProduct product = half_product();
    product.k_at_once = 8;
    expect_refusal(product, "mma_k has extent 8 and mma_k_outer 1; the rule is 8, and an even number");
    product = half_product();
    product.type_of_b = Halide::BFloat(16);
    expect_refusal(product, "are of two formats");
    product = half_product(Halide::Float(16));
    product.type_of_b = Halide::Int(16);
    expect_refusal(product, "the rule is float32, float16 or bfloat16");
}

}  // namespace
}  // namespace conv_transpose::testing
