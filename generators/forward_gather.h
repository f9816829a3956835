// The generator of the forward operation for tensors of any rank, format and layout (any_tensors.h): the gather of
// algorithm/tap_walk.h, every attribute a run-time value. Arguments as in forward.h. Template argument: a schedule of
// AnyGatherFuncs with
//   int weight_channel_multiple() const: weights are packed in float32, with so many channels side by side; 0: they are
//   read as they are given.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_GATHER_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_GATHER_H

#include <array>

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/tap_walk.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/device_assertions.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/gather_weight.h"

namespace conv_transpose {

template <class Schedule>
class ForwardGather : public Halide::Generator<ForwardGather<Schedule>>, public AnyTensors {
  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    Schedule schedule_params;

    /// The input's coordinates begin at -(padding / stride).
    Input<Halide::Buffer<>> input{"input"}, weight{"weight"};
    Input<Halide::Buffer<float>> bias{"bias", 2};  // channel in group, group
    Input<int> has_bias{"has_bias"};
    Input<int> activation{"activation"};
    Input<float> slope{"slope"};

    void configure() {
        set_format(input);
        packed_weight().set_type(weight);
        weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(*this, rank, gather_attributes);
        output_ = this->template add_output<Halide::Buffer<>>("output", halide_type(storage), dimensions);
    }

    void generate() {
        using namespace Halide;
        AnyGatherFuncs &f = funcs_;
        const bool on_gpu = this->get_target().has_gpu_feature();
        const GatherTile tile = schedule_params.tile();
        const Place at = Tiles<Written>{*output_, tile, on_gpu}.place(f.channel, f.group, f.thread, f.block, f.image);
        for (const char *name : {"taps_of_x", "taps_of_y", "taps_of_z"}) f.taps_of.emplace_back(name);
        const TapWalk x = walk(at, 0), y = walk(at, 1), z = walk(at, 2);
        f.taps = RDom({{0, input.dim(3).extent()}, {0, x.most()}, {0, y.most()}, {0, z.most()}}, "taps");
        const RDom &r = f.taps;
        std::vector<Expr> is_seen;
        const auto seen = [&](const TapWalk &axis, int d) {
            is_seen.insert(is_seen.end(), {axis.live(r[d + 1]), inside(axis.input_of(r[d + 1]), input.dim(d))});
            return known(axis.input_of(r[d + 1]), input.dim(d));
        };
        const Expr ix = seen(x, 0), iy = seen(y, 1), iz = seen(z, 2);
        only_where(f.taps, is_seen);
        const auto tap = [&](const TapWalk &axis, int d) { return known(axis.tap(r[d + 1]), axis.kernel); };
        // Tiles may reach beyond the last channel and group; packed weights have whole tiles of channels.
        const Expr group = known(min(at.group, output_->dim(4).extent() - 1), output_->dim(4).extent());
        const Expr image = known(at.image, output_->dim(5).extent());
        const Expr channel = known(min(at.channel, bias.dim(0).extent() - 1), bias.dim(0).extent());
        const Expr of_weight = packed_weight().packed() ? known(at.channel, weight.dim(0).extent()) : channel;

        f.sum(f.channel, f.group, f.thread, f.block, f.image) = branch(has_bias != 0, bias(channel, group), 0.f);
        f.sum(f.channel, f.group, f.thread, f.block, f.image) +=
            loaded(input(ix, iy, iz, r[0], group, image), this->get_target()) *
            packed_weight().at(weight, {tap(x, 0), tap(y, 1), tap(z, 2)}, of_weight, r[0], group);
        store_tiles(f, *output_, tile, this->get_target(), [&](const Expr &sum) { return activate(sum, activation, slope); });
    }

    void schedule() {
        declare_strides(input, false);
        declare_strides(*output_, true);
        packed_weight().declare(weight);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        if (problem.in_channels) input.dim(3).set_extent(problem.in_channels);
        if (problem.out_channels) output_->dim(3).set_extent(problem.out_channels);
        schedule_params.declare_layout(input, *output_);
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        describe_tensors({"input", "output"}, description);
        packed_weight().describe(description);
        schedule_params.describe(description);
    }

  private:
    AnyGatherFuncs funcs_;
    AxisInputs attributes_;
    using Written = Halide::GeneratorOutput<Halide::Buffer<>>;
    Written *output_ = nullptr;

    GatherWeight packed_weight() const { return {schedule_params.weight_channel_multiple(), storage, this->get_target()}; }

    TapWalk walk(const Place &at, int axis) {
        const AnyGatherFuncs &f = funcs_;
        const bool on_gpu = this->get_target().has_gpu_feature(), of_rows = schedule_params.tile().threads == 0;
        const auto a = [&](int i) -> Halide::Expr { return *attributes_[6 * axis + i]; };
        const TapWalk walk = tap_walk(at.axes[axis], {.kernel = a(5), .stride = a(0), .dilation = a(1),
                                                      .padding_phase = a(2), .gcd = a(3), .inverse = a(4)}, on_gpu);
        std::vector<Halide::Var> loops{f.thread, f.block};
        if (of_rows) loops = {axis == 0 ? f.thread : f.block};
        return walk.kept_in(funcs_.taps_of[axis], loops);
    }
};

}  // namespace conv_transpose

#endif
