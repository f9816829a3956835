// What addresses of a thread's stores have in common: statements made by hand, before and after the pass.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/store_bases.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

Expr place(int number) {
    return Load::make(Int(32), "place." + std::to_string(number), 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Stmt store(const std::string &buffer, const Expr &index) {
    const int lanes = index.type().lanes();
    return Store::make(buffer, make_one(Float(32, lanes)), index, Parameter(), const_true(lanes), ModulusRemainder());
}

/// The consumption of `finished` after the pass.
Stmt passed(const Stmt &body, const std::string &finished = "finished") {
    return StoreBases("place", "finished").mutate(ProducerConsumer::make_consume(finished, body));
}

class Stores : public IRVisitor {
  public:
    std::vector<Expr> indices;
    int bases = 0;

  private:
    using IRVisitor::visit;
    void visit(const LetStmt *op) override {
        bases += op->name == "place.store_base";
        IRVisitor::visit(op);
        if (op->name != "place.store_base") return;
        for (Expr &index : indices) index = substitute(op->name, op->value, index);
    }
    void visit(const Store *op) override { indices.push_back(op->index); }
};

Stores stores_of(const Stmt &statement) {
    Stores stores;
    statement.accept(&stores);
    return stores;
}

/// How many bases the pass computes of such stores, whose indices stay what they were.
int bases_of(const Stmt &body, const std::string &finished = "finished") {
    const std::vector<Expr> before = stores_of(body).indices;
    const Stores after = stores_of(passed(body, finished));
    EXPECT_EQ(after.indices.size(), before.size());
    for (size_t i = 0; i < before.size(); i++)
        EXPECT_TRUE(is_const_zero(simplify(after.indices[i] - before[i]))) << after.indices[i] << " is not " << before[i];
    return after.bases;
}

const Var part("part");
const Expr stride = Variable::make(Int(32), "stride");

TEST(StoreBases, AreComputedOnceOfTermsThatAllStoresHave) {
    const Expr of_place = place(0) * stride + place(1);
    const Stmt body =
        Block::make({store("output", of_place + 3), store("output", 7 * stride + of_place), store("output", of_place)});
    EXPECT_EQ(bases_of(body), 1);
    // A product of a sum is a sum of products.
    EXPECT_EQ(bases_of(Block::make(store("output", (place(0) + 2) * stride), store("output", stride * (place(0) + 5)))), 1);
    for (const Expr &index : stores_of(passed(body)).indices) EXPECT_TRUE(expr_uses_var(index, "stride"));
}

TEST(StoreBases, AreOfDenseVectorsToo) {
    const auto vector = [](const Expr &first) { return Ramp::make(first, 1, 8); };
    EXPECT_EQ(bases_of(Block::make(store("output", vector(place(0) * 8)), store("output", vector(place(0) * 8 + stride)))), 1);
}

TEST(StoreBases, AreNotWhereStoresHaveOtherTerms) {
    EXPECT_EQ(bases_of(Block::make(store("output", place(0) * 3), store("output", place(0) * 5))), 0);
    EXPECT_EQ(bases_of(Block::make(store("output", place(0) * 3), store("output", stride))), 0);
    EXPECT_EQ(bases_of(store("output", place(0) * 3)), 0);
}

TEST(StoreBases, AreNotOfWhatIsBoundBehindThem) {
    const Expr bound = Variable::make(Int(32), "bound");
    const Stmt stores = Block::make(store("output", place(0) * bound), store("output", place(0) * bound + 1));
    EXPECT_EQ(bases_of(LetStmt::make("bound", stride * 2, stores)), 0);
    EXPECT_EQ(bases_of(For::make("bound", 0, 4, ForType::Serial, Partition::Never, DeviceAPI::None, stores)), 0);
}

TEST(StoreBases, AreOfTheCallersBuffersAndThatFuncAlone) {
    const Stmt both = Block::make(store("output", place(0)), store("output", place(0) + 1));
    EXPECT_EQ(bases_of(Allocate::make("output", Float(32), MemoryType::Register, {8}, const_true(), both)), 0);
    EXPECT_EQ(bases_of(both, "another"), 0);
}

}  // namespace
}  // namespace conv_transpose::testing
