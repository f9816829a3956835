// The generator of the forward operation as an implicit matrix product, every attribute a run-time value: see
// cuda_core_product.h. Arguments as in forward.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_CUDA_CORE_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_CUDA_CORE_PRODUCT_H

#include "Halide.h"
#include "algorithm/cuda_core_product.h"
#include "algorithm/epilogue.h"
#include "generators/forward_arguments.h"
#include "schedules/kernel_description.h"
#include "generators/lowering_passes.h"
#include "algorithm/weight_layouts.h"
#include "algorithm/cuda_core_product_funcs.h"

namespace conv_transpose {

template <class Schedule>
class ForwardCoreProduct : public Halide::Generator<ForwardCoreProduct<Schedule>>,
      public ForwardArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;

    void generate() {
        using namespace cuda_core_product;
        CudaCoreProductFuncs &f = funcs_;
        const GatherAxis x_axis = this->x_axis(), y_axis = this->y_axis();
        const Columns columns{rounded_up(output.dim(0).extent(), stride_w), rounded_up(output.dim(1).extent(), stride_h),
                              output.dim(4).extent()};
        const Expr phases_x = phases(stride_w, output.dim(0));
        const GatherAxis::Phase phase_x = x_axis.run_time_phase(remainder(f.phase, phases_x));
        const GatherAxis::Phase phase_y = y_axis.run_time_phase(quotient(f.phase, phases_x));
        const int chunk = schedule_params.chunk;
        const Steps most{x_axis.taps(), y_axis.taps(), input.dim(2).extent(), chunk};
        const Steps steps{phase_x.taps, phase_y.taps, input.dim(2).extent(), chunk};

        const Steps::Step step = steps[f.step];
        f.pixels(f.column, f.summed, f.step, f.phase, f.group) =
            pixel_or_zero(input, columns.x(f.column) + phase_x.shift - step.tap_x * x_axis.input_step(),
                          columns.y(f.column) + phase_y.shift - step.tap_y * y_axis.input_step(),
                          step.first_channel, f.summed, f.group, columns.picture(f.column));
        f.weights(f.channel, f.summed, f.step, f.phase, f.group) =
            weight_or_zero(weight, f.channel, phase_x.first + step.tap_x * x_axis.tap_step(),
                           phase_y.first + step.tap_y * y_axis.tap_step(), step.first_channel + f.summed, f.group);
        const Expr last_channel = bias.dim(0).extent() - 1;
        const Expr channel = Halide::unsafe_promise_clamped(min(f.channel, last_channel), 0, last_channel);
        f.initial(f.channel, f.group) = select(has_bias != 0, bias(channel, f.group), 0.f);
        define_sum(f, chunk, most.count(), steps.count());
        define_stores(f, output, schedule_params.tile(), columns, stride_w, stride_h,
                      [&](const Expr &sum) { return activate(sum, activation, slope); });
    }

    void schedule() {
        declare_tensors();
        cuda_core_product::declare_packed_weight(weight);
        schedule_params.apply(funcs_, this->target);
        add_cuda_core_passes(this->get_pipeline(), schedule_params, {.single_floats = true, .load_offsets = true});
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        description.set("weight_layout", enumerator(WeightLayout::channels_innermost));
        schedule_params.describe(description);
    }

  private:
    CudaCoreProductFuncs funcs_;
};

}  // namespace conv_transpose

#endif
