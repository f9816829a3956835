// Weight packing: brings weights from PyTorch's order into the order that a kernel reads. Run once for each
// call, or once for many calls by a caller who keeps the packed weights.
#include "Halide.h"
#include "generators/any_tensors.h"
#include "generators/packing_arguments.h"
#include "algorithm/winograd.h"

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

/// (kx, ky, channel, summed channel, group) -> (channel in tile, kx, summed channel, point, tile + tiles *
/// group): the transform of winograd.h, of mirrored taps. With transform_rows kx is 0, and points are those
/// of both axes.
class PackWinograd : public Halide::Generator<PackWinograd>, public TiledPacking {
  public:
    GeneratorParam<bool> transform_rows{"transform_rows", true};

    void generate() {
        using Halide::Expr;
        using winograd::transformed;
        const winograd::Transform &across = transform(), &down = winograd::f23;
        packed(lane, kx, summed, point, tile) = of_tiled_channel([&](const Expr &channel, const Expr &group) {
            return transformed(down.weight, point / across.points(), [&](int y) {
                return transformed(across.weight, point % across.points(), [&](int x) {
                    return weight(kx + (across.taps() - 1 - x), down.taps() - 1 - y, channel, summed, group);
                });
            });
        });
    }

    void schedule() {
        declare_packing();
        // One read of a kernel serves all of its points.
        Halide::Func(packed).bound(point, 0, transform().points() * winograd::f23.points())
            .reorder(point, kx, lane, summed, tile).unroll(point).parallel(tile);
    }

    void describe(KernelDescription &description) override {
        const WeightLayout layout = transform_rows ? WeightLayout::winograd : WeightLayout::winograd_columns;
        describe_packing(layout, get_target(), description);
    }

  private:
    Halide::Var kx{"kx"}, summed{"summed"}, point{"point"};

    const winograd::Transform &transform() const {
        return transform_rows ? winograd::f23 : winograd::identity;
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelTiles, pack_channel_tiles)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost<conv_transpose::PackingArguments>, pack_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost<conv_transpose::HalfPackingArguments>, pack_half_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackWinograd, pack_winograd)
