// The generator of the input gradient on tensor cores, for strides: the gather of the output gradient as a
// matrix product of operands that are rounded to TF32. It fills in the same Funcs as forward_tensor_core.h,
// so that one schedule serves both.
//
// Position stride * cell + phase of the output gradient meets kernel position stride * tap + phase at input
// position cell - tap. So the phases are staged as planes of their own: within one, a tap reads the same
// staged pixels from another place, as in the forward operation at stride 1, and the products of all phases
// are added up in one tile. Every kernel position is multiplied once, whatever the stride. Template argument:
// a schedule as of ForwardTensorCore.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_TENSOR_CORE_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_TENSOR_CORE_H

#include "Halide.h"
#include "algorithm/tensor_core_funcs.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_layouts.h"
#include "generators/gradient_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientTensorCore : public Halide::Generator<InputGradientTensorCore<Schedule>>,
      public InputGradientArguments,
      public DescribedGenerator {
  public:
    /// 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    Halide::GeneratorParam<int> parts{"parts", 1};
    Schedule schedule_params;

    void generate() {
        describe_problem(f_);
        define_operands();
        sum_products();
        const GatherVars &v = f_.v;
        input_gradient(v.x, v.y, v.channel, v.group, v.batch) =
            f_.sum(v.x, v.channel % 64, v.channel / 64, v.y, v.group, v.batch);
        f_.output = input_gradient;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        description.set("precision", tensor_core_precision(parts));
        description.set("weight_layout", enumerator(tensor_core_layout(parts, 1)));
        description.set("weight_channel_multiple", 64);
        description.set("weight_tile", 64 * f_.taps_x * f_.taps_y * f_.planes);
        description.set("weight_in_channel_multiple", schedule_params.chunk());
        // The input's channels are computed, the output's summed over.
        description.set("min_in_channels", 16);
        description.set("min_out_channels", 8);
        schedule_params.describe(description, f_);
    }

    void search_space(SearchSpace &space) const override {
        if (problem.kernel_w == 0) return;  // a search is for constant attributes
        const bool dilated = problem.dilation_w != 1 || problem.dilation_h != 1;
        space.require("dilation is 1", !dilated);
        space.require("channels fill enough of a tile", problem.in_channels >= 16 && problem.out_channels >= 8);
        if (dilated) return;
        TensorCoreFuncs f;
        describe_problem(f);
        schedule_params.search_space(space, f);
    }

  private:
    TensorCoreFuncs f_;

    // A plane is (phase y, phase x, part), the part innermost.
    Halide::Expr phase_x_of(const Halide::Expr &phase) const { return phase % problem.stride_w; }
    Halide::Expr phase_y_of(const Halide::Expr &phase) const { return phase / problem.stride_w; }

    // Weights are as pack_tensor_core packs those of a forward kernel without padding, whose phases and taps these are.
    void define_operands() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const TensorCoreVars &t = f_.t;
        const Expr phase = t.part / parts;
        const Halide::Func padded = padded_picture(
            output_gradient, v, problem.out_channels ? problem.out_channels : problem.out_channel_multiple,
            schedule_params.chunk());
        f_.staged_input = Halide::Func("staged_input");
        f_.staged_input(t.value, v.x, v.y, t.k4, t.part, v.group, v.batch) =
            tf32_part(padded(v.x * problem.stride_w + phase_x_of(phase), v.y * problem.stride_h + phase_y_of(phase),
                             t.k4 * 4 + t.value, v.group, v.batch), t.part % parts, this->target);
        f_.weights = Halide::Func("weights");
        const Expr row_blocks = (input_gradient.dim(2).extent() + 63) / 64;
        const Expr row_block = existing_row_block(t.row_block, row_blocks, schedule_params.channel_sets);
        const Expr slice =
            phase_y_of(phase) +
            problem.stride_h *
                (t.part % parts + parts * (t.k4 + groups_of_four() * (row_block + row_blocks * v.group)));
        f_.weights(t.value, t.row, v.x, v.y, t.phase_y, t.k4, t.part, t.row_block, v.group) = weight(
            t.value + 4 * (t.row + 64 * (phase_x_of(phase) +
                                         problem.stride_w * (v.x + f_.taps_x * (v.y + f_.taps_y * slice)))),
            0, 0, 0, 0);
    }

    void sum_products() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const TensorCoreVars &t = f_.t;
        const int stride_x = problem.stride_w, stride_y = problem.stride_h, phases = stride_x * stride_y;
        f_.sum_over(groups_of_four(), phases);
        const TensorCoreReduction &r = f_.r;
        const Expr product = r.product / phases, phase = r.product % phases;
        if (problem.kernel_w % stride_x != 0)
            f_.r.domain.where(r.tap_x * stride_x + phase_x_of(phase) < problem.kernel_w);
        if (problem.kernel_h % stride_y != 0)
            f_.r.domain.where(r.tap_y * stride_y + phase_y_of(phase) < problem.kernel_h);
        const auto plane = [&](int with_small_part) { return phase * parts + f_.part_of(product, with_small_part); };
        f_.sum = Halide::Func("sum");
        f_.sum(v.x, t.row, t.row_block, v.y, v.group, v.batch) = 0.f;
        f_.sum(v.x, t.row, t.row_block, v.y, v.group, v.batch) +=
            f_.staged_input(r.value, v.x + r.tap_x, v.y + r.tap_y, r.k4, plane(1), v.group, v.batch) *
            f_.weights(r.value, t.row, r.tap_x, r.tap_y, 0, r.k4, plane(0), t.row_block, v.group);
    }

    void describe_problem(TensorCoreFuncs &f) const {
        const int stride_x = problem.stride_w, stride_y = problem.stride_h;
        if (problem.kernel_w == 0 || problem.kernel_h == 0 || stride_x == 0 || stride_y == 0)
            throw std::invalid_argument("kernel or stride is 0, a run-time value; for tensor cores they are constants");
        if (problem.dilation_w != 1 || problem.dilation_h != 1)
            throw std::invalid_argument("dilation is not 1; for the input gradient on tensor cores the rule is 1");
        f.parts = parts, f.planes = parts * stride_x * stride_y;
        f.taps_x = (problem.kernel_w + stride_x - 1) / stride_x,
        f.taps_y = (problem.kernel_h + stride_y - 1) / stride_y;
        f.cells_x = problem.input_w, f.cells_y = problem.input_h, f.channels = problem.in_channels;
        f.x_axis = GatherAxis::fixed(f.taps_x, 1, 1, 0), f.y_axis = GatherAxis::fixed(f.taps_y, 1, 1, 0);
    }

    Halide::Expr groups_of_four() const {
        return conv_transpose::groups_of_four(output_gradient, problem.out_channels, schedule_params.chunk());
    }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) input_gradient.dim(d).set_min(0), weight.dim(d).set_min(0);
        if (problem.out_channels) output_gradient.dim(2).set_extent(problem.out_channels);
        if (problem.in_channels) input_gradient.dim(2).set_extent(problem.in_channels);
        // Rows of 16 bytes, at multiples of 16 bytes: they are copied asynchronously.
        weight.set_host_alignment(16);
    }
};

}  // namespace conv_transpose

#endif
