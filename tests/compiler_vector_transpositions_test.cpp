// Vectors that are turned in registers: stores made by hand, before and after the pass.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/vector_transpositions.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

/// Does what stores say, for values that are ramps, shuffles and variables; addresses are constants but for `place`, which is 1000.
class Machine : public IRVisitor {
  public:
    std::map<int64_t, double> memory;
    int apart = 0, dense = 0, widest = 0;

  private:
    std::map<std::string, std::vector<double>> variables_;

    std::vector<double> value(const Expr &expr) const {
        if (const Variable *op = expr.as<Variable>()) return variables_.at(op->name);
        std::vector<double> result;
        if (const Ramp *op = expr.as<Ramp>()) {
            for (int i = 0; i < op->lanes; i++) result.push_back(*as_const_float(op->base) + i * *as_const_float(op->stride));
        } else if (const Shuffle *op = expr.as<Shuffle>()) {
            std::vector<double> all;
            for (const Expr &vector : op->vectors)
                for (double element : value(vector)) all.push_back(element);
            for (int i : op->indices) result.push_back(all.at(i));
        } else {
            ADD_FAILURE() << "unknown value " << expr;
        }
        return result;
    }

    using IRVisitor::visit;
    void visit(const LetStmt *op) override {
        variables_[op->name] = value(op->value);
        op->body.accept(this);
    }
    void visit(const Store *op) override {
        const Ramp *ramp = op->index.as<Ramp>();
        (is_const_one(ramp->stride) ? dense : apart)++;
        widest = std::max(widest, ramp->lanes);
        if (op->value.as<Load>()) return;
        const std::vector<double> stored = value(op->value);
        const auto at = as_const_int(simplify(substitute("place", 1000, ramp->base))), stride = as_const_int(ramp->stride);
        for (int i = 0; i < ramp->lanes; i++) memory[*at + i * *stride] = stored[i];
    }
};

/// Elements 100 i, 100 i + 1 ...
Expr row(int i, int lanes) { return Ramp::make(float(100 * i), 1.f, lanes); }

/// The vector i, stored with its elements `distance` apart, from `first` behind `place` on.
Stmt store(int first, int distance, const Expr &value, const std::string &buffer = "b") {
    const Expr at = Variable::make(Int(32), "place") + first;
    const int lanes = value.type().lanes();
    return Store::make(buffer, value, Ramp::make(at, distance, lanes), Parameter(), const_true(lanes), ModulusRemainder());
}

Machine run(const Stmt &stmt) {
    Machine machine;
    stmt.accept(&machine);
    return machine;
}

Machine run_after_pass(const std::vector<Stmt> &stores) {
    VectorTranspositions pass;
    return run(pass.mutate(Block::make(stores)));
}

TEST(VectorTranspositions, StoreTheSameInWholeVectors) {
    for (int lanes : {4, 8, 16})
        for (int rows : {2, 3, 4, 5, 8, 16}) {
            if (rows > lanes) continue;
            std::vector<Stmt> stores;
            for (int i = 0; i < rows; i++) stores.push_back(store(i, rows, row(i, lanes)));
            const Machine before = run(Block::make(stores)), after = run_after_pass(stores);
            EXPECT_EQ(before.apart, rows);
            EXPECT_EQ(after.memory, before.memory) << rows << " vectors of " << lanes;
            EXPECT_EQ(after.apart, 0);
            EXPECT_EQ(after.dense, rows);
            EXPECT_EQ(after.widest, lanes);
        }
}

TEST(VectorTranspositions, TakeStoresInAnyGroupOfABlock) {
    std::vector<Stmt> stores{store(-100, 1, row(9, 8))};
    for (int group : {0, 64})
        for (int i = 0; i < 8; i++) stores.push_back(store(group + i, 8, row(i + group, 8)));
    const Machine before = run(Block::make(stores)), after = run_after_pass(stores);
    EXPECT_EQ(after.memory, before.memory);
    EXPECT_EQ(after.apart, 0);
}

// Halide may set the same number anew for each store.
TEST(VectorTranspositions, SeeThroughLets) {
    std::vector<Stmt> stores;
    for (int i = 0; i < 8; i++) {
        const std::string name = "twice" + std::to_string(i);
        const Expr at = Variable::make(Int(32), name) - Variable::make(Int(32), "place") + i;
        const Stmt one = Store::make("b", row(i, 8), Ramp::make(at, 8, 8), Parameter(), const_true(8), ModulusRemainder());
        stores.push_back(LetStmt::make(name, Variable::make(Int(32), "place") * 2, one));
    }
    VectorTranspositions pass;
    int dense = 0;
    std::set<std::string> known;
    for (Stmt stmt = pass.mutate(Block::make(stores)); stmt.defined();) {
        if (const LetStmt *let = stmt.as<LetStmt>()) { known.insert(let->name), stmt = let->body; continue; }
        const Block *block = stmt.as<Block>();
        const Store *op = (block ? block->first : stmt).as<Store>();
        ASSERT_NE(op, nullptr);
        EXPECT_TRUE(is_const_one(op->index.as<Ramp>()->stride));
        EXPECT_TRUE(known.contains("twice0") && expr_uses_var(op->index, "twice0"));
        dense++;
        stmt = block ? block->rest : Stmt();
    }
    EXPECT_EQ(dense, 8);
}

/// Stores, each behind a number that is set for it and all that follow.
Stmt stores_behind_lets(const std::function<Expr(int)> &number) {
    Stmt all;
    for (int i = 8; i-- > 0;) {
        const std::string name = "first" + std::to_string(i);
        const Expr index = Ramp::make(Variable::make(Int(32), name) + i, 8, 8);
        const Stmt one = Store::make("b", row(i, 8), index, Parameter(), const_true(8), ModulusRemainder());
        all = LetStmt::make(name, number(i), all.defined() ? Block::make(one, all) : one);
    }
    return Block::make(store(-100, 1, row(9, 8)), all);
}

class CountsStores : public IRVisitor {
  public:
    int apart = 0, dense = 0;

  private:
    using IRVisitor::visit;
    void visit(const Store *op) override { (is_const_one(op->index.as<Ramp>()->stride) ? dense : apart)++; }
};

CountsStores counted(const Stmt &stmt) {
    CountsStores counts;
    stmt.accept(&counts);
    return counts;
}

// Halide may set what a store needs for all stores that follow. What is read from memory may change before the next.
TEST(VectorTranspositions, SeeThroughLetsOfAllThatFollows) {
    const Expr place = Variable::make(Int(32), "place");
    VectorTranspositions pass;
    const CountsStores turned = counted(pass.mutate(stores_behind_lets([&](int) { return place * 2; })));
    EXPECT_EQ(turned.apart, 0);
    EXPECT_EQ(turned.dense, 9);
    const Expr loaded = Load::make(Int(32), "table", place, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
    EXPECT_EQ(counted(pass.mutate(stores_behind_lets([&](int) { return loaded; }))).apart, 8);
}

TEST(VectorTranspositions, LeaveStoresThatFillNoPiece) {
    const Expr loaded = Load::make(Float(32, 8), "b", Ramp::make(Variable::make(Int(32), "place"), 1, 8), Buffer<>(), Parameter(),
                                   const_true(8), ModulusRemainder());
    const Stmt some_elements = Store::make("b", row(1, 8), Ramp::make(Variable::make(Int(32), "place") + 1, 2, 8), Parameter(),
                                           Ramp::make(0, 1, 8) < Broadcast::make(5, 8), ModulusRemainder());
    const std::vector<std::vector<Stmt>> others{
        {store(0, 2, row(0, 8))},                                                     // one is missing
        {store(0, 2, row(0, 8)), store(2, 2, row(1, 8))},                         // places of the first
        {store(0, 2, row(0, 8)), store(1, 2, row(1, 8), "c")},                    // another buffer
        {store(0, 2, row(0, 8)), store(1, 2, row(1, 4))},                         // fewer elements
        {store(1, 2, row(0, 8)), store(0, 2, row(1, 8))},                         // begins behind the second
        {store(0, 2, row(0, 8)), store(1, 3, row(1, 8))},                         // farther apart
        {store(0, 2, row(0, 8)), some_elements},                                      // not all of them
        {store(0, 2, row(0, 8)), store(1, 2, loaded)},                                // reads what the first writes
        {store(0, 2, Ramp::make(0, 1, 8)), store(1, 2, Ramp::make(0, 1, 8))},             // integers
    };
    for (const auto &stores : others) {
        VectorTranspositions pass;
        const Stmt block = stores.size() > 1 ? Block::make(stores) : stores[0], after = pass.mutate(block);
        EXPECT_TRUE(equal(after, block)) << after;
    }
}

}  // namespace
}  // namespace conv_transpose::testing
