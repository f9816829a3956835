// The generator of the forward operation. Template argument: the schedule, a struct in schedules/ with
//   GeneratorParams for its tile sizes,
//   SumIndex sum_index: see gather.h,
//   WeightLayout weight_layout and int weight_channel_multiple() const: how the kernel reads its weights,
//   void apply(ForwardFuncs &, const Target &): loop order, staging and mapping to hardware,
//   int in_channel_chunk() const, if it stages input channels by chunks,
//   void describe(KernelDescription &) const: what it demands of a problem beyond the generator's own parameters.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_H

#include "Halide.h"
#include "compiler/private_accumulators.h"
#include "generators/epilogue.h"
#include "generators/gather.h"
#include "generators/kernel_description.h"
#include "generators/problem_params.h"
#include "schedules/forward_funcs.h"

namespace conv_transpose {

/// Every forward kernel has these arguments, in this order; runtime/src/forward.cpp fills them in. Tensors are
/// (x, y, channel in group, group, batch). The input's x and y begin at -(padding / stride). The attributes are read
/// only by kernels that were compiled without them.
template <class Schedule>
class Forward : public Halide::Generator<Forward<Schedule>>, public DescribedGenerator {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    template <typename T>
    using Output = Halide::GeneratorOutput<T>;
    using Tensor = Halide::Buffer<float>;

  public:
    ProblemParams problem;
    Schedule schedule_params;

    Input<Tensor> input{"input", 5};
    Input<Tensor> weight{"weight", 5};
    Input<Tensor> bias{"bias", 2};  // channel in group, group
    Input<int> has_bias{"has_bias"};
    Input<int> activation{"activation"};
    Input<float> slope{"slope"};
    Input<int> stride_w{"stride_width"}, dilation_w{"dilation_width"}, padding_phase_w{"padding_phase_width"};
    Input<int> gcd_w{"gcd_width"}, inverse_w{"inverse_width"}, kernel_w{"kernel_width"};
    Input<int> stride_h{"stride_height"}, dilation_h{"dilation_height"}, padding_phase_h{"padding_phase_height"};
    Input<int> gcd_h{"gcd_height"}, inverse_h{"inverse_height"}, kernel_h{"kernel_height"};
    Output<Tensor> output{"output", 5};

    void generate() {
        const GatherVars &v = funcs_.v;
        funcs_.in_channels = problem.in_channels;
        funcs_.out_channels = problem.out_channels;
        if (problem.run_time_attributes()) {
            funcs_.x_axis = GatherAxis::run_time(kernel_w, stride_w, dilation_w, padding_phase_w, gcd_w, inverse_w);
            funcs_.y_axis = GatherAxis::run_time(kernel_h, stride_h, dilation_h, padding_phase_h, gcd_h, inverse_h);
        } else {
            funcs_.x_axis = problem.x_axis();
            funcs_.y_axis = problem.y_axis();
        }

        const Halide::Expr in_channels = problem.in_channels ? Halide::Expr(problem.in_channels) : input.dim(2).extent();
        Halide::Var kx{"kx"}, ky{"ky"}, in_channel{"in_channel"};
        const Halide::Expr real_in_channel = chunked() ? min(in_channel, in_channels - 1) : Halide::Expr(in_channel);

        funcs_.input = Halide::Func("input_channels");
        funcs_.input(v.x, v.y, in_channel, v.group, v.batch) = input(v.x, v.y, real_in_channel, v.group, v.batch);
        const Halide::Expr nowhere;
        funcs_.padded_input = Halide::BoundaryConditions::constant_exterior(
            funcs_.input, 0.f,
            {{input.dim(0).min(), input.dim(0).extent()}, {input.dim(1).min(), input.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});

        // In the layout that the schedule asks for.
        funcs_.weight = Halide::Func("weight_channels");
        funcs_.tap_weight = Halide::Func("tap_weight");
        if (packed()) {
            funcs_.weight(v.channel, kx, ky, in_channel, v.group) = weight(v.channel, kx, ky, real_in_channel, v.group);
            funcs_.tap_weight(kx, ky, v.channel, in_channel, v.group) = funcs_.weight(v.channel, kx, ky, in_channel, v.group);
        } else {
            funcs_.weight(kx, ky, v.channel, in_channel, v.group) = weight(kx, ky, v.channel, real_in_channel, v.group);
            funcs_.tap_weight(kx, ky, v.channel, in_channel, v.group) = funcs_.weight(kx, ky, v.channel, in_channel, v.group);
        }

        const Gather g = gather(v, funcs_.x_axis, funcs_.y_axis, in_channels, funcs_.padded_input, funcs_.tap_weight,
                                select(has_bias != 0, bias(real_channel(), v.group), 0.f), Schedule::sum_index);
        funcs_.sum = g.sum;
        funcs_.taps = g.taps;
        funcs_.phase_weight = g.phase_weight;

        const Halide::Expr sx = funcs_.x_axis.stride(), sy = funcs_.y_axis.stride();
        const Halide::Expr sum =
            Schedule::sum_index == SumIndex::positions
                ? g.sum(v.x, v.y, v.channel, v.group, v.batch)
                : g.sum(v.x / sx, v.y / sy, v.x % sx, v.y % sy, v.channel, v.group, v.batch);
        output(v.x, v.y, v.channel, v.group, v.batch) = activate(sum, activation, slope);
        funcs_.output = output;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(funcs_, this->target);
        if (Halide::Target(this->target).has_gpu_feature()) this->get_pipeline().add_custom_lowering_pass(new PrivateAccumulators);
    }

    void describe(KernelDescription &description) override {
        description.set("operation", "Operation::forward");
        describe_target(this->target, description);
        problem.describe(description);
        description.set("weight_layout", packed() ? "WeightLayout::channels_innermost" : "WeightLayout::as_given");
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        schedule_params.describe(description);
    }

  private:
    ForwardFuncs funcs_;

    // Whether the schedule stages a number of input channels at a time, and so may reach beyond the last.
    bool chunked() const {
        if constexpr (requires { schedule_params.in_channel_chunk(); })
            return problem.in_channels == 0 || problem.in_channels % schedule_params.in_channel_chunk() != 0;
        return false;
    }

    static bool packed() { return Schedule::weight_layout == WeightLayout::channels_innermost; }

    // Kernels with packed weights compute channels beyond the last, which have a weight (zero) but no bias.
    Halide::Expr real_channel() const {
        if (!packed() || problem.out_channels) return funcs_.v.channel;
        return min(funcs_.v.channel, bias.dim(0).extent() - 1);
    }

    // Every vector of packed channels begins at a multiple of their number, so vector loads are aligned.
    void declare_weight_alignment() {
        const int multiple = schedule_params.weight_channel_multiple();
        weight.set_host_alignment(multiple % 4 == 0 ? 16 : 4);
        for (int d = 1; d < 5; d++) weight.dim(d).set_stride(weight.dim(d).stride() / multiple * multiple);
    }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        for (int d = 2; d < 5; d++) input.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) output.dim(d).set_min(0), weight.dim(d).set_min(0);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        if (problem.in_channels) {
            input.dim(2).set_extent(problem.in_channels);
            weight.dim(3).set_extent(problem.in_channels);
        }
        if (problem.out_channels) output.dim(2).set_extent(problem.out_channels);
        if (packed()) declare_weight_alignment();
        if (!problem.run_time_attributes()) {
            weight.dim(packed() ? 1 : 0).set_extent(problem.kernel_w);
            weight.dim(packed() ? 2 : 1).set_extent(problem.kernel_h);
        }
    }
};

}  // namespace conv_transpose

#endif
