// The generator of the input gradient: a strided convolution of the output gradient,
//     input_gradient[i] = sum over k and output channels of output_gradient[i * stride + k * dilation - padding] * weight[k].
// Template argument: the schedule, a struct in schedules/ with the same members as one of the forward operation
// (generators/forward.h), whose apply() takes InputGradientFuncs, and
//   int out_channel_chunk() const, if it stages output channels in chunks.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_H

#include "Halide.h"
#include "algorithm/input_gradient_funcs.h"
#include "algorithm/weight_layouts.h"
#include "generators/gradient_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class InputGradient : public Halide::Generator<InputGradient<Schedule>>,
      public InputGradientArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;

    void generate() {
        InputGradientFuncs &f = funcs_;
        static_cast<GradientFacts &>(f) = gradient_facts();

        pad_output_gradient();
        define_weight();

        f.taps = Halide::RDom({{0, f.x_axis.kernel}, {0, f.y_axis.kernel}, {0, channels()}}, "taps");
        const Halide::RDom &r = f.taps;
        f.sum = Halide::Func("sum");
        f.sum(f.x, f.y, f.channel, f.group, f.batch) = 0.f;
        const Halide::Expr seen =
            by_rows()
                ? f.tap_row(f.x, r.x, f.y_axis.output(f.y, r.y), r.z, f.group, f.batch)
                : f.phases(f.x_axis.cell(f.x, r.x), f.x_axis.live_phase(r.x), f.y_axis.cell(f.y, r.y),
                           f.y_axis.live_phase(r.y), r.z, f.group, f.batch);
        f.sum(f.x, f.y, f.channel, f.group, f.batch) += seen * f.tap_weight(r.x, r.y, r.z, f.channel, f.group);

        input_gradient(f.x, f.y, f.channel, f.group, f.batch) = f.sum(f.x, f.y, f.channel, f.group, f.batch);
        f.input_gradient = input_gradient;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            add_cuda_core_passes(this->get_pipeline(), schedule_params,
                                 {.separate_registers = true, .load_offsets = true});
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        description.set("weight_layout", enumerator(layout));
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        schedule_params.describe(description);
    }

    void search_space(SearchSpace &space) const override { search_schedule(schedule_params, space); }

  private:
    InputGradientFuncs funcs_;

    // Whether taps see rows. Phases are for GPUs, whose schedules stage them where strides are constants.
    bool by_rows() const { return problem.run_time_attributes() || !this->get_target().has_gpu_feature(); }

    // Whether the schedule stages output channels in chunks that the last may not fill.
    bool chunked() const {
        if constexpr (requires { schedule_params.out_channel_chunk(); })
            return (problem.out_channels ? int(problem.out_channels) : int(problem.out_channel_multiple)) %
                       schedule_params.out_channel_chunk() != 0;
        return false;
    }

    Halide::Expr channels() const {
        const int multiple = problem.out_channel_multiple;
        return funcs_.out_channels ? Halide::Expr(funcs_.out_channels)
                                   : output_gradient.dim(2).extent() / multiple * multiple;
    }
    // A schedule that stages several output channels at a time may reach beyond the last.
    Halide::Expr inside(const Halide::Expr &channel) const {
        return chunked() ? min(channel, channels() - 1) : channel;
    }

    void pad_output_gradient() {
        InputGradientFuncs &f = funcs_;
        f.output_gradient = Halide::Func("output_gradient_channels");
        f.output_gradient(f.x, f.y, f.out_channel, f.group, f.batch) =
            output_gradient(f.x, f.y, inside(f.out_channel), f.group, f.batch);
        const Halide::Expr nowhere;
        f.padded_output_gradient = Halide::BoundaryConditions::constant_exterior(
            f.output_gradient, 0.f,
            {{output_gradient.dim(0).min(), output_gradient.dim(0).extent()},
             {output_gradient.dim(1).min(), output_gradient.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});
        f.tap_row = Halide::Func("tap_row");
        f.tap_row(f.x, f.kx, f.y, f.out_channel, f.group, f.batch) =
            f.padded_output_gradient(f.x_axis.output(f.x, f.kx), f.y, f.out_channel, f.group, f.batch);
        if (by_rows()) return;
        f.phases = Halide::Func("phases");
        f.phases(f.cell_x, f.phase_x, f.cell_y, f.phase_y, f.out_channel, f.group, f.batch) =
            f.padded_output_gradient(f.x_axis.position(f.cell_x, f.phase_x), f.y_axis.position(f.cell_y, f.phase_y),
                                     f.out_channel, f.group, f.batch);
    }

    void define_weight() {
        InputGradientFuncs &f = funcs_;
        const Halide::Var ky{"ky"};
        f.weight = Halide::Func("weight_channels");
        f.tap_weight = Halide::Func("tap_weight");
        std::vector<Halide::Expr> at{f.kx, ky, f.out_channel, f.channel, f.group};
        if (packed()) {
            f.weight(f.channel, f.kx, ky, f.out_channel, f.group) =
                weight(f.channel, f.kx, ky, inside(f.out_channel), f.group);
            at = {f.channel, f.kx, ky, f.out_channel, f.group};
        } else {
            f.weight(f.kx, ky, f.out_channel, f.channel, f.group) =
                weight(f.kx, ky, inside(f.out_channel), f.channel, f.group);
        }
        f.tap_weight(f.kx, ky, f.out_channel, f.channel, f.group) = f.weight(at);
    }

    static constexpr WeightLayout layout = Schedule::weight_layout;
    static constexpr bool packed() { return layout != WeightLayout::as_given; }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) input_gradient.dim(d).set_min(0), weight.dim(d).set_min(0);
        if (problem.out_channels) {
            output_gradient.dim(2).set_extent(problem.out_channels);
            weight.dim(packed() ? 3 : 2).set_extent(problem.out_channels);
        }
        if (problem.in_channels) input_gradient.dim(2).set_extent(problem.in_channels);
        if (packed() && schedule_params.weight_channel_multiple() % 4 == 0) {
            // Rows of 16 bytes, at multiples of 16 bytes: they can be copied asynchronously.
            weight.set_host_alignment(16);
            for (int d = 1; d < 5; d++) weight.dim(d).set_stride(weight.dim(d).stride() / 4 * 4);
        }
        if (!problem.run_time_attributes()) {
            weight.dim(packed() ? 1 : 0).set_extent(problem.kernel_w);
            weight.dim(packed() ? 2 : 1).set_extent(problem.kernel_h);
        }
    }
};

}  // namespace conv_transpose

#endif
