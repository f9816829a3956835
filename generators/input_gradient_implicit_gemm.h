// The generator of the input gradient as an implicit matrix product, every attribute a run-time value
// (algorithm/implicit_gemm.h): a strided convolution of the output gradient. Arguments as in input_gradient.h, of any
// rank. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_IMPLICIT_GEMM_H

#include "Halide.h"
#include "algorithm/machine_facts.h"
#include "compiler/passes/pair_products.h"
#include "generators/axis_inputs.h"
#include "generators/implicit_gemm_generator.h"
#include "generators/operand_formats.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientImplicitGemm : public Halide::Generator<InputGradientImplicitGemm<Schedule>>,
      public ImplicitGemmGenerator<Schedule> {
  public:
    /// A group must have so many: fewer would leave most of a tile unused.
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", Schedule::least_computed};
    Halide::GeneratorParam<int> min_out_channels{"min_out_channels", Schedule::least_summed};

    /// Kernel positions are channels that are summed over, too; in channels_last of weights as they are given.
    Halide::GeneratorParam<bool> taps_as_channels{"taps_as_channels", false};
    /// Then: so many of them are copied at once (GemmFuncs::given_channels).
    Halide::GeneratorParam<int> given_channels{"given_channels", 8};
    /// Then weights may be read as they are given: small problems are spared a launch that packs them.
    Halide::GeneratorParam<bool> weights_as_given{"weights_as_given", false};

    /// Kernels are as large as their strides, two along the width, of pictures of 16 bits in channels_first that a tensor map
    /// reads (GemmFuncs::in_pairs).
    Halide::GeneratorParam<bool> in_pairs{"in_pairs", false};

    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        this->funcs_.in_pairs = in_pairs;
        this->configure_format();
        const bool of_channels_last = this->funcs_.input_layout == PictureLayout::channels_last;
        if (taps_as_channels && (Schedule::tensor_maps || Schedule::on_tensor_cores != of_channels_last))
            throw std::invalid_argument(
                "taps_as_channels; the rule is CUDA cores, or tensor cores in channels_last without a tensor map");
        if (given_channels != 1 && given_channels != 2 && given_channels != 4 && given_channels != 8)
            throw std::invalid_argument("given_channels is " + std::to_string(given_channels) + "; the rule is 1, 2, 4 or 8");
        if (taps_as_channels && of_channels_last) this->funcs_.given_channels = copied_channels();
        const bool as_it_lies = this->funcs_.position_run > 0;
        if (as_it_lies != in_pairs || (in_pairs && (this->funcs_.format.storage == Storage::f32 || !this->weight_map)))
            throw std::invalid_argument(
                "in_pairs; the rule is input gradients of channels_first by tensor maps, of the weight, too, of 16 bits");
        if (in_pairs) this->funcs_.position_unit = this->funcs_.position_run;
        if (weights_as_given && (!taps_as_channels || Schedule::on_tensor_cores))
            throw std::invalid_argument("weights_as_given is true; the rule is taps_as_channels on CUDA cores");
        if (this->storage != Storage::f32 && !weights_as_given)
            throw std::invalid_argument("storage is given; the rule is weights_as_given");
        this->funcs_.weights_as_given = weights_as_given;
        const int dimensions = this->rank + 3;
        output_gradient.set_type(this->stored_type()), output_gradient.set_dimensions(dimensions);
        weight.set_type(this->weight_type()), weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(*this, this->rank, strided_attributes);
        input_gradient_ = this->template add_output<Halide::Buffer<>>("input_gradient", this->computed_type(), dimensions);
    }

    void generate() {
        using namespace implicit_gemm;
        GemmFuncs &f = this->funcs_;
        std::vector<StridedAxis> axes;
        PerAxis kernel_size;
        for (int d = 0; d < this->rank; d++) {
            axes.push_back(this->one_position ? StridedAxis{1, 1, 1} : strided_arguments(attributes_, d));
            kernel_size.push_back(taps_as_channels ? Expr(1) : axes[d].kernel);
        }
        const Expr cut = this->cuts_steps() ? Expr(output_gradient.dim(this->rank + 1).extent()) : Expr();
        const Expr summed = this->summed_channels(output_gradient);
        const int chunk = this->schedule_params.chunk(f);
        const Geometry g = in_pairs ? pairs_geometry(f, axes, *input_gradient_, summed, chunk)
                                    : strided_geometry(f, axes, *input_gradient_, summed, chunk, taps_as_channels, cut);
        this->define_operands(g, output_gradient, weight, kernel_size, input_gradient_->dim(this->rank).extent(),
                              this->problem.out_channel_multiple, this->target);
        if (in_pairs) define_sum(f, g, 0.f, product_of_words());
        else define_sum(f, g, 0.f);
        define_stores(f, *input_gradient_, this->schedule_params.tile(f), g,
                      [](const Expr &sum, const Expr &, const Expr &) { return sum; },
                      [&](const Expr &value, const StoredElement &at) {
                          return this->boxes().stored(g, *input_gradient_, value, at);
                      });
    }

    void schedule() {
        this->schedule_product(this->get_pipeline(), output_gradient, weight, *input_gradient_, this->target);
    }

    std::optional<GeneratorFacts> facts() const override { return this->facts_of_product(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        this->problem.describe(Family::input_gradient, this->target, description);
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        this->describe_product("output", "input", description);
        if (this->cuts_steps()) description.set("splits_steps", "true");
        if (in_pairs) description.set("reads_pairs", "true");
        if (!taps_as_channels && !in_pairs) return;
        description.set("taps_as_channels", "true");
        // A second pass, which adds parts, would be a launch more.
        if (!Schedule::on_tensor_cores && !weights_as_given)
            description.set("split_target_blocks", machines::H200::multiprocessors * this->schedule_params.blocks);
    }

  private:
    AxisInputs attributes_;

    /// What is copied at once has 4, 8 or 16 bytes.
    int copied_channels() const {
        const int bytes = given_channels * bytes_of(this->funcs_.format.operand());
        if (bytes < 4 || bytes > 16)
            throw std::invalid_argument("given_channels is " + std::to_string(given_channels) + "; the rule is 4, 8 or 16 bytes");
        return given_channels;
    }

    auto product_of_words() const {
        const OperandFormat format = operand_format(this->funcs_.format.storage);
        return [=](const Halide::Expr &picture, const Halide::Expr &weight) { return product_of_pairs({picture, weight, format}); };
    }

    Halide::GeneratorOutput<Halide::Buffer<>> *input_gradient_ = nullptr;
};

}  // namespace conv_transpose

#endif
