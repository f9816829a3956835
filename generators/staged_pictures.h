// What generators share whose blocks stage what they see (algorithm/staged_tile.h), for tensors of any rank, format and layout
// (any_tensors.h).
#ifndef CONV_TRANSPOSE_GENERATORS_STAGED_PICTURES_H
#define CONV_TRANSPOSE_GENERATORS_STAGED_PICTURES_H

#include <vector>

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/staged_funcs.h"
#include "algorithm/staged_tile.h"
#include "compiler/passes/device_assertions.h"
#include "compiler/passes/host_numbers.h"
#include "compiler/passes/kernel_constants.h"
#include "compiler/passes/private_accumulators.h"
#include "generators/any_tensors.h"

namespace conv_transpose {

/// A base of generators.
class StagedPictures : public AnyTensors {
  protected:
    using Expr = Halide::Expr;
    using Int = HostNumber;

    HostNumbers numbers_;

    Int number(const Expr &e) { return {numbers_, e}; }
    // Numbers of threads and of what is staged are small.
    static Division by(const Expr &number, const Expr &divisor) {
        return Halide::Internal::is_const(divisor) ? divide_plainly(number, divisor) : divide_small(number, divisor);
    }

    /// Where a column lies that is staged: positions x and z in the picture, and whether there is such a plane.
    struct Column {
        Expr x, z, group, image, exists;
    };
    /// What of a picture a block stages.
    struct Staged {
        Int columns, pieces, piece, pitch;
        int elements;  ///< at most
    };

    /// Lets f.staged be what lies at column_of(number) and row_of(piece, row), in blocks of those variables.
    template <class Picture, class ColumnOf, class RowOf>
    void stage_picture(StagedPicture &f, const Picture &picture, const Staged &s, int threads, const Halide::Var &thread,
                       const std::vector<Halide::Var> &block, ColumnOf column_of, RowOf row_of, const Halide::Target &target) {
        using namespace Halide;
        constexpr int at_once = StagedShape::run;
        const auto of_block = [&](auto first) {
            first.insert(first.end(), block.begin(), block.end());
            return first;
        };
        using Vars = std::vector<Var>;
        using Exprs = std::vector<Expr>;
        const Int per_round = min(s.columns, Int(threads)), runs_at_once = Int(threads) / per_round;
        {
            const Column c = column_of(f.round * per_round + by(thread, per_round).rest);
            const auto clamped = [&](const Expr &at, int d) { return clamp(at, picture.dim(d).min(), picture.dim(d).max()); };
            const Expr there = c.exists && inside(c.x, picture.dim(0)) && inside(c.z, picture.dim(2));
            f.column(of_block(Vars{thread, f.round})) =
                Tuple(clamped(c.x, 0), clamped(c.z, 2), c.group, c.image, select(there, picture.dim(1).extent(), 0));
        }
        const auto of_column = [&](int i) -> Expr { return f.column(of_block(Vars{thread, f.round}))[i]; };
        // A thread has runs of neighbouring rows, which it stores at once.
        const auto run_in_piece = [&](const Expr &run, const Expr &thread) {
            return run * runs_at_once + by(thread, per_round).quotient;
        };
        // From the picture's first row on, without a sign: one before it is beyond the last.
        const Expr row = cast<uint32_t>(row_of(f.piece, run_in_piece(f.run, thread) * at_once + f.in_run) - picture.dim(1).min());
        const Expr y = cast<int>(min(row, cast<uint32_t>(picture.dim(1).extent() - 1))) + picture.dim(1).min();
        const std::vector<Expr> from{known(of_column(0), picture.dim(0)), known(y, picture.dim(1)),
                                     known(of_column(1), picture.dim(2)), 0, known(of_column(2), picture.dim(4).extent()),
                                     known(of_column(3), picture.dim(5).extent())};
        f.element(of_block(Vars{f.in_run, f.run, f.piece, thread, f.round})) =
            select(row < cast<uint32_t>(of_column(4)), loaded(picture(from), target), 0.f);

        f.elements = RDom({{0, at_once}, {0, staged::up(s.piece, Int(runs_at_once * at_once))}, {0, s.pieces},
                           {0, staged::up(s.columns, per_round)}, {0, threads}}, "elements");
        const RDom &r = f.elements;
        const Division at = by(r[4], per_round);
        const Expr column = r[3] * per_round + at.rest, run = run_in_piece(r[1], r[4]);
        f.elements.where(column < s.columns && at.quotient < runs_at_once && run < s.piece / at_once);
        f.staged(of_block(Vars{f.slot})) = undef<float>();
        const Expr slot = column * (s.pitch / 4) + r[2] * (s.piece / 4) + run * (at_once / 4);
        f.staged(of_block(Exprs{known(slot, (s.elements - at_once) / 4 + 1) * 4 + r[0]})) =
            f.element(of_block(Exprs{r[0], r[1], r[2], r[4], r[3]}));
    }

    void add_passes(Halide::Pipeline pipeline) const {
        pipeline.add_custom_lowering_pass(numbers_.pass());
        pipeline.add_custom_lowering_pass(new KernelConstants);
        pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
        pipeline.add_custom_lowering_pass(new PrivateAccumulators);
    }
};

}  // namespace conv_transpose

#endif
