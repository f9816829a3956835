// The generator of the forward operation for tensors of any rank, format and layout (any_tensors.h): the gather of
// algorithm/tap_walk.h, every attribute a run-time value. Arguments as in forward.h. Template argument: a schedule of
// AnyGatherFuncs with
//   GatherTile tile() const,
//   int weight_channel_multiple() const: weights are packed in float32, with so many channels side by side (or groups, of which
//   a thread has several); 0: they are read as they are given.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_GATHER_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_GATHER_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/tap_walk.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/forward_arguments.h"
#include "generators/gather_weight.h"

namespace conv_transpose {

template <class Schedule>
class ForwardGather : public Halide::Generator<ForwardGather<Schedule>>,
      public GatherGenerator,
      public ForwardInputs<Halide::Buffer<>> {
  public:
    Schedule schedule_params;

    void configure() {
        configure_gather(*this, packed_weight(), input, weight, gather_attributes, "output");
    }

    void generate() {
        using namespace Halide;
        AnyGatherFuncs &f = funcs_;
        const Target target = this->get_target();
        const GatherTile tile = schedule_params.tile();
        // The positions of a thread are of one phase; of a window, neighbouring taps see neighbouring positions.
        const int along = tile.part_axis, last = tile.taps_at_once() - 1;
        const Expr step = tile.window > 0 ? attributes(along).dilation / attributes(along).gcd : Expr(1);
        Tiles<Written> tiles{*written_, tile, target.has_gpu_feature(), f.place, attributes(along).stride * step};
        if (!tiles.of_rows()) tiles.keep_places(f.thread, f.block);
        const Place at = tiles.place(f.channel, f.group, 0, f.thread, f.block, f.outer);
        for (const char *name : {"taps_of_x", "taps_of_y", "taps_of_z"}) f.taps_of.emplace_back(name);
        const TapWalk axes[] = {walk(at, 0), walk(at, 1), walk(at, 2)};
        f.taps = taps_of_windows(tile, input.dim(3).extent(), {axes[0].most(), axes[1].most(), axes[2].most()}, 1);
        const RDom &r = f.taps;
        // Packed weights have whole tiles of channels.
        const Expr group = group_within(at.group, tile), image = within(at.image, 5),
                   channel = known(min(at.channel, bias.dim(0).extent() - 1), bias.dim(0).extent());
        define_seen(f, input, tile, group, image, [&](int d, const Expr &t, const Expr &place, const Expr &) {
            const Expr first = tap_number(tile, d, t, 0);
            const Expr part = tile.has_window(d) ? (place - last) * axes[d].input_step : place * tiles.part_steps();
            return SeenAxis{axes[d].input_of(first) + part, axes[d].live(first)};
        });
        const auto live = [&](const Expr &t, const Expr &in_window) {
            return axes[along].live(tap_number(tile, along, t, in_window));
        };
        if (last > 0 && !tile.multiplies_zeros) f.taps.where(live(r[along + 1], r[4]));

        define_sum(
            branch(has_bias != 0, bias(channel, group), 0.f),
            what_is_seen(f, f.part - r[4] + last, target) *
                weight_of_tap(f, tile, [&](const std::vector<Expr> &t, const Expr &in_window, const Expr &, const Expr &summed) {
                    std::vector<Expr> taps;
                    for (int d = 0; d < rank; d++) {
                        const Expr tap = axes[d].tap(tap_number(tile, d, t[d], in_window)), kernel = axes[d].kernel;
                        taps.push_back(known(tile.window > 0 ? min(tap, kernel - 1) : tap, kernel));
                    }
                    const Expr value =
                        packed_weight().at(weight, taps, packed_weight().packed() ? at.channel : channel, summed, group);
                    return tile.multiplies_zeros ? select(live(t[along], in_window), value, 0.f) : value;
                }));
        f.no_smooth_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear);
        f.no_activation = f.no_smooth_activation && slope == 1.f;
        const Expr sum = f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer);
        f.finished(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            branch(f.no_activation, sum, activate(sum, activation, slope));
        store_tiles(f, *written_, tiles, target);
    }

    void schedule() {
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        declare(schedule_params, input, problem.in_channels, weight, problem.out_channels, this->target);
        schedule_params.apply(funcs_, this->target);
        add_passes(this->get_pipeline(), schedule_params.tile(), this->get_target(), true);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        describe_gather(Family::forward, schedule_params, "in_channel_multiple", "out_channel_multiple", this->target, description);
    }

  private:
    GatherWeight packed_weight() const { return GatherGenerator::packed_weight(schedule_params, this->get_target()); }

    AxisArguments attributes(int axis) const { return gather_arguments(attributes_, axis); }

    TapWalk walk(const Place &at, int axis) {
        const AnyGatherFuncs &f = funcs_;
        const bool on_gpu = this->get_target().has_gpu_feature(), of_rows = schedule_params.tile().threads == 0;
        const TapWalk walk = tap_walk(at.axes[axis], attributes(axis), on_gpu);
        std::vector<Halide::Var> loops{f.thread, f.block};
        if (of_rows) loops = {axis == 0 ? f.thread : f.block};
        return walk.kept_in(funcs_.taps_of[axis], loops);
    }
};

}  // namespace conv_transpose

#endif
