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
    EXPECT_EQ(count(ptx, "call.uni (retval0), conv_tc_multiply__ak1024_bk512_br0_bs128_format1_k16_m64_n32_r1_row0_tile0, "), 3);
    product = half_product(Halide::BFloat(16));
    EXPECT_EQ(count(product.ptx(), "call.uni (retval0), conv_tc_multiply__ak1024_bk512_br0_bs128_format2_k16_m64_n32_r1_row0_tile0, "), 3);
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
    EXPECT_EQ(count(half_product().ptx(), "call.uni (retval0), conv_tc_copy__bytes16, "), 3);
    MatrixProduct product = half_product();
    product.columns_of_b = product.zero_outside = true;
    product.columns = 64;  // a row a thread
    const std::string ptx = product.ptx();
    EXPECT_GT(count(ptx, "call.uni (retval0), conv_tc_copy__bytes16, "), 3);
    EXPECT_EQ(count(ptx, "st.shared"), 0);
    product.columns_of_b = false;
    EXPECT_GT(count(product.ptx(), "st.shared"), 0);
}

TEST(HalfPrecision, AProducerStages) {
    MatrixProduct product = half_product();
    product.columns = 64, product.warpgroups = 2, product.staging_warpgroups = 1;
    product.options.producer = true, product.options.producer_registers = 40;
    EXPECT_EQ(count(product.ptx(), "call.uni (retval0), conv_tc_multiply"), 2);
}

TEST(HalfPrecision, PairsAreRoundedAndStoredTogether) {
    for (const auto &[type, name] : {std::pair(Halide::Float(16), "f16"), std::pair(Halide::BFloat(16), "bf16")}) {
        const std::string ptx = half_product(type).ptx(), expanded = expand_tensor_core_calls(ptx, Architecture("sm_90a"));
        const int pairs = count(ptx, "call.uni (retval0), conv_tc_store_pair__format"),
                  singles = count(ptx, "call.uni (retval0), conv_tc_store_single__format");
        EXPECT_GT(pairs, 0);
        EXPECT_EQ(count(expanded, std::string("cvt.rn.") + name + "x2.f32 "), pairs + singles);
        EXPECT_EQ(count(expanded, "@aligned st.global.b32 "), pairs);
    }
}

std::string refusal(const MatrixProduct &product) {
    try {
        product.lower();
    } catch (const TensorCoreRefusal &error) {
        return error.what();
    }
    return "not refused";
}

TEST(HalfPrecision, RefusesWhatDoesNotFit) {
    const auto expect = [](const MatrixProduct &product, const char *words) {
        const std::string reason = refusal(product);
        EXPECT_NE(reason.find(words), std::string::npos) << "'" << words << "' in: " << reason;
    };
    MatrixProduct product = half_product();
    product.k_at_once = 8;
    expect(product, "mma_k has extent 8 and mma_k_outer 1; the rule is 8, and an even number");
    product = half_product();
    product.type_of_b = Halide::BFloat(16);
    expect(product, "are of two formats");
    product = half_product(Halide::Float(16));
    product.type_of_b = Halide::Int(16);
    expect(product, "the rule is float32, float16 or bfloat16");
}

}  // namespace
}  // namespace conv_transpose::testing
