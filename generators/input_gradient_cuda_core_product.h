// The generator of the input gradient as an implicit matrix product, every attribute a run-time value: see
// cuda_core_product.h. A strided convolution: every tap is live everywhere, and there is one phase. Arguments as in
// input_gradient.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_CUDA_CORE_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_CUDA_CORE_PRODUCT_H

#include "Halide.h"
#include "algorithm/cuda_core_product.h"
#include "generators/input_gradient_arguments.h"
#include "schedules/kernel_description.h"
#include "generators/lowering_passes.h"
#include "algorithm/weight_layouts.h"
#include "algorithm/cuda_core_product_funcs.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientCoreProduct : public Halide::Generator<InputGradientCoreProduct<Schedule>>,
      public InputGradientArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;

    void generate() {
        using namespace cuda_core_product;
        CudaCoreProductFuncs &f = funcs_;
        const Columns columns{input_gradient.dim(0).extent(), input_gradient.dim(1).extent(),
                              input_gradient.dim(4).extent()};
        const int chunk = schedule_params.chunk;
        const Steps steps{kernel_w, kernel_h, output_gradient.dim(2).extent(), chunk};
        const StridedAxis x_axis{kernel_w, stride_w, dilation_w}, y_axis{kernel_h, stride_h, dilation_h};

        const Steps::Step step = steps[f.step];
        f.pixels(f.column, f.summed, f.step, f.phase, f.group) =
            pixel_or_zero(output_gradient, x_axis.output(columns.x(f.column), step.tap_x),
                          y_axis.output(columns.y(f.column), step.tap_y), step.first_channel, f.summed, f.group,
                          columns.picture(f.column));
        f.weights(f.channel, f.summed, f.step, f.phase, f.group) =
            weight_or_zero(weight, f.channel, step.tap_x, step.tap_y, step.first_channel + f.summed, f.group);
        f.initial(f.channel, f.group) = 0.f;
        define_sum(f, chunk, steps.count(), steps.count());
        define_stores(f, input_gradient, schedule_params.tile(), columns, 1, 1, [](const Expr &sum) { return sum; });
    }

    void schedule() {
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) input_gradient.dim(d).set_min(0);
        cuda_core_product::declare_packed_weight(weight);
        schedule_params.apply(funcs_, this->target);
        add_cuda_core_passes(this->get_pipeline(), schedule_params, {.single_floats = true, .load_offsets = true});
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        description.set("weight_layout", enumerator(WeightLayout::channels_innermost));
        schedule_params.describe(description);
    }

  private:
    CudaCoreProductFuncs funcs_;
};

}  // namespace conv_transpose

#endif
