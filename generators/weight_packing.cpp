// Weight packing: brings weights from PyTorch's order into the order that a kernel reads. Run once for each
// call, or once for many calls by a caller who keeps the packed weights.
#include "Halide.h"
#include "algorithm/winograd.h"
#include "generators/any_tensors.h"
#include "generators/packing_arguments.h"

namespace conv_transpose {

/// (kx, ky, channel, summed channel, group) -> (channel, kx, ky, summed channel, group); channels beyond the
/// weight's are zero, so that kernels may read whole vectors of them.
template <class Arguments>
class PackChannelsInnermost : public Halide::Generator<PackChannelsInnermost<Arguments>>, public Arguments {
  public:
    using Arguments::packed, Arguments::weight;
    static constexpr bool of_16_bits = std::is_same_v<Arguments, HalfPackingArguments>;

    void configure() {
        if constexpr (of_16_bits) weight.set_type(halide_type(this->given)), weight.set_dimensions(5);
    }

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        packed(channel, kx, ky, summed, group) =
            select(channel < channels, loaded(weight(kx, ky, min(channel, channels - 1), summed, group), this->get_target()), 0.f);
    }

    void schedule() {
        using namespace Halide;
        this->declare_packing();
        Var tap{"tap"}, taps{"taps"}, rest{"rest"}, thread{"thread"}, row{"row"};
        Func all(packed);
        if (this->get_target().has_gpu_feature())
            // Lanes read a kernel apart and write side by side. A thread has neighbouring taps: what one of
            // them brings to the first cache has the next ones.
            all.fuse(kx, ky, tap).split(tap, taps, tap, 16, TailStrategy::GuardWithIf)
                .fuse(summed, group, rest).fuse(taps, rest, rest)
                .split(channel, channel, thread, 32, TailStrategy::GuardWithIf)
                .split(rest, rest, row, 4, TailStrategy::GuardWithIf)
                .reorder(tap, thread, row, channel, rest).unroll(tap)
                .gpu_blocks(rest, channel).gpu_threads(thread, row);
        else
            all.fuse(kx, ky, rest).fuse(rest, summed, rest).fuse(rest, group, rest)
                .vectorize(channel, this->template natural_vector_size<float>(), TailStrategy::GuardWithIf)
                .parallel(rest, 64, TailStrategy::GuardWithIf);
    }

    void describe(KernelDescription &description) override {
        Arguments::describe_packing(WeightLayout::channels_innermost, this->get_target(), description);
        if constexpr (of_16_bits) description.set("weight", format_text(this->given));
    }

  private:
    Halide::Var kx{"kx"}, ky{"ky"}, channel{"channel"}, summed{"summed"}, group{"group"};
};

/// Layouts in tiles of channels: the last dimension of what is packed counts the tiles of all groups, the
/// first the channels of a tile. Channels beyond the last are zero.
class TiledPacking : public PackingArguments {
  protected:
    Halide::Var lane{"lane"}, tile{"tile"};

    /// weight(..., channel, summed, group) of the channel of this lane and tile, for weight_of(channel,
    /// group) that gives it.
    template <class WeightOf>
    Halide::Expr of_tiled_channel(WeightOf weight_of) {
        const Halide::Expr channels = weight.dim(2).extent(), groups = weight.dim(4).extent();
        const Halide::Expr tiles = packed.dim(4).extent() / groups;
        const Halide::Expr channel = tile % tiles * packed.dim(0).extent() + lane;
        // The clamp tells bounds inference what the quotient cannot.
        const Halide::Expr group = clamp(tile / tiles, 0, groups - 1);
        return select(channel < channels, weight_of(min(channel, channels - 1), group), 0.f);
    }
};

/// (kx, ky, channel, input channel, group) -> (channel in tile, kx, ky, input channel, tile + tiles * group).
class PackChannelTiles : public Halide::Generator<PackChannelTiles>, public TiledPacking {
  public:
    void generate() {
        packed(lane, kx, ky, in_channel, tile) =
            of_tiled_channel([&](const Halide::Expr &channel, const Halide::Expr &group) {
                return weight(kx, ky, channel, in_channel, group);
            });
    }

    void schedule() {
        declare_packing();
        Halide::Func all(packed);
        // Forward, an input channel's weights are one stream; in the gradients' order a channel's are, and as
        // many are read at once as a tile has: pieces of eight input channels, because the next line of each
        // stream comes late.
        Halide::Var piece{"piece"};
        Halide::Stage gradient = all.specialize(weight.dim(2).stride() > weight.dim(3).stride());
        gradient.split(in_channel, in_channel, piece, 8, Halide::TailStrategy::GuardWithIf);
        pack(gradient, {lane, kx, ky, piece}, in_channel, tile);
        pack(all, {lane, kx, ky}, tile, in_channel);
    }

    void describe(KernelDescription &description) override {
        describe_packing(WeightLayout::channel_tiles, get_target(), description);
    }

  private:
    Halide::Var kx{"kx"}, ky{"ky"}, in_channel{"in_channel"};

    void pack(Halide::Stage stage, std::vector<Halide::VarOrRVar> weights, const Halide::Var &inner,
              const Halide::Var &outer) {
        Halide::Var work{"work"}, lanes{"lanes"};
        stage.fuse(inner, outer, work).parallel(work, 16, Halide::TailStrategy::GuardWithIf).reorder(weights);
        // Four lanes at a time: those of a whole tile may lie at multiples of a power of two, more than a
        // cache's set holds.
        weights.push_back(lanes);
        stage.specialize(packed.dim(0).extent() % 4 == 0).split(lane, lanes, lane, 4).reorder(weights).vectorize(lane);
    }
};

/// (kx, ky, channel, summed channel, group) -> (channel in tile, summed channel, point x + points * phase x, point y + points *
/// phase y, tile + tiles * group): the transform of winograd.h of each phase's taps, which are mirrored. An axis has one point, and
/// a tap a phase, or four.
class PackWinograd : public Halide::Generator<PackWinograd>, public TiledPacking {
  public:
    GeneratorParam<int> points_h{"points_h", 4}, points_w{"points_w", 4};

    void generate() {
        using Halide::Expr;
        term(term_x, term_y, lane, summed, point_x, point_y, tile) =
            of_tiled_channel([&](const Expr &channel, const Expr &group) {
                return tap_of(1, points_h, term_y, point_y, [&](const Expr &ky) {
                    return tap_of(0, points_w, term_x, point_x, [&](const Expr &kx) {
                        return weight(kx, ky, channel, summed, group);
                    });
                });
            });
        const auto first_of_phase = [](const Expr &point, int points) { return point / points * points; };
        packed(lane, summed, point_x, point_y, tile) = transformed(points_h, point_y, [&](int y) {
            return transformed(points_w, point_x, [&](int x) {
                return term(x, y, lane, summed, first_of_phase(point_x, points_w), first_of_phase(point_y, points_h), tile);
            });
        });
    }

    void schedule() {
        declare_packing();
        // One read of a kernel serves all of its points.
        Halide::Var phase_x{"phase_x"}, phase_y{"phase_y"}, work{"work"}, lanes{"lanes"};
        const int width = natural_vector_size<float>();
        Halide::Func all(packed);
        all.align_bounds(point_x, points_w).align_bounds(point_y, points_h)
            .split(point_x, phase_x, point_x, points_w, Halide::TailStrategy::RoundUp)
            .split(point_y, phase_y, point_y, points_h, Halide::TailStrategy::RoundUp)
            .split(lane, lanes, lane, width, Halide::TailStrategy::GuardWithIf)
            .reorder(lane, point_x, point_y, lanes, summed, phase_x, phase_y, tile).unroll(point_x).unroll(point_y)
            .fuse(phase_y, tile, work).parallel(work);
        all.specialize(packed.dim(0).extent() % width == 0).vectorize(lane);
        term.compute_at(packed, lanes).reorder_storage(lane, term_x, term_y).reorder(lane, term_x, term_y)
            .bound_extent(term_x, points_w).bound_extent(term_y, points_h).bound_extent(lane, width)
            .vectorize(lane).unroll(term_x).unroll(term_y);
    }

    void describe(KernelDescription &description) override {
        describe_packing(WeightLayout::winograd, get_target(), description);
        description.set("winograd_points", points_h, points_w);
    }

  private:
    Halide::Var summed{"summed"}, point_x{"point_x"}, point_y{"point_y"}, term_x{"term_x"}, term_y{"term_y"};
    Halide::Func term{"term"};

    // The point at infinity has the first tap, the others the last one's power 0: terms are powers, and that.
    template <class Element>
    Halide::Expr tap_of(int axis, int points, const Halide::Expr &number, const Halide::Expr &point, Element element) {
        using namespace Halide;
        const Expr kernel = weight.dim(axis).extent(), phase = point / points;
        const Expr stride = packed.dim(2 + axis).extent() / points, taps = (kernel + stride - 1) / stride;
        const Expr tap = select(number == points - 1, 0, taps - 1 - number), k = tap * stride + phase;
        return select(tap >= 0 && k < kernel, element(clamp(k, 0, kernel - 1)), 0.f);
    }

    template <class Term>
    static Halide::Expr transformed(int points, const Halide::Expr &point, Term term) {
        if (points == 1) return term(0);
        std::vector<Halide::Expr> of_points;
        for (int p = 0; p < points; p++)
            of_points.push_back(p == points - 1 ? term(p) : winograd::transformed(winograd::of_taps(points - 1).weight, p, term));
        return mux(point % points, of_points);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelTiles, pack_channel_tiles)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost<conv_transpose::PackingArguments>, pack_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost<conv_transpose::HalfPackingArguments>, pack_half_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackWinograd, pack_winograd)
