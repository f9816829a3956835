// The generator of the forward operation for tensors of any rank, format and layout (any_tensors.h): the gather of
// algorithm/tap_walk.h, every attribute a run-time value. Arguments as in forward.h. Template argument: a schedule of
// AnyGatherFuncs with
//   GatherTile tile() const,
//   int weight_channel_multiple() const: weights are packed in float32, with so many channels side by side (or groups, of which
//   a thread has several); 0: they are read as they are given.
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
        const Target target = this->get_target();
        const GatherTile tile = schedule_params.tile();
        // The positions of a thread are of one phase; of a window, neighbouring taps see neighbouring positions.
        const int along = tile.part_axis, last = tile.taps_at_once() - 1;
        const Expr step = tile.window > 0 ? attribute(along, 1) / attribute(along, 3) : Expr(1);
        Tiles<Written> tiles{*output_, tile, target.has_gpu_feature(), f.place, attribute(along, 0) * step};
        // With vectors the alignment of stores would no longer be known.
        if (!tile.channels_last && !tiles.of_rows()) tiles.keep_places(f.thread, f.block);
        const Place at = tiles.place(f.channel, f.group, 0, f.thread, f.block, f.outer);
        for (const char *name : {"taps_of_x", "taps_of_y", "taps_of_z"}) f.taps_of.emplace_back(name);
        const TapWalk axes[] = {walk(at, 0), walk(at, 1), walk(at, 2)};
        f.taps = taps_of_windows(tile, input.dim(3).extent(), {axes[0].most(), axes[1].most(), axes[2].most()}, 1);
        const RDom &r = f.taps;
        // Tiles may reach beyond the last channel, group and image; packed weights have whole tiles of channels.
        const auto within = [&](const Expr &i, int d) {
            return known(min(i, output_->dim(d).extent() - 1), output_->dim(d).extent());
        };
        const Expr group = tile.channels_last ? known(at.group, output_->dim(4).extent()) : within(at.group, 4);
        const Expr image = within(at.image, 5),
                   channel = known(min(at.channel, bias.dim(0).extent() - 1), bias.dim(0).extent());
        define_seen(f, input, tile, group, image, [&](int d, const Expr &t, const Expr &place, const Expr &) {
            const Expr first = tap_number(tile, d, t, 0);
            const Expr part = tile.has_window(d) ? (place - last) * axes[d].input_step : place * tiles.part_steps();
            return SeenAxis{axes[d].input_of(first) + part, axes[d].live(first)};
        });
        if (last > 0) f.taps.where(axes[along].live(tap_number(tile, along, r[along + 1], r[4])));

        f.initial(f.channel, f.group, f.thread, f.block, f.outer) = branch(has_bias != 0, bias(channel, group), 0.f);
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.initial(f.channel, f.group, f.thread, f.block, f.outer);
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) +=
            what_is_seen(f, f.part - r[4] + last, target) *
            weight_of_tap(f, tile, [&](const std::vector<Expr> &t, const Expr &in_window, const Expr &, const Expr &summed) {
                std::vector<Expr> taps;
                for (int d = 0; d < rank; d++) {
                    const Expr tap = axes[d].tap(tap_number(tile, d, t[d], in_window)), kernel = axes[d].kernel;
                    taps.push_back(known(tile.window > 0 ? min(tap, kernel - 1) : tap, kernel));
                }
                return packed_weight().at(weight, taps, packed_weight().packed() ? at.channel : channel, summed, group);
            });
        f.finished(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            activate(f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer), activation, slope);
        f.no_smooth_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear);
        store_tiles(f, *output_, tiles, target);
    }

    void schedule() {
        declare_strides(input, false);
        declare_strides(*output_, true);
        packed_weight().declare(weight);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        if (problem.in_channels) input.dim(3).set_extent(problem.in_channels);
        if (problem.out_channels) output_->dim(3).set_extent(problem.out_channels);
        if (const GatherTile tile = schedule_params.tile(); tile.channels_last) {
            const int contiguous = tile.groups > 1 ? 4 : 3, values = tile.vector();
            declare_vectors(input, contiguous, read_vector(schedule_params)), declare_vectors(*output_, contiguous, values);
        }
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        describe_tensors({"input", "output"}, description, schedule_params.tile().channels_last);
        packed_weight().describe(description);
        schedule_params.describe(description);
        describe_vectors(schedule_params, "in_channel_multiple", "out_channel_multiple", description);
    }

  private:
    AnyGatherFuncs funcs_;
    AxisInputs attributes_;
    using Written = Halide::GeneratorOutput<Halide::Buffer<>>;
    Written *output_ = nullptr;

    GatherWeight packed_weight() const {
        return {schedule_params.weight_channel_multiple(), storage, this->get_target(), schedule_params.tile().groups > 1};
    }

    Halide::Expr attribute(int axis, int i) const { return *attributes_[6 * axis + i]; }

    TapWalk walk(const Place &at, int axis) {
        const AnyGatherFuncs &f = funcs_;
        const bool on_gpu = this->get_target().has_gpu_feature(), of_rows = schedule_params.tile().threads == 0;
        const auto a = [&](int i) { return attribute(axis, i); };
        const TapWalk walk = tap_walk(at.axes[axis], {.kernel = a(5), .stride = a(0), .dilation = a(1),
                                                      .padding_phase = a(2), .gcd = a(3), .inverse = a(4)}, on_gpu);
        std::vector<Halide::Var> loops{f.thread, f.block};
        if (of_rows) loops = {axis == 0 ? f.thread : f.block};
        return walk.kept_in(funcs_.taps_of[axis], loops);
    }
};

}  // namespace conv_transpose

#endif
