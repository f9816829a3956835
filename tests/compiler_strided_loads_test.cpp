// Vectors whose elements lie apart: read as whole vectors, the same elements, and none behind the last.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "Halide.h"
#include "compiler/passes/strided_loads.h"
#include "compiler_program_visit.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

struct Loads : IRVisitor {
    int apart = 0, dense = 0;

  private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        if (const Ramp *ramp = op->index.as<Ramp>()) (is_const_one(ramp->stride) ? dense : apart)++;
        IRVisitor::visit(op);
    }
};

class StridedLoadsTest : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(StridedLoadsTest, ReadsTheSameElements) {
    const auto [lanes, stride] = GetParam();
    ImageParam input(Float(32), 1);
    input.dim(0).set_min(0);
    Func every("every");
    Var x("x");
    every(x) = input(x * stride);
    every.output_buffer().dim(0).set_bounds(0, lanes);
    every.vectorize(x, lanes);
    Loads loads;
    Pipeline pipeline(every);
    pipeline.add_custom_lowering_pass(new StridedLoads);
    pipeline.add_custom_lowering_pass(new ProgramVisit(loads));

    const int elements = (lanes - 1) * stride + 1;
    Buffer<float> data(elements), result(lanes);
    for (int i = 0; i < elements; i++) data(i) = 3.f * i + 1;
    input.set(data);
    pipeline.realize(result);
    for (int i = 0; i < lanes; i++) EXPECT_EQ(result(i), data(i * stride)) << "element " << i;
    if (stride <= 4) EXPECT_EQ(loads.apart, 0);  // Halide itself shuffles some that lie further apart
}

INSTANTIATE_TEST_SUITE_P(LanesAndStrides, StridedLoadsTest,
                         ::testing::Combine(::testing::Values(4, 8, 16), ::testing::Values(1, 2, 3, 4, 5)));

// The same of the pass alone, as Halide does some of these itself: the elements' places, and none behind the last.
TEST(StridedLoads, PickTheirElementsAndReadNothingBehindThem) {
    for (int lanes : {4, 8, 16})
        for (int stride : {2, 3, 4}) {
            const Parameter input(Float(32), true, 1, "input");
            const Expr load = Load::make(Float(32, lanes), "input", Ramp::make(100, stride, lanes), {}, input, const_true(lanes),
                                         ModulusRemainder());
            const Expr shuffled = StridedLoads().mutate(load);
            std::vector<int> places;
            for (const Expr &vector : shuffled.as<Shuffle>()->vectors) {
                const Ramp *ramp = vector.as<Load>()->index.as<Ramp>();
                const auto begin = static_cast<int>(*as_const_int(simplify(ramp->base)));
                for (int i = 0; i < ramp->lanes; i++) places.push_back(begin + i);
            }
            EXPECT_EQ(*std::min_element(places.begin(), places.end()), 100);
            EXPECT_EQ(*std::max_element(places.begin(), places.end()), 100 + stride * (lanes - 1));
            for (int i = 0; i < lanes; i++)
                EXPECT_EQ(places.at(shuffled.as<Shuffle>()->indices[i]), 100 + stride * i) << lanes << " lanes, stride " << stride;
        }
}

// Masked loads, and what the kernel itself has stored, are left as they are.
TEST(StridedLoads, LeavesOtherLoads) {
    const Parameter input(Float(32), true, 1, "input");
    const Expr index = Ramp::make(0, 2, 8), mask = Ramp::make(0, 1, 8) < Broadcast::make(5, 8);
    const Expr masked = Load::make(Float(32, 8), "input", index, {}, input, mask, ModulusRemainder());
    const Expr own = Load::make(Float(32, 8), "staged", index, {}, {}, const_true(8), ModulusRemainder());
    EXPECT_TRUE(StridedLoads().mutate(masked).same_as(masked));
    EXPECT_TRUE(StridedLoads().mutate(own).same_as(own));
}

}  // namespace
}  // namespace conv_transpose::testing
