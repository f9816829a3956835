// The generator of the input gradient by Winograd's algorithm on CPUs (algorithm/flat_winograd.h), for kernels of so many strides:
// stride and kernel size are run-time values. Arguments as in input_gradient_flat_gemm.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_WINOGRAD_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_WINOGRAD_H

#include "Halide.h"
#include "algorithm/flat_winograd.h"
#include "compiler/passes/strided_loads.h"
#include "generators/axis_inputs.h"
#include "generators/flat_gemm_generator.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientWinograd : public Halide::Generator<InputGradientWinograd<Schedule>>, public FlatGemmGenerator<Schedule> {
  public:
    /// A kernel has more than taps - 1 strides, and no more than taps; an axis of one tap is not transformed.
    Halide::GeneratorParam<int> taps_h{"taps_h", 2}, taps_w{"taps_w", 2};

    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        FlatGemmGenerator<Schedule>::configure(*this, this->get_target(), output_gradient, weight, strided_attributes,
                                               "input_gradient");
    }

    void generate() {
        using namespace flat_gemm;
        f_.size = this->schedule_params.sizes(this->target);
        f_.across = mirrored(winograd::of_taps(taps_w)), f_.down = mirrored(winograd::of_taps(taps_h));
        const int rank = this->rank;
        auto &result = *this->result_;
        std::vector<WinogradTaps> taps;
        std::vector<FlatAxis> axes;
        for (int d = 0; d < rank; d++) {
            taps.push_back({this->attribute(d, 0), this->attribute(d, 1)});
            axes.push_back(winograd_gradient_axis(d == 0 ? f_.across : f_.down, taps[d].kernel, taps[d].stride,
                                                  output_gradient.dim(d).min(), output_gradient.dim(d).extent(),
                                                  result.dim(d).extent()));
        }
        const Places places(axes, result.dim(rank + 2).extent(), result.dim(0).extent(), this->tile_shape(), f_.size);
        define_staged(f_, places, output_gradient, this->load(this->get_target()));
        define_transforms(f_, places);
        define_products(f_, places, weight, taps, output_gradient.dim(rank).extent(), result.dim(rank).extent(),
                        [](const Expr &, const Expr &) { return 0.f; });
        define_stores(f_, result, places, [](const Expr &sum) { return sum; });
    }

    void schedule() {
        this->funcs_.size = f_.size;
        this->declare_shapes(output_gradient, weight);
        this->schedule_params.apply(f_);
        this->get_pipeline().add_custom_lowering_pass(new StridedLoads);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        this->describe_product(description, Family::input_gradient, Family::flat_input_gradient, this->target);
        this->schedule_params.describe(f_, description, false);
    }

  private:
    WinogradFuncs f_;
};

}  // namespace conv_transpose

#endif
