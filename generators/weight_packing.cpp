// Weight packing: brings weights from PyTorch's order into the order that a kernel reads. Run once for each call, or
// once for many calls by a caller who keeps the packed weights.
#include "Halide.h"
#include "generators/kernel_description.h"
#include "generators/kernel_interface.h"
#include "generators/weight_layouts.h"
#include "generators/winograd.h"

namespace conv_transpose {

/// (kx, ky, channel, summed channel, group) -> (channel, kx, ky, summed channel, group); channels beyond the weight's are
/// zero, so that kernels may read whole vectors of them.
class PackChannelsInnermost : public Halide::Generator<PackChannelsInnermost>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        packed(channel, kx, ky, summed, group) =
            select(channel < channels, weight(kx, ky, min(channel, channels - 1), summed, group), 0.f);
    }

    void schedule() {
        using namespace Halide;
        accept_any_strides(weight);
        for (int d = 0; d < 5; d++) packed.dim(d).set_min(0);
        Var rest{"rest"}, thread{"thread"};
        Func(packed).fuse(kx, ky, rest).fuse(rest, summed, rest).fuse(rest, group, rest);
        if (get_target().has_gpu_feature())
            // Reads stride over whole kernels, writes are dense; weights are small and stay in L2.
            Func(packed).split(channel, channel, thread, 32, TailStrategy::GuardWithIf)
                .split(rest, rest, ky, 4, TailStrategy::GuardWithIf).reorder(thread, ky, channel, rest)
                .gpu_blocks(rest, channel).gpu_threads(thread, ky);
        else
            Func(packed).vectorize(channel, natural_vector_size<float>(), TailStrategy::GuardWithIf).parallel(rest, 64);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(WeightLayout::channels_innermost));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var kx{"kx"}, ky{"ky"}, channel{"channel"}, summed{"summed"}, group{"group"};
};

/// The channel of a lane in a tile of channels, and its group; the last dimension of what is packed counts the tiles of all
/// groups.
struct TiledChannel {
    Halide::Expr channel, group;

    TiledChannel(const Halide::GeneratorInput<Halide::Buffer<float>> &weight,
                 const Halide::GeneratorOutput<Halide::Buffer<float>> &packed, const Halide::Var &lane,
                 const Halide::Var &tile) {
        const Halide::Expr groups = weight.dim(4).extent(), tiles = packed.dim(4).extent() / groups;
        channel = tile % tiles * packed.dim(0).extent() + lane;
        // The clamp tells bounds inference what the quotient cannot.
        group = clamp(tile / tiles, 0, groups - 1);
    }
};

/// (kx, ky, channel, input channel, group) -> (channel in tile, kx, ky, input channel, tile + tiles * group); channels
/// beyond the last are zero.
class PackChannelTiles : public Halide::Generator<PackChannelTiles>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        const TiledChannel to(weight, packed, lane, tile);
        const Expr channel = to.channel, group = to.group;
        packed(lane, kx, ky, in_channel, tile) =
            select(channel < channels, weight(kx, ky, min(channel, channels - 1), in_channel, group), 0.f);
    }

    void schedule() {
        accept_any_strides(weight);
        for (int d = 0; d < 5; d++) packed.dim(d).set_min(0);
        Halide::Var work{"work"};
        // Input channel by input channel: then reads are one stream.
        Halide::Func all(packed);
        all.reorder(lane, kx, ky, tile, in_channel).fuse(tile, in_channel, work)
            .parallel(work, 16, Halide::TailStrategy::GuardWithIf);
        all.specialize(packed.dim(0).extent() % 4 == 0).vectorize(lane, 4);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(WeightLayout::channel_tiles));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var lane{"lane"}, kx{"kx"}, ky{"ky"}, in_channel{"in_channel"}, tile{"tile"};
};

/// (kx, ky, channel, summed channel, group) -> (channel in tile, summed channel, point x, point y, tile + tiles * group): the
/// transform of winograd.h, of mirrored taps; channels beyond the last are zero.
class PackWinograd : public Halide::Generator<PackWinograd>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        const TiledChannel to(weight, packed, lane, tile);
        const Expr channel = to.channel, group = to.group;
        const Expr value = winograd::transformed(winograd::weight_matrix, point_y, [&](int y) {
            return winograd::transformed(winograd::weight_matrix, point_x, [&](int x) {
                return weight(2 - x, 2 - y, min(channel, channels - 1), summed, group);
            });
        });
        packed(lane, summed, point_x, point_y, tile) = select(channel < channels, value, 0.f);
    }

    void schedule() {
        accept_any_strides(weight);
        for (int d = 0; d < 5; d++) packed.dim(d).set_min(0);
        // One read of a kernel serves all of its points.
        Halide::Func(packed).bound(point_x, 0, winograd::points).bound(point_y, 0, winograd::points)
            .reorder(point_x, point_y, lane, summed, tile).unroll(point_x).unroll(point_y).parallel(tile);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(WeightLayout::winograd));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var lane{"lane"}, summed{"summed"}, point_x{"point_x"}, point_y{"point_y"}, tile{"tile"};
};

/// (kx, ky, channel, summed channel, group) -> (channel in tile, kx, summed channel, point, tile + tiles * group): the same
/// down the columns only.
class PackWinogradColumns : public Halide::Generator<PackWinogradColumns>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        const TiledChannel to(weight, packed, lane, tile);
        const Expr channel = to.channel, group = to.group;
        const Expr value = winograd::transformed(winograd::weight_matrix, point, [&](int y) {
            return weight(kx, 2 - y, min(channel, channels - 1), summed, group);
        });
        packed(lane, kx, summed, point, tile) = select(channel < channels, value, 0.f);
    }

    void schedule() {
        accept_any_strides(weight);
        for (int d = 0; d < 5; d++) packed.dim(d).set_min(0);
        Halide::Func(packed).bound(point, 0, winograd::points).reorder(point, kx, lane, summed, tile).unroll(point)
            .parallel(tile);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(WeightLayout::winograd_columns));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var lane{"lane"}, kx{"kx"}, summed{"summed"}, point{"point"}, tile{"tile"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelTiles, pack_channel_tiles)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost, pack_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackWinograd, pack_winograd)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackWinogradColumns, pack_winograd_columns)
