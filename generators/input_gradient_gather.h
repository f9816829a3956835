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
        // Taps a stride apart see of one position what they see of others a dilation apart: these are a thread's.
        const int along = tile.part_axis;
        const bool window = tile.window > 0;
        Tiles<Written> tiles{*input_gradient_, tile, target.has_gpu_feature(), f.place, window ? axis(along).dilation : Expr(1)};
        // With several channels or a window it took up to 1.3 times as long (H200, 2026-11-22).
        if (tile.channels == 1 && !window && !tile.channels_last && !tiles.of_rows()) tiles.keep_places(f.thread, f.block);
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
        // Tiles may reach beyond the last channel, group and image; packed weights have whole tiles of channels.
        const auto extent = [&](int d) { return input_gradient_->dim(d).extent(); };
        const auto within = [&](const Expr &i, int d) { return known(min(i, extent(d) - 1), extent(d)); };
        const Expr group = tile.channels_last ? known(at.group, extent(4)) : within(at.group, 4), image = within(at.image, 5);
        const Expr channel = packed_weight().packed() ? at.channel : within(at.channel, 3);
        define_seen(f, output_gradient, tile, group, image, [&](int d, const Expr &t, const Expr &place, const Expr &first_tap) {
            const Expr first = kernel_position(d, t, 0, first_tap);
            const Expr apart = tile.has_window(d) ? axis(d).dilation : tiles.positions(d);
            return SeenAxis{axis(d).output(at.axes[d] + place * apart, first),
                            window && d == along ? first < axis(d).kernel : Internal::const_true()};
        });
        if (tile.taps_at_once() > 1) f.taps.where(kernel_position(along, r[1 + along], r[4], r[5]) < axis(along).kernel);

        f.initial(f.channel, f.group, f.thread, f.block, f.outer) = 0.f;
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.initial(f.channel, f.group, f.thread, f.block, f.outer);
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) +=
            what_is_seen(f, f.part + r[4], target) *
            weight_of_tap(f, tile, [&](const std::vector<Expr> &t, const Expr &in_window, const Expr &first_tap,
                                       const Expr &summed) {
                std::vector<Expr> taps;
                for (int d = 0; d < rank; d++) {
                    const Expr tap = kernel_position(d, t[d], in_window, first_tap), kernel = axis(d).kernel;
                    taps.push_back(known(window && d == along ? min(tap, kernel - 1) : tap, kernel));
                }
                return weight_at(taps, channel, summed, group);
            });
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
