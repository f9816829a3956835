// The generator of the forward operation by Winograd's algorithm (winograd.h): kernel 3x3, stride 1. Arguments as in
// forward.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H

#include "Halide.h"
#include "generators/epilogue.h"
#include "generators/forward_arguments.h"
#include "generators/kernel_description.h"
#include "generators/weight_layouts.h"
#include "generators/winograd.h"
#include "schedules/winograd_funcs.h"

namespace conv_transpose {

template <class Schedule>
class ForwardWinograd : public Halide::Generator<ForwardWinograd<Schedule>>,
      public ForwardArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;


    void generate() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        constexpr int m = winograd::outputs;
        using winograd::transformed;
        Halide::Var in_channel{"in_channel"};

        const Expr nowhere;
        f_.padded_input = Halide::BoundaryConditions::constant_exterior(
            input, 0.f,
            {{input.dim(0).min(), input.dim(0).extent()}, {input.dim(1).min(), input.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});

        // Output o reaches the inputs from o - 2 to o.
        f_.transformed_across = Halide::Func("transformed_across");
        f_.transformed_across(f_.tile_x, v.y, f_.point_x, in_channel, v.group, v.batch) =
            transformed(winograd::input_matrix, f_.point_x, [&](int i) {
                return f_.padded_input(f_.tile_x * m + (i - 2), v.y, in_channel, v.group, v.batch);
            });
        f_.transformed_input = Halide::Func("transformed_input");
        f_.transformed_input(f_.tile_x, f_.tile_y, in_channel, f_.point_x, f_.point_y, v.group, v.batch) =
            transformed(winograd::input_matrix, f_.point_y, [&](int i) {
                return f_.transformed_across(f_.tile_x, f_.tile_y * m + (i - 2), f_.point_x, in_channel, v.group, v.batch);
            });

        const int lanes = schedule_params.weight_channel_multiple();
        const Expr channel_tiles = (output.dim(2).extent() + lanes - 1) / lanes;
        f_.transformed_weight = Halide::Func("transformed_weight");
        f_.transformed_weight(v.channel, in_channel, f_.point_x, f_.point_y, v.group) =
            weight(v.channel % lanes, in_channel, f_.point_x, f_.point_y, v.channel / lanes + channel_tiles * v.group);

        f_.in_channels = Halide::RDom(0, input.dim(2).extent(), "in_channels");
        f_.sum = Halide::Func("sum");
        f_.sum(f_.tile_x, f_.tile_y, v.channel, f_.point_x, f_.point_y, v.group, v.batch) = 0.f;
        f_.sum(f_.tile_x, f_.tile_y, v.channel, f_.point_x, f_.point_y, v.group, v.batch) +=
            f_.transformed_input(f_.tile_x, f_.tile_y, f_.in_channels, f_.point_x, f_.point_y, v.group, v.batch) *
            f_.transformed_weight(v.channel, f_.in_channels, f_.point_x, f_.point_y, v.group);

        f_.restored_down = Halide::Func("restored_down");
        f_.restored_down(f_.tile_x, v.y, f_.point_x, v.channel, v.group, v.batch) =
            transformed(winograd::output_matrix, v.y % m, [&](int i) {
                return f_.sum(f_.tile_x, v.y / m, v.channel, f_.point_x, i, v.group, v.batch);
            });
        // Channels beyond the last have weights (zero) but no bias.
        const Expr real_channel = min(v.channel, bias.dim(0).extent() - 1);
        f_.pixels(v.x, v.y, v.channel, v.group, v.batch) =
            transformed(winograd::output_matrix, v.x % m, [&](int i) {
                return f_.restored_down(v.x / m, v.y, i, v.channel, v.group, v.batch);
            }) + select(has_bias != 0, bias(real_channel, v.group), 0.f);
        f_.activated(v.x, v.y, v.channel, v.group, v.batch) =
            activate(f_.pixels(v.x, v.y, v.channel, v.group, v.batch), activation, slope);
        output(v.x, v.y, v.channel, v.group, v.batch) = f_.activated(v.x, v.y, v.channel, v.group, v.batch);
        f_.output = output;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(f_, this->target);
    }

    void describe(KernelDescription &description) override {
        description.set("operation", "Operation::forward");
        describe_target(this->target, description);
        problem.describe(description);
        description.set("weight_layout", enumerator(WeightLayout::winograd));
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        schedule_params.describe(description);
    }

  private:
    WinogradFuncs f_;

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        declare_tensors();
        weight.dim(0).set_extent(schedule_params.weight_channel_multiple());
        weight.dim(2).set_extent(winograd::points);
        weight.dim(3).set_extent(winograd::points);
        Halide::Expr stride = 1;
        for (int d = 0; d < 5; d++) {
            weight.dim(d).set_stride(stride);
            stride *= weight.dim(d).extent();
        }
    }
};

}  // namespace conv_transpose

#endif
