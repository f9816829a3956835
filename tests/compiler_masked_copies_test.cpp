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

/// Rows of what a buffer has of them, of which every other one is copied, shifted by one, or something is computed of it.
class MaskedCopiesTest : public ::testing::TestWithParam<int> {
  protected:
    template <typename Computed>
    void expect_same_elements_and_nothing_else(Computed computed);
};

template <typename Computed>
void MaskedCopiesTest::expect_same_elements_and_nothing_else(Computed computed) {
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
    copy(r.x + 1, r.y) = computed(input(r.x, r.y), Expr(r.x), Expr(count));
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
        EXPECT_EQ(result(i, j), copied ? computed(data(i - 1, j), i - 1, length) : 7) << i << ", " << j;
    });
}

TEST_P(MaskedCopiesTest, CopyTheSameElementsAndNothingElse) {
    expect_same_elements_and_nothing_else([](auto element, const auto &, const auto &) { return element; });
}

struct Sum {
    static Expr chosen(const Expr &condition, const Expr &yes, const Expr &no) { return select(condition, yes, no); }
    static int chosen(bool condition, int yes, int no) { return condition ? yes : no; }
    static Expr narrowed(const Expr &e) { return cast<uint16_t>(e); }
    static int narrowed(int i) { return i; }

    template <typename Element, typename Number>
    auto operator()(const Element &element, const Number &at, const Number &count) const {
        return chosen(count > 15, narrowed(element * 2 + narrowed(at)), narrowed(element + 1));
    }
};

TEST_P(MaskedCopiesTest, ComputeTheSameElementsAndNothingElse) { expect_same_elements_and_nothing_else(Sum()); }

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

TEST(MaskedCopies, KeepNamesOfVectors) {
    const Expr t = Variable::make(UInt(16), "t");
    const Stmt body = LetStmt::make("t", load(x), IfThenElse::make(n > 3, store(x, t * t + load(x + 1))));
    const Stmt loop = For::make("x", 0, n, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
    Stores stores;
    MaskedCopies().mutate(loop).accept(&stores);
    EXPECT_EQ(stores.masked, 1);
    EXPECT_EQ(stores.conditions, 1);
}

// Elements that lie apart, or that one before may have changed, and conditions on single elements stay as they are.
TEST(MaskedCopies, LeaveOtherLoops) {
    const Expr before = Load::make(UInt(16), "to", x - 1, {}, {}, const_true(), {});
    const Expr place = Variable::make(Int(32), "place");
    for (const Stmt &body : {store(x * 2, load(x)), store(x, load(x * 2)), store(x, load(n)), store(x, load(x) + before),
                             IfThenElse::make(x > 3, store(x, load(x))),
                             LetStmt::make("place", cast<int>(load(x)), store(x, load(place)))}) {
        const Stmt loop = For::make("x", 0, n, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
        EXPECT_TRUE(MaskedCopies().mutate(loop).same_as(loop)) << loop;
    }
}

}  // namespace
}  // namespace conv_transpose::testing
