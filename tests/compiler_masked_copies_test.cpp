// Copies by masked vectors: the same elements, and nothing beside them.
#include <gtest/gtest.h>

#include "Halide.h"
#include "compiler/passes/masked_copies.h"
#include "compiler_program_visit.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

struct Stores : IRVisitor {
    int masked = 0, single = 0, conditions = 0;

  private:
    using IRVisitor::visit;
    void visit(const IfThenElse *op) override {
        conditions++;
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (op->value.type().is_scalar()) single++;
        else if (!is_const_one(op->predicate)) masked++;
        IRVisitor::visit(op);
    }
};

/// Rows of what a buffer has of them, of which every other one is copied, shifted by one.
class MaskedCopiesTest : public ::testing::TestWithParam<int> {};

TEST_P(MaskedCopiesTest, CopyTheSameElementsAndNothingElse) {
    const Target target = get_host_target();
    if (!target.has_feature(Target::AVX512_Skylake)) GTEST_SKIP() << "this processor has no AVX-512";
    const int length = GetParam(), rows = 4, beside = 3;
    ImageParam input(UInt(16), 2);
    Param<int> count;
    Func copy("copy");
    Var x("x"), y("y");
    RDom r(0, count, 0, rows);
    r.where(r.y % 2 == 0);
    copy(x, y) = undef<uint16_t>();
    copy(r.x + 1, r.y) = input(r.x, r.y);
    Stores stores;
    Pipeline pipeline(copy);
    pipeline.add_custom_lowering_pass(new MaskedCopies);
    pipeline.add_custom_lowering_pass(new ProgramVisit(stores));

    Buffer<uint16_t> data(length, rows), result(length + 1 + beside, rows);
    data.for_each_element([&](int i, int j) { data(i, j) = static_cast<uint16_t>(100 * j + i + 1); });
    result.fill(7);
    input.set(data), count.set(length);
    pipeline.realize(result, target);
    EXPECT_EQ(stores.single, 0);
    EXPECT_EQ(stores.masked, 1);
    result.for_each_element([&](int i, int j) {
        const bool copied = j % 2 == 0 && i >= 1 && i <= length;
        EXPECT_EQ(result(i, j), copied ? data(i - 1, j) : 7) << i << ", " << j;
    });
}

INSTANTIATE_TEST_SUITE_P(Lengths, MaskedCopiesTest, ::testing::Values(1, 9, 15, 16, 17, 40));

const Expr x = Variable::make(Int(32), "x"), n = Variable::make(Int(32), "n");

Expr load(const Expr &at) {
    return Load::make(UInt(16), "from", at, {}, {}, const_true(), {});
}

Stmt store(const Expr &at, const Expr &value) {
    return Store::make("to", value, at, {}, const_true(), {});
}

TEST(MaskedCopies, KeepConditionsOfAllElements) {
    const Stmt body = IfThenElse::make(n > 3, IfThenElse::make(n < 9, store(x + n, load(x))));
    const Stmt loop = For::make("x", 0, n, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
    Stores stores;
    MaskedCopies().mutate(loop).accept(&stores);
    EXPECT_EQ(stores.masked, 1);
    EXPECT_EQ(stores.conditions, 2);
}

// Sums, elements that lie apart, and conditions on single elements stay as they are.
TEST(MaskedCopies, LeaveOtherLoops) {
    for (const Stmt &body : {store(x, load(x) + load(x + 1)), store(x * 2, load(x)), store(x, load(n)),
                             IfThenElse::make(x > 3, store(x, load(x)))}) {
        const Stmt loop = For::make("x", 0, n, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
        EXPECT_TRUE(MaskedCopies().mutate(loop).same_as(loop)) << loop;
    }
}

}  // namespace
}  // namespace conv_transpose::testing
