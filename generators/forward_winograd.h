// The generator of the forward operation by Winograd's algorithm (winograd.h): stride 1 and kernels of height
// 3. Kernels of width 3 can be transformed along rows, too; along rows of other kernels the taps are summed.
// Arguments as in forward.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H

#include <string>

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "generators/forward_arguments.h"
#include "schedules/shared/kernel_description.h"
#include "algorithm/weight_layouts.h"
#include "algorithm/winograd.h"
#include "algorithm/winograd_funcs.h"

namespace conv_transpose {

template <class Schedule>
class ForwardWinograd : public Halide::Generator<ForwardWinograd<Schedule>>,
      public ForwardArguments<>,
      public DescribedGenerator {
  public:
    Halide::GeneratorParam<bool> transform_rows{"transform_rows", true};
    Schedule schedule_params;

    void generate() {
        f_.across = transform_rows ? winograd::f23 : winograd::identity;
        f_.down = winograd::f23;
        check_kernel();
        transform_input();
        sum_products();
        restore_output();
    }

    void schedule() {
        declare_tensors();
        declare_weight();
        schedule_params.apply(f_, this->target);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        description.set("strict_propagation", "false");
        description.set("weight_layout",
                        enumerator(transform_rows ? WeightLayout::winograd : WeightLayout::winograd_columns));
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        schedule_params.describe(description);
    }

  private:
    WinogradFuncs f_;

    // Those that are summed along rows.
    int row_taps() const { return problem.kernel_w - f_.across.taps() + 1; }

    void check_kernel() const {
        if (problem.kernel_h != f_.down.taps())
            throw std::invalid_argument("kernel_h is " + std::to_string(problem.kernel_h) +
                                        "; for Winograd's algorithm the rule is 3");
        if (transform_rows && problem.kernel_w != f_.across.taps())
            throw std::invalid_argument("kernel_w is " + std::to_string(problem.kernel_w) +
                                        "; with transform_rows the rule is 3");
    }

    // Output o reaches the inputs from o - 2 to o.
    void transform_input() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const winograd::Transform &across = f_.across, &down = f_.down;
        const Expr nowhere;
        f_.padded_input = Halide::BoundaryConditions::constant_exterior(
            input, 0.f,
            {{input.dim(0).min(), input.dim(0).extent()}, {input.dim(1).min(), input.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});
        f_.transformed_across = Halide::Func("transformed_across");
        f_.transformed_across(f_.tile_x, v.y, f_.point_x, f_.in_channel, v.group, v.batch) =
            winograd::transformed(across.input, f_.point_x, [&](int i) {
                const Expr x = f_.tile_x * across.outputs() + (i - (across.taps() - 1));
                return f_.padded_input(x, v.y, f_.in_channel, v.group, v.batch);
            });
        f_.transformed_input = Halide::Func("transformed_input");
        f_.transformed_input(f_.tile_x, f_.tile_y, f_.in_channel, f_.point_x, f_.point_y, v.group, v.batch) =
            winograd::transformed(down.input, f_.point_y, [&](int i) {
                const Expr y = f_.tile_y * down.outputs() + (i - (down.taps() - 1));
                return f_.transformed_across(f_.tile_x, y, f_.point_x, f_.in_channel, v.group, v.batch);
            });
    }

    void sum_products() {
        const GatherVars &v = f_.v;
        const int lanes = schedule_params.weight_channel_multiple();
        const Halide::Expr channel_tiles = (output.dim(2).extent() + lanes - 1) / lanes;
        f_.taps = Halide::RDom({{0, row_taps()}, {0, input.dim(2).extent()}}, "taps");
        const Halide::RDom &r = f_.taps;
        f_.sum = Halide::Func("sum");
        f_.sum(f_.tile_x, f_.tile_y, v.channel, f_.point_x, f_.point_y, v.group, v.batch) = 0.f;
        f_.sum(f_.tile_x, f_.tile_y, v.channel, f_.point_x, f_.point_y, v.group, v.batch) +=
            f_.transformed_input(f_.tile_x - r.x, f_.tile_y, r.y, f_.point_x, f_.point_y, v.group, v.batch) *
            weight(v.channel % lanes, r.x, r.y, f_.point_x + f_.across.points() * f_.point_y,
                   v.channel / lanes + channel_tiles * v.group);
    }

    void restore_output() {
        const GatherVars &v = f_.v;
        const winograd::Transform &across = f_.across, &down = f_.down;
        Halide::Func restored_down{"restored_down"};
        restored_down(f_.tile_x, v.y, f_.point_x, v.channel, v.group, v.batch) =
            winograd::transformed(down.output, v.y % down.outputs(), [&](int i) {
                return f_.sum(f_.tile_x, v.y / down.outputs(), v.channel, f_.point_x, i, v.group, v.batch);
            });
        // Channels beyond the last have weights (zero) but no bias.
        const Halide::Expr real_channel = min(v.channel, bias.dim(0).extent() - 1);
        f_.pixels(v.x, v.y, v.channel, v.group, v.batch) =
            winograd::transformed(across.output, v.x % across.outputs(), [&](int i) {
                return restored_down(v.x / across.outputs(), v.y, i, v.channel, v.group, v.batch);
            }) + select(has_bias != 0, bias(real_channel, v.group), 0.f);
        output(v.x, v.y, v.channel, v.group, v.batch) =
            activate(f_.pixels(v.x, v.y, v.channel, v.group, v.batch), activation, slope);
        f_.output = output;
    }

    // What the runtime promises of the packed weights, so that index arithmetic folds.
    void declare_weight() {
        weight.dim(0).set_extent(schedule_params.weight_channel_multiple());
        weight.dim(1).set_extent(row_taps());
        weight.dim(3).set_extent(f_.across.points() * f_.down.points());
        Halide::Expr stride = 1;
        for (int d = 0; d < 5; d++) {
            weight.dim(d).set_stride(stride);
            stride *= weight.dim(d).extent();
        }
    }
};

}  // namespace conv_transpose

#endif
