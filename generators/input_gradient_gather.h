// The generator of the input gradient for tensors of any rank, format and layout (any_tensors.h), every attribute a
// run-time value: a strided convolution of the output gradient. Arguments as in input_gradient.h. Template argument: a
// schedule as forward_gather.h has it.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_GATHER_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_GATHER_H

#include "Halide.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/strided_axis.h"
#include "compiler/passes/device_assertions.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/gather_weight.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientGather : public Halide::Generator<InputGradientGather<Schedule>>, public AnyTensors {
  public:
    Schedule schedule_params;

    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        set_format(output_gradient);
        packed_weight().set_type(weight);
        weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(*this, rank, strided_attributes);
        input_gradient_ = this->template add_output<Halide::Buffer<>>("input_gradient", halide_type(storage), dimensions);
    }

    void generate() {
        using namespace Halide;
        AnyGatherFuncs &f = funcs_;
        const bool on_gpu = this->get_target().has_gpu_feature();
        const GatherTile tile = schedule_params.tile();
        const Place at = Tiles<Written>{*input_gradient_, tile, on_gpu}.place(f.channel, f.group, f.thread, f.block, f.image);
        f.taps = RDom({{0, output_gradient.dim(3).extent()}, {0, axis(0).kernel}, {0, axis(1).kernel}, {0, axis(2).kernel}},
                      "taps");
        const RDom &r = f.taps;
        std::vector<Expr> is_seen;
        const auto seen = [&](int d) {
            const Expr output = axis(d).output(at.axes[d], r[d + 1]);
            is_seen.push_back(inside(output, output_gradient.dim(d)));
            return known(output, output_gradient.dim(d));
        };
        const Expr ox = seen(0), oy = seen(1), oz = seen(2);
        only_where(f.taps, is_seen);
        // Tiles may reach beyond the last channel and group; packed weights have whole tiles of channels.
        const auto extent = [&](int d) { return input_gradient_->dim(d).extent(); };
        const Expr group = known(min(at.group, extent(4) - 1), extent(4)), image = known(at.image, extent(5));
        const Expr channel = packed_weight().packed() ? known(at.channel, weight.dim(0).extent())
                                                      : known(min(at.channel, extent(3) - 1), extent(3));
        f.sum(f.channel, f.group, f.thread, f.block, f.image) = 0.f;
        f.sum(f.channel, f.group, f.thread, f.block, f.image) +=
            loaded(output_gradient(ox, oy, oz, r[0], group, image), this->get_target()) * weight_at({r[1], r[2], r[3]}, channel, r[0], group);
        store_tiles(f, *input_gradient_, tile, this->get_target(), [](const Expr &sum) { return sum; });
    }

    void schedule() {
        declare_strides(output_gradient, false);
        declare_strides(*input_gradient_, true);
        packed_weight().declare(weight);
        if (problem.out_channels) output_gradient.dim(3).set_extent(problem.out_channels);
        if (problem.in_channels) input_gradient_->dim(3).set_extent(problem.in_channels);
        schedule_params.declare_layout(output_gradient, *input_gradient_);
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        describe_tensors({"input", "output"}, description);
        packed_weight().describe(description);
        schedule_params.describe(description);
    }

  private:
    AnyGatherFuncs funcs_;
    AxisInputs attributes_;
    using Written = Halide::GeneratorOutput<Halide::Buffer<>>;
    Written *input_gradient_ = nullptr;

    GatherWeight packed_weight() const { return {schedule_params.weight_channel_multiple(), storage, this->get_target()}; }

    // As given, the channel of the output comes first, which is summed over.
    Halide::Expr weight_at(const std::vector<Halide::Expr> &tap, const Halide::Expr &channel, const Halide::Expr &summed,
                           const Halide::Expr &group) const {
        const GatherWeight w = packed_weight();
        return w.packed() ? w.at(weight, tap, channel, summed, group) : w.at(weight, tap, summed, channel, group);
    }

    StridedAxis axis(int d) const {
        const auto a = [&](int i) -> Halide::Expr { return *attributes_[3 * d + i]; };
        return {a(0), a(1), a(2)};
    }
};

}  // namespace conv_transpose

#endif
