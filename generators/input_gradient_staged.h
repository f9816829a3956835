// The generator of the input gradient of depthwise problems whose blocks stage what neighbours of a row see
// (algorithm/staged_row.h), for tensors of any rank and format. Arguments as in input_gradient.h. Template argument: a schedule of
// StagedRowFuncs with StagedShape shape() const.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_STAGED_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_STAGED_H

#include "Halide.h"
#include "algorithm/staged_row.h"
#include "generators/axis_inputs.h"
#include "generators/gather_weight.h"
#include "generators/staged_pictures.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientStaged : public Halide::Generator<InputGradientStaged<Schedule>>, public StagedPictures {
  public:
    Schedule schedule_params;

    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        set_format(output_gradient);
        set_format(weight);
        attributes_ = add_axis_inputs(*this, rank, strided_attributes);
        input_gradient_ = this->template add_output<Halide::Buffer<>>("input_gradient", halide_type(storage), dimensions);
    }

    void generate() {
        const StridedAxis x = axis(0);
        const Row row(schedule_params.shape(), {number(max(extent(0), 1)), number(x.kernel), number(x.stride), number(x.dilation)});
        stage(row);
        multiply(row);
        store(row);
    }

    void schedule() {
        declare_strides(output_gradient, false);
        declare_strides(*input_gradient_, true);
        GatherWeight{0, storage, this->get_target()}.declare(weight);
        output_gradient.dim(3).set_extent(1), input_gradient_->dim(3).set_extent(1);
        schedule_params.apply(funcs_, this->target);
        add_passes(this->get_pipeline());
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        describe_tensors({"input", "output"}, description);
        GatherWeight{0, storage, this->target}.describe(description);
        schedule_params.describe(description);
    }

  private:
    using Row = StagedRow<Int>;

    StagedRowFuncs funcs_;
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *input_gradient_ = nullptr;

    Expr extent(int d) const { return input_gradient_->dim(d).extent(); }
    StridedAxis axis(int d) const { return strided_arguments(attributes_, d); }

    /// Where a block's positions begin.
    struct Begin {
        Expr x, y, z, group, image;
    };
    Begin begin_of(const Expr &block, const Row &row) const {
        const Division x = divide(block, row.tiles()), y = divide(x.quotient, extent(1)), z = divide(y.quotient, extent(2)),
                       group = divide(z.quotient, extent(4));
        return {x.rest * row.positions, y.rest, z.rest, group.rest, group.quotient};
    }

    static Expr slot_of(const Expr &seen) { return seen + seen / Row::banks; }

    void stage(const Row &row) {
        using namespace Halide;
        StagedRowFuncs &f = funcs_;
        const StagedShape &shape = row.shape;
        const Begin begin = begin_of(f.block, row);
        const auto seen_of = [&](const Expr &in_round, const Expr &round, const Expr &thread) {
            return (round * StagedShape::run + in_round) * shape.threads + thread;
        };
        const Expr seen[] = {begin.x * axis(0).stride + seen_of(f.in_round, f.round, f.thread), axis(1).output(begin.y, f.tap_y),
                             axis(2).output(begin.z, f.tap_z)};
        std::vector<Expr> from, conditions;
        for (int d = 0; d < rank; d++) {
            const Internal::Dimension at = output_gradient.dim(d);
            from.push_back(known(first_if_outside(seen[d], at), at)), conditions.push_back(inside(seen[d], at));
        }
        from.insert(from.end(), {0, known(begin.group, extent(4)), known(begin.image, extent(5))});
        f.element(f.in_round, f.round, f.thread, f.tap_y, f.tap_z, f.block) =
            select(all_of(conditions), loaded(output_gradient(from), this->get_target()), 0.f);

        const Int of_round = StagedShape::run * shape.threads;
        f.elements = RDom({{0, StagedShape::run}, {0, staged::up(row.seen(), of_round)}, {0, shape.threads}}, "elements");
        const RDom &r = f.elements;
        f.staged(f.slot, f.tap_y, f.tap_z, f.block) = undef<float>();
        f.staged(known(slot_of(seen_of(r[0], r[1], r[2])), shape.elements), f.tap_y, f.tap_z, f.block) =
            f.element(r[0], r[1], r[2], f.tap_y, f.tap_z, f.block);
    }

    // What parts see that a block does not compute lies beyond what is staged, and may be anything.
    void multiply(const Row &row) {
        using namespace Halide;
        StagedRowFuncs &f = funcs_;
        const StagedShape &shape = row.shape;
        const StridedAxis x = axis(0);
        f.taps = RDom({{0, x.kernel}, {0, axis(1).kernel}, {0, axis(2).kernel}}, "taps");
        const RDom &r = f.taps;
        const Expr group = known(begin_of(f.block, row).group, extent(4));
        const std::vector<Expr> tap{known(f.tap_x, x.kernel), known(f.tap_y, axis(1).kernel), known(f.tap_z, axis(2).kernel)};
        f.tap_weight(f.tap_x, f.tap_y, f.tap_z, f.block) =
            GatherWeight{0, storage, this->get_target()}.at(weight, tap, 0, 0, group);
        const Expr apart = x.stride * (shape.threads / Row::banks * (Row::banks + 1));
        const Expr slot = min(slot_of(x.output(f.thread, r[0])) + f.part * apart, shape.elements - 1);
        f.sum(f.part, f.thread, f.block) = 0.f;
        f.sum(f.part, f.thread, f.block) += f.staged(known(slot, shape.elements), r[1], r[2], f.block) *
                                            f.tap_weight(r[0], r[1], r[2], f.block);
    }

    void store(const Row &row) {
        using namespace Halide;
        StagedRowFuncs &f = funcs_;
        const StagedShape &shape = row.shape;
        f.positions = RDom({{0, shape.parts}, {0, shape.threads}, {0, row.tiles() * extent(1) * extent(2) * extent(4) * extent(5)}},
                           "positions");
        const RDom &r = f.positions;
        const Begin begin = begin_of(r[2], row);
        const Expr in_block = r[0] * shape.threads + r[1], x = begin.x + in_block;
        f.positions.where(in_block < row.positions && x < extent(0));
        std::vector<Expr> to{x, begin.y, begin.z, 0, begin.group, begin.image};
        for (int d = 0; d < dimensions; d++) to[d] = known(to[d], extent(d));
        (*input_gradient_)(std::vector<Var>(dimensions)) = undef(halide_type(storage));
        Func(*input_gradient_).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        (*input_gradient_)(to) = stored(f.sum(r[0], r[1], r[2]), storage, this->get_target());
        f.input_gradient = *input_gradient_;
    }
};

}  // namespace conv_transpose

#endif
