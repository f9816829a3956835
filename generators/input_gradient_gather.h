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
        const Target target = this->get_target();
        const GatherTile tile = schedule_params.tile();
        const Tiles<Written> tiles{*input_gradient_, tile, target.has_gpu_feature()};
        const Place at = tiles.place(f.channel, f.group, 0, f.thread, f.block, f.outer);
        f.taps = RDom({{0, output_gradient.dim(3).extent()}, {0, axis(0).kernel}, {0, axis(1).kernel}, {0, axis(2).kernel}},
                      "taps");
        const RDom &r = f.taps;
        // Tiles may reach beyond the last channel, group and image; packed weights have whole tiles of channels.
        const auto extent = [&](int d) { return input_gradient_->dim(d).extent(); };
        const auto within = [&](const Expr &i, int d) { return known(min(i, extent(d) - 1), extent(d)); };
        const Expr group = tile.channels_last ? known(at.group, extent(4)) : within(at.group, 4), image = within(at.image, 5);
        const Expr channel = packed_weight().packed() ? at.channel : within(at.channel, 3);
        define_seen(f, output_gradient, tile, group, image, [&](int d, const Expr &t, const Expr &part) {
            return SeenAxis{axis(d).output(at.axes[d] + part * tiles.part_width(), t), Internal::const_true()};
        });

        f.initial(f.channel, f.group, f.thread, f.block, f.outer) = 0.f;
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.initial(f.channel, f.group, f.thread, f.block, f.outer);
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) +=
            what_is_seen(f, target) * weight_at({r[1], r[2], r[3]}, channel, r[0], group);
        f.finished(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer);
        store_tiles(f, *input_gradient_, tiles, target);
    }

    void schedule() {
        declare_strides(output_gradient, false);
        declare_strides(*input_gradient_, true);
        packed_weight().declare(weight);
        if (problem.out_channels) output_gradient.dim(3).set_extent(problem.out_channels);
        if (problem.in_channels) input_gradient_->dim(3).set_extent(problem.in_channels);
        if (const GatherTile tile = schedule_params.tile(); tile.channels_last) {
            const int contiguous = tile.groups > 1 ? 4 : 3, values = tile.vector();
            declare_vectors(output_gradient, contiguous, read_vector(schedule_params));
            declare_vectors(*input_gradient_, contiguous, values);
        }
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::input_gradient, this->target, description);
        describe_tensors({"input", "output"}, description, schedule_params.tile().channels_last);
        packed_weight().describe(description);
        schedule_params.describe(description);
        describe_vectors(schedule_params, "out_channel_multiple", "in_channel_multiple", description);
    }

  private:
    AnyGatherFuncs funcs_;
    AxisInputs attributes_;
    using Written = Halide::GeneratorOutput<Halide::Buffer<>>;
    Written *input_gradient_ = nullptr;

    GatherWeight packed_weight() const {
        return {schedule_params.weight_channel_multiple(), storage, this->get_target(), schedule_params.tile().groups > 1};
    }

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
