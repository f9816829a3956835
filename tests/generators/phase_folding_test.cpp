// Phases fold: where a schedule unrolls phases and taps, the compiled code multiplies for live taps only. One cell has
// as many multiplications as the kernel has positions, not (most taps of a phase) x (number of phases).
#include <gtest/gtest.h>

#include "algorithm/gather.h"

namespace conv_transpose {
namespace {

using namespace Halide;

class CountProducts : public Internal::IRVisitor {
  public:
    int count = 0;

  private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Mul *op) override {
        count += op->type.is_float();
        Internal::IRVisitor::visit(op);
    }
};

struct Attributes {
    int kernel, stride, dilation, padding_phase;
};

// Everything that only the index of the sum decides.
class Folding {
  public:
    Folding(const Attributes &a, SumIndex index)
        : axis_(GatherAxis::fixed(a.kernel, a.stride, a.dilation, a.padding_phase)),
          gather_(gather(v_, axis_, axis_, input_.dim(2).extent(), padded(), Func(weight_), 0.f, index)) {
        for (int d = 0; d < 2; d++) gather_.sum.output_buffer().dim(d).set_min(0);
    }

    /// Multiplications of one cell: sum(cell_x, cell_y, phase_x, phase_y, ...) with phases unrolled.
    int products_of_a_cell() {
        for (Stage stage : {Stage(gather_.sum), Stage(gather_.sum.update())})
            stage.unroll(v_.phase_x).unroll(v_.phase_y);
        const Expr stride = axis_.stride();
        gather_.sum.bound(v_.phase_x, 0, stride).bound(v_.phase_y, 0, stride);
        return products();
    }

    /// Multiplications of a row of cells: sum(x, y, ...) with the outputs of `cells` cells unrolled, whatever
    /// the extent.
    int products_of_cells(int cells) {
        const Expr stride = axis_.stride();
        Var tile_x, tile_y;
        gather_.sum.update()
            .split(v_.x, tile_x, v_.x, stride * cells, TailStrategy::RoundUp)
            .split(v_.y, tile_y, v_.y, stride, TailStrategy::RoundUp)
            .reorder({v_.x, v_.y, gather_.taps.x, gather_.taps.y, tile_x, tile_y, gather_.taps.z})
            .unroll(v_.x)
            .unroll(v_.y);
        return products();
    }

  private:
    GatherVars v_;
    ImageParam input_{Float(32), 5, "input"}, weight_{Float(32), 5, "weight"};
    GatherAxis axis_;
    Gather gather_;

    Func padded() { return BoundaryConditions::constant_exterior(input_, 0.f); }

    int products() {
        // Partitioning would copy the loops for the picture's edges, and unroll each copy.
        gather_.sum.update().unroll(gather_.taps.x).unroll(gather_.taps.y).never_partition_all();
        const Module module = gather_.sum.compile_to_module({input_, weight_}, "folding", Target("x86-64-linux"));
        CountProducts counter;
        for (const auto &function : module.functions()) function.body.accept(&counter);
        return counter.count;
    }
};

class PhaseFolding : public ::testing::TestWithParam<Attributes> {};

void PrintTo(const Attributes &a, std::ostream *out) {
    *out << "kernel " << a.kernel << ", stride " << a.stride << ", dilation " << a.dilation
         << ", padding phase " << a.padding_phase;
}

TEST_P(PhaseFolding, ByCellsAndPhases) {
    const int taps = GetParam().kernel * GetParam().kernel;
    EXPECT_EQ(Folding(GetParam(), SumIndex::cells_and_phases).products_of_a_cell(), taps);
}

TEST_P(PhaseFolding, ByPositions) {
    const int taps = GetParam().kernel * GetParam().kernel;
    EXPECT_EQ(Folding(GetParam(), SumIndex::positions).products_of_cells(7), 7 * taps);
}

// The first: 63 products for 7 cells instead of 112. The last has phases without any tap.
INSTANTIATE_TEST_SUITE_P(, PhaseFolding,
                         ::testing::Values(Attributes{3, 2, 1, 0}, Attributes{3, 2, 1, 1}, Attributes{4, 2, 1, 1},
                                           Attributes{2, 2, 1, 0}, Attributes{5, 3, 1, 2}, Attributes{3, 5, 2, 1}),
                         [](const auto &info) {
                             const Attributes &a = info.param;
                             return "k" + std::to_string(a.kernel) + "s" + std::to_string(a.stride) + "d" +
                                    std::to_string(a.dilation) + "p" + std::to_string(a.padding_phase);
                         });

}  // namespace
}  // namespace conv_transpose
