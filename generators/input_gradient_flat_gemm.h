// The generator of the input gradient as a flat matrix product, every attribute a run-time value (algorithm/flat_gemm.h): a
// strided convolution of the output gradient. Arguments as in input_gradient.h and the shape of a tile, of any rank. Template
// argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_FLAT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_FLAT_GEMM_H

#include "Halide.h"
#include "compiler/passes/strided_loads.h"
#include "generators/axis_inputs.h"
#include "generators/flat_gemm_generator.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientFlatGemm : public Halide::Generator<InputGradientFlatGemm<Schedule>>, public FlatGemmGenerator<Schedule> {
  public:
    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        FlatGemmGenerator<Schedule>::configure(*this, this->get_target(), output_gradient, weight, strided_attributes,
                                               "input_gradient");
    }

    void generate() {
        using namespace flat_gemm;
        FlatGemmFuncs &f = this->funcs_;
        f.size = this->schedule_params.sizes(this->target);
        f.size.joined_terms |= !f.size.depthwise && !f.size.channels_in_vectors;
        const int rank = this->rank;
        auto &result = *this->result_;
        std::vector<FlatAxis> axes;
        PerAxis kernel;
        for (int d = 0; d < rank; d++) {
            const auto a = [&](int i) { return this->attribute(d, i); };
            axes.push_back(strided_axis(a(0), a(1), a(2), output_gradient.dim(d).min(), output_gradient.dim(d).extent(),
                                        result.dim(d).extent(), d == 0 && f.size.channels_in_vectors));
            kernel.push_back(a(0));
        }
        const Expr summed = f.size.depthwise ? Expr(1) : output_gradient.dim(rank).extent(),
                   channels = result.dim(rank).extent();
        const Places places(axes, result.dim(rank + 2).extent(), result.dim(0).extent(), this->tile_shape(), f.size);
        Tap tap{.shift = {}, .plane = {}, .kernel = digits(f.v.tap, kernel, divide_plainly)};
        tap.kernel.pop_back();
        for (int d = 0; d < rank; d++) add_strided(tap, axes[d], this->attribute(d, 1), this->attribute(d, 2));
        define_taps(f, places, tap, product(kernel));
        if (f.size.only_cells) define_cells(f, places);
        define_staged(f, places, output_gradient, this->load(this->get_target()));
        Sum(f, places, weight, product(kernel), summed, channels).define([](const Expr &, const Expr &) { return 0.f; });
        define_stores(f, result, places, [&](const Expr &sum) { return this->rounded(sum, this->get_target()); });
    }

    void schedule() {
        this->declare_shapes(output_gradient, weight);
        this->schedule_params.apply(this->funcs_, this->target);
        this->get_pipeline().add_custom_lowering_pass(new StridedLoads);
        this->add_passes(*this, this->target);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient, Ranks::parameter); }

    void search_space(SearchSpace &space) const override {
        if constexpr (!Schedule::is_depthwise) this->search_product(space, this->problem.in_channels, this->target, true);
    }

    void describe(KernelDescription &description) override {
        this->describe_product(description, Family::input_gradient, Family::flat_input_gradient, this->target);
    }
};

}  // namespace conv_transpose

#endif
