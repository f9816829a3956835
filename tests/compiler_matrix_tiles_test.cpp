// Matrix products by a CPU's tile registers: what the lowered program asks of them, and nests that are refused with the reason.
// What they compute is tested where kernels are (half_precision_test.cpp), on processors that have them.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "Halide.h"
#include "compiler/passes/matrix_tiles.h"
#include "compiler/passes/tensor_core_options.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

struct Calls : IRMutator {
    explicit Calls(std::map<std::string, int> &count) : count(count) {}
    std::map<std::string, int> &count;
    using IRMutator::mutate;
    using IRMutator::visit;
    Expr visit(const Call *op) override {
        count[op->name]++;
        return IRMutator::visit(op);
    }
    Stmt visit(const Allocate *op) override {
        if (op->memory_type == MemoryType::AMXTile) count["allocated"]++;
        return IRMutator::visit(op);
    }
};

/// rows x columns sums of `chunks` times some pairs, of rows that lie a run-time number of elements apart; `initial` begins them.
struct Product {
    int rows = 32, columns = 32, pairs = 16, row_step = 1;
    float initial = 0;
    bool of_floats = false;
    std::function<void(Func sum, RDom r, Var m, Var n)> change = {};

    std::map<std::string, int> calls() const {
        Var m{"m"}, n{"n"}, mma_m{"mma_m"}, mma_n{"mma_n"};
        ImageParam left(of_floats ? Type(Float(32)) : Type(BFloat(16)), 2, "left"), right(BFloat(16), 3, "right");
        Param<int> chunks("chunks");
        RDom r({{0, 2}, {0, pairs}, {0, chunks}}, "r");
        const RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        Func sum("sum"), result("result");
        sum(n, m) = initial;
        sum(n, m) += cast<float>(left((r.z * pairs + r.y) * 2 + r.x, m * row_step)) * cast<float>(right(n * 2 + r.x, r.y, r.z));
        result(n, m) = sum(n, m);
        result.output_buffer().dim(0).set_bounds(0, columns);
        result.output_buffer().dim(1).set_bounds(0, rows);
        right.dim(0).set_bounds(0, 2 * columns);
        sum.compute_root().bound_extent(n, columns).bound_extent(m, rows).rename(m, mma_m).rename(n, mma_n);
        if (change) change(sum, r, m, n);
        else sum.update().rename(m, mma_m).rename(n, mma_n).rename(r.x, mma_k).rename(r.y, mma_k_outer)
                .reorder({mma_k, mma_k_outer, mma_n, mma_m, r.z});
        std::map<std::string, int> count;
        Pipeline pipeline(result);
        pipeline.add_custom_lowering_pass(new MatrixTiles);
        pipeline.add_custom_lowering_pass(new Calls(count));
        pipeline.compile_to_module({left, right, chunks}, "product", Target("x86-64-linux-no_asserts-no_bounds_query"));
        return count;
    }

    std::string refusal() const {
        try {
            calls();
        } catch (const TensorCoreRefusal &refusal) {
            return refusal.what();
        }
        return {};
    }
};

// An operand's tile is loaded once for all that it is multiplied with.
TEST(MatrixTiles, HoldsAllSumsInRegisters) {
    for (const int pairs : {8, 16}) {
        const auto four = Product{.pairs = pairs}.calls();
        EXPECT_EQ(four.at("allocated"), 4);
        EXPECT_EQ(four.at("tile_zero"), 4);
        EXPECT_EQ(four.at("tile_load"), 4);
        EXPECT_EQ(four.at("tile_matmul"), 4);
        EXPECT_EQ(four.at("tile_store"), 4);
        const auto two = Product{.rows = 16, .pairs = pairs}.calls();
        EXPECT_EQ(two.at("tile_load"), 3);
        EXPECT_EQ(two.at("tile_matmul"), 2);
    }
    EXPECT_EQ(Product{.row_step = 3}.calls().at("tile_matmul"), 4);
}

TEST(MatrixTiles, RefusesWhatNoTileIs) {
    const auto names = [](const std::string &refusal, const std::string &reason) {
        return refusal.find(reason) != std::string::npos;
    };
    EXPECT_PRED2(names, Product{.rows = 24}.refusal(), "mma_m has extent 24; the rule is 16 or 32");
    EXPECT_PRED2(names, Product{.columns = 48}.refusal(), "mma_n has extent 48; the rule is 16 or 32");
    EXPECT_PRED2(names, Product{.pairs = 12}.refusal(), "products of 8 or 16 pairs");
    EXPECT_PRED2(names, Product{.initial = 1}.refusal(), "sums begin with 0");
    EXPECT_PRED2(names, Product{.of_floats = true}.refusal(), "an operand is a load of bfloat16");
    // Pairs and their number change places.
    const auto exchanged = [](Func sum, RDom r, Var m, Var n) {
        const RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        sum.update().rename(m, Var("mma_m")).rename(n, Var("mma_n")).rename(r.y, mma_k).rename(r.x, mma_k_outer)
            .reorder({mma_k, mma_k_outer, Var("mma_n"), Var("mma_m"), r.z});
    };
    EXPECT_PRED2(names, Product{.change = exchanged}.refusal(), "products of 8 or 16 pairs");
}

}  // namespace
}  // namespace conv_transpose::testing
