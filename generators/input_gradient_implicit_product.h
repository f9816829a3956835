// The generator of the input gradient as an implicit matrix product on tensor cores, every attribute a
// run-time value: a strided convolution of the output gradient. Rows are input channels, columns positions of
// the input; the sum runs over kernel positions and chunks of output channels. Template argument: the
// schedule, as of ForwardImplicitProduct.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_IMPLICIT_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_IMPLICIT_PRODUCT_H

#include "Halide.h"
#include "algorithm/implicit_product.h"
#include "generators/input_gradient_arguments.h"
#include "generators/implicit_product_description.h"
#include "schedules/kernel_description.h"
#include "generators/lowering_passes.h"
#include "algorithm/strided_axis.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientImplicitProduct : public Halide::Generator<InputGradientImplicitProduct<Schedule>>,
      public InputGradientArguments,
      public DescribedGenerator {
  public:
    /// 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    Halide::GeneratorParam<int> parts{"parts", 1};
    /// Of a group, demanded of a problem: fewer would leave most of a tile unused.
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", 16}, min_out_channels{"min_out_channels", 8};
    Schedule schedule_params;

    void generate() {
        using namespace Halide;
        f_.parts = parts;
        const StridedAxis x_axis{kernel_w, stride_w, dilation_w}, y_axis{kernel_h, stride_h, dilation_h};
        const Expr width = input_gradient.dim(0).extent(), height = input_gradient.dim(1).extent();
        const int chunk = schedule_params.chunk();
        const Expr chunks = (output_gradient.dim(2).extent() + chunk - 1) / chunk;
        const ImplicitProductVars &v = f_.v;
        const TapOfChunk tap = tap_of_chunk(v.step, x_axis.kernel, y_axis.kernel, chunks);

        const CellOfImage at = cell_of_image(v.position, width, height);
        const Expr pixel = pixel_or_zero(output_gradient, x_axis.output(at.x, tap.x), y_axis.output(at.y, tap.y),
                                         tap.chunk * chunk + v.k4 * 4 + v.value, v.group, at.image,
                                         problem.out_channel_multiple % chunk == 0);
        f_.pixels = Func("pixels");
        f_.pixels(v.value, v.position, v.k4, v.part, v.step, v.phase_x, v.phase_y, v.group) =
            tf32_part(pixel, v.part, this->target);
        const PackedWeights packed{x_axis.kernel, y_axis.kernel, input_gradient.dim(2).extent(), chunks,
                                   chunk / 4,     parts,         schedule_params.channel_sets};
        f_.weights = Func("staged_weights");
        f_.weights(v.value, v.row, v.k4, v.part, v.step, v.phase_x, v.phase_y, v.group) =
            weight(packed.index(v, tap.x, tap.y, tap.chunk), 0, 0, 0, 0);

        define_sum(f_, chunk, x_axis.kernel * y_axis.kernel * chunks);
        define_output(f_, input_gradient, schedule_params.positions(), 1, 1, width, height,
                      [](const Expr &sum) { return sum; });
    }

    void schedule() {
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) input_gradient.dim(d).set_min(0), weight.dim(d).set_min(0);
        // Rows of 16 bytes, at multiples of 16 bytes: they are copied asynchronously.
        weight.set_host_alignment(16);
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        describe_implicit_product(parts, schedule_params.chunk(), description);
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        schedule_params.describe(description, f_);
    }

  private:
    ImplicitProductFuncs f_;
};

}  // namespace conv_transpose

#endif
