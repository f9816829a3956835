// The generator of the forward operation by Winograd's algorithm down the columns only (winograd.h): kernels 3 high and of
// any width, stride 1. Along rows it is the gather's sum. A third of the products is saved. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_COLUMNS_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_COLUMNS_H

#include "Halide.h"
#include "generators/epilogue.h"
#include "generators/forward_arguments.h"
#include "generators/kernel_description.h"
#include "generators/weight_layouts.h"
#include "generators/winograd.h"
#include "schedules/winograd_columns_funcs.h"

namespace conv_transpose {

template <class Schedule>
class ForwardWinogradColumns : public Halide::Generator<ForwardWinogradColumns<Schedule>>,
      public ForwardArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;

    void generate() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        constexpr int m = winograd::outputs;
        Halide::Var in_channel{"in_channel"};

        const Expr nowhere;
        f_.padded_input = Halide::BoundaryConditions::constant_exterior(
            input, 0.f,
            {{input.dim(0).min(), input.dim(0).extent()}, {input.dim(1).min(), input.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});

        // Output o reaches the inputs from o - 2 to o.
        f_.transformed_input = Halide::Func("transformed_input");
        f_.transformed_input(v.x, f_.tile_y, in_channel, f_.point, v.group, v.batch) =
            winograd::transformed(winograd::input_matrix, f_.point, [&](int i) {
                return f_.padded_input(v.x, f_.tile_y * m + (i - 2), in_channel, v.group, v.batch);
            });

        const int lanes = schedule_params.weight_channel_multiple();
        const Expr channel_tiles = (output.dim(2).extent() + lanes - 1) / lanes;
        f_.taps = Halide::RDom({{0, problem.kernel_w}, {0, input.dim(2).extent()}}, "taps");
        const Halide::RDom &r = f_.taps;
        f_.sum = Halide::Func("sum");
        f_.sum(v.x, f_.tile_y, v.channel, f_.point, v.group, v.batch) = 0.f;
        f_.sum(v.x, f_.tile_y, v.channel, f_.point, v.group, v.batch) +=
            f_.transformed_input(v.x - r.x, f_.tile_y, r.y, f_.point, v.group, v.batch) *
            weight(v.channel % lanes, r.x, r.y, f_.point, v.channel / lanes + channel_tiles * v.group);

        // Channels beyond the last have weights (zero) but no bias.
        const Expr real_channel = min(v.channel, bias.dim(0).extent() - 1);
        f_.pixels(v.x, v.y, v.channel, v.group, v.batch) =
            winograd::transformed(winograd::output_matrix, v.y % m, [&](int i) {
                return f_.sum(v.x, v.y / m, v.channel, i, v.group, v.batch);
            }) + select(has_bias != 0, bias(real_channel, v.group), 0.f);
        output(v.x, v.y, v.channel, v.group, v.batch) =
            activate(f_.pixels(v.x, v.y, v.channel, v.group, v.batch), activation, slope);
        f_.output = output;
    }

    void schedule() {
        declare_tensors();
        weight.dim(0).set_extent(schedule_params.weight_channel_multiple());
        weight.dim(1).set_extent(problem.kernel_w);
        weight.dim(3).set_extent(winograd::points);
        Halide::Expr stride = 1;
        for (int d = 0; d < 5; d++) {
            weight.dim(d).set_stride(stride);
            stride *= weight.dim(d).extent();
        }
        schedule_params.apply(f_, this->target);
    }

    void describe(KernelDescription &description) override {
        description.set("operation", "Operation::forward");
        describe_target(this->target, description);
        problem.describe(description);
        description.set("weight_layout", enumerator(WeightLayout::winograd_columns));
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        schedule_params.describe(description);
    }

  private:
    WinogradColumnsFuncs f_;
};

}  // namespace conv_transpose

#endif
