// Generators of depthwise problems with channels innermost, for the CPU (algorithm/channel_rows.h), every attribute a run-time
// value, of any rank.
#include "Halide.h"
#include "algorithm/channel_rows.h"
#include "algorithm/channel_rows_weights.h"
#include "algorithm/epilogue.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/forward_arguments.h"
#include "schedules/cpu_channel_rows.h"

namespace conv_transpose {

namespace {

/// What both have. Arguments are those of forward.h and of input_gradient.h.
struct ChannelRowsGenerator : AnyTensors {
    CpuChannelRows schedule_params;

  protected:
    using Tensor = Halide::GeneratorInput<Halide::Buffer<>>;
    channel_rows::Funcs funcs_;
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *result_ = nullptr;

    template <class Generator, class Attributes>
    void configure(Generator &generator, Tensor &picture, Tensor &weight, const Attributes &attributes, const char *result) {
        set_format(picture);
        weight.set_type(Halide::Float(32)), weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(generator, rank, attributes);
        result_ = generator.template add_output<Halide::Buffer<>>(result, halide_type(storage), dimensions);
    }

    template <class Initial, class Finished>
    void define(const std::vector<channel_rows::Axis> &axes, const Tensor &picture, const Tensor &weight,
                const Halide::Target &target, const Initial &initial, const Finished &finished) {
        schedule_params.set_sizes(funcs_, target.natural_vector_size<float>());
        channel_rows::define(
            funcs_, axes, picture, weight, *result_, initial,
            [&](const Halide::Expr &element) { return loaded(element, target); },
            [&](const Halide::Expr &sum) { return stored(finished(sum), storage, target); });
    }

    void declare(Tensor &picture, Tensor &weight) {
        for (int d = rank; d < dimensions; d++) picture.dim(d).set_min(0);
        for (int d = 0; d < dimensions; d++) result_->dim(d).set_min(0), weight.dim(d).set_min(0);
        picture.dim(0).set_stride({}), result_->dim(0).set_stride({});
        picture.dim(rank + 1).set_stride(1), result_->dim(rank + 1).set_stride(1);
        schedule_params.apply(funcs_);
    }

    void describe_rows(Family family, const Halide::Target &target, KernelDescription &description) {
        problem.describe(family, target, description);
        description.set("rank", rank);
        for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(storage, true));
        description.set("weight_layout", "WeightLayout::channels_innermost");
        description.set("weight_channel_multiple", funcs_.panels.narrow);
        description.set("packs_groups", "true");
        description.set("min_groups", funcs_.panels.narrow);
    }
};

class ForwardChannelRows : public Halide::Generator<ForwardChannelRows>,
      public ChannelRowsGenerator,
      public ForwardInputs<Halide::Buffer<>> {
  public:
    void configure() { ChannelRowsGenerator::configure(*this, input, weight, gather_attributes, "output"); }

    void generate() {
        std::vector<channel_rows::Axis> axes;
        for (int d = 0; d < rank; d++)
            axes.push_back(channel_rows::Axis::forward(gather_arguments(attributes_, d), input.dim(d), result_->dim(d).extent()));
        funcs_.is_plain = activation == static_cast<int>(EpilogueKind::piecewise_linear) && slope == 1.f;
        define(axes, input, weight, get_target(), [&](const Halide::Expr &group) { return bias_of(0, group); },
               [&](const Halide::Expr &sum) { return branch(funcs_.is_plain, sum, activate(sum, activation, slope)); });
    }

    void schedule() {
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        bias.dim(1).set_stride(1);
        declare(input, weight);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<CpuChannelRows>(Family::forward); }
    void describe(KernelDescription &description) override { describe_rows(Family::forward, get_target(), description); }
};

class InputGradientChannelRows : public Halide::Generator<InputGradientChannelRows>, public ChannelRowsGenerator {
  public:
    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() { ChannelRowsGenerator::configure(*this, output_gradient, weight, strided_attributes, "input_gradient"); }

    void generate() {
        std::vector<channel_rows::Axis> axes;
        for (int d = 0; d < rank; d++)
            axes.push_back(
                channel_rows::Axis::gradient(strided_arguments(attributes_, d), output_gradient.dim(d), result_->dim(d).extent()));
        define(axes, output_gradient, weight, get_target(), [](const Halide::Expr &) { return 0.f; },
               [](const Halide::Expr &sum) { return sum; });
    }

    void schedule() { declare(output_gradient, weight); }

    std::optional<GeneratorFacts> facts() const override { return facts_of<CpuChannelRows>(Family::input_gradient); }
    void describe(KernelDescription &description) override { describe_rows(Family::input_gradient, get_target(), description); }
};

/// Arguments are those of weight_gradient_flat_gemm.h, of which the sizes of tiles are not used: a part has a share of all rows.
class WeightGradientChannelRows : public Halide::Generator<WeightGradientChannelRows>, public AnyTensors {
  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    CpuWeightGradientChannelRows schedule_params;

    /// (x, y, z, group, channel, image); the output gradient's coordinates begin at the padding.
    Input<Halide::Buffer<>> input{"input"}, output_gradient{"output_gradient"};

    void configure() {
        set_format(input);
        set_format(output_gradient);
        attributes_ = add_axis_inputs(*this, rank, strided_attributes);
        for (const char *name :
             {"segment_cells", "tile_rows", "part_segments", "part_tiles", "block_inputs", "block_outputs", "tap_entries",
              "channel_entries"})
            add_input<int>(name);
        partial_ = add_output<Halide::Buffer<float>>("partial", 4);  // tap, group, channel, part
    }

    void generate() {
        const Halide::Target target = get_target();
        schedule_params.set_sizes(funcs_, target.natural_vector_size<float>());
        std::vector<StridedAxis> axes;
        for (int d = 0; d < rank; d++) axes.push_back(strided_arguments(attributes_, d));
        channel_rows::WeightSums(funcs_, axes, input, output_gradient)
            .define(input, output_gradient, *partial_, [&](const Halide::Expr &element) { return loaded(element, target); });
    }

    void schedule() {
        for (auto *picture : {&input, &output_gradient}) {
            for (int d = picture == &input ? 0 : rank; d < dimensions; d++) picture->dim(d).set_min(0);
            picture->dim(0).set_stride({});
            picture->dim(rank).set_stride(1);
        }
        for (int d = 0; d < 4; d++) partial_->dim(d).set_min(0);
        schedule_params.apply(funcs_);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<CpuWeightGradientChannelRows>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, get_target(), description);
        description.set_family(Family::flat_weight_gradient);
        description.set("rank", rank);
        for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(storage, true));
        description.set("any_result", "true");
        description.set("packs_groups", "true");
        description.set("min_groups", funcs_.panels.narrow);
        description.set("tile_in_channels", funcs_.panels.narrow);
    }

  private:
    channel_rows::WeightFuncs funcs_;
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<float>> *partial_ = nullptr;
};

}  // namespace

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardChannelRows, forward_cpu_channel_rows)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientChannelRows, input_gradient_cpu_channel_rows)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientChannelRows, weight_gradient_cpu_channel_rows)
