// The generator of the input gradient for tensors of any rank, format and layout (any_tensors.h), every attribute a
// run-time value: a strided convolution of the output gradient. Arguments as in input_gradient.h. Template argument: a
// schedule as forward_gather.h has it.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_GATHER_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_GATHER_H

#include "Halide.h"
#include "algorithm/gather_funcs.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/gather_weight.h"

namespace conv_transpose {

template <class Schedule>
class InputGradientGather : public Halide::Generator<InputGradientGather<Schedule>>, public GatherGenerator {
  public:
    Schedule schedule_params;

    /// The output gradient's coordinates begin at the padding.
    Halide::GeneratorInput<Halide::Buffer<>> output_gradient{"output_gradient"}, weight{"weight"};

    void configure() {
        configure_gather(*this, packed_weight(), output_gradient, weight, strided_attributes, "input_gradient");
    }

    void generate() {
        using namespace Halide;
        AnyGatherFuncs &f = funcs_;
        const Target target = this->get_target();
        const GatherTile tile = schedule_params.tile();
        // Taps a stride apart see of one position what they see of others a dilation apart: these are a thread's.
        const int along = tile.part_axis;
        const bool window = tile.window > 0;
        Tiles<Written> tiles{*written_, tile, target.has_gpu_feature(), f.place, window ? axis(along).dilation : Expr(1)};
        // In channels_first, with several channels or a window, it took up to 1.3 times as long (H200, 2026-11-22).
        if (tile.channels_last || (tile.channels == 1 && (!window || tile.multiplies_zeros) && !tiles.of_rows()))
            tiles.keep_places(f.thread, f.block);
        const Place at = tiles.place(f.channel, f.group, 0, f.thread, f.block, f.outer);
        std::vector<Expr> taps{axis(0).kernel, axis(1).kernel, axis(2).kernel};
        const Expr stride = axis(along).stride, first_taps = window ? min(stride, taps[along]) : Expr(1);
        if (window) taps[along] = (taps[along] + stride - 1) / stride;
        f.taps = taps_of_windows(tile, output_gradient.dim(3).extent(), taps, first_taps);
        const RDom &r = f.taps;
        const auto kernel_position = [&](int d, const Expr &tap, const Expr &in_window, const Expr &first_tap) {
            const Expr number = tap_number(tile, d, tap, in_window);
            return tile.has_window(d) ? first_tap + number * stride : number;
        };
        // Packed weights have whole tiles of channels.
        const Expr group = group_within(at.group, tile), image = within(at.image, 5),
                   channel = packed_weight().packed() ? at.channel : within(at.channel, 3);
        define_seen(f, output_gradient, tile, group, image, [&](int d, const Expr &t, const Expr &place, const Expr &first_tap) {
            const Expr first = kernel_position(d, t, 0, first_tap);
            const Expr apart = tile.has_window(d) ? axis(d).dilation : tiles.positions(d);
            return SeenAxis{axis(d).output(at.axes[d] + place * apart, first),
                            window && d == along ? first < axis(d).kernel : Internal::const_true()};
        });
        const auto live = [&](const Expr &t, const Expr &in_window, const Expr &first_tap) {
            return kernel_position(along, t, in_window, first_tap) < axis(along).kernel;
        };
        if (tile.taps_at_once() > 1 && !tile.multiplies_zeros) f.taps.where(live(r[1 + along], r[4], r[5]));

        define_sum(0.f, what_is_seen(f, f.part + r[4], target) *
                            weight_of_tap(f, tile, [&](const std::vector<Expr> &t, const Expr &in_window, const Expr &first_tap,
                                                       const Expr &summed) {
                                std::vector<Expr> taps;
                                for (int d = 0; d < rank; d++) {
                                    const Expr tap = kernel_position(d, t[d], in_window, first_tap), kernel = axis(d).kernel;
                                    taps.push_back(known(window && d == along ? min(tap, kernel - 1) : tap, kernel));
                                }
                                const Expr value = weight_at(taps, channel, summed, group);
                                return tile.multiplies_zeros ? select(live(t[along], in_window, first_tap), value, 0.f) : value;
                            }));
        f.finished(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer);
        store_tiles(f, *written_, tiles, target);
    }

    void schedule() {
        declare(schedule_params, output_gradient, problem.out_channels, weight, problem.in_channels, this->target);
        schedule_params.apply(funcs_, this->target);
        add_passes(this->get_pipeline(), schedule_params.tile(), this->get_target(), false);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::input_gradient); }

    void describe(KernelDescription &description) override {
        describe_gather(Family::input_gradient, schedule_params, "out_channel_multiple", "in_channel_multiple", this->target,
                        description);
    }

  private:
    GatherWeight packed_weight() const { return GatherGenerator::packed_weight(schedule_params, this->get_target()); }

    // As given, the channel of the output comes first, which is summed over.
    Halide::Expr weight_at(const std::vector<Halide::Expr> &tap, const Halide::Expr &channel, const Halide::Expr &summed,
                           const Halide::Expr &group) const {
        const GatherWeight w = packed_weight();
        return w.packed() ? w.at(weight, tap, channel, summed, group) : w.at(weight, tap, summed, channel, group);
    }

    StridedAxis axis(int d) const { return strided_arguments(attributes_, d); }
};

}  // namespace conv_transpose

#endif
