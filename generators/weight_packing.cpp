// Weight packing: brings weights from PyTorch's order into the order that a kernel reads. Run once for each call, or
// once for many calls by a caller who keeps the packed weights.
#include "Halide.h"
#include "generators/kernel_description.h"
#include "generators/kernel_interface.h"
#include "generators/weight_layouts.h"

namespace conv_transpose {

/// (kx, ky, channel, input channel, group) -> (innermost, kx, ky, the other channel, group), where the innermost is
/// either channel; those beyond the weight's are zero, so that kernels may read whole vectors of channels.
template <WeightLayout layout>
class PackWeight : public Halide::Generator<PackWeight<layout>>, public DescribedGenerator {
    using Tensor = Halide::Buffer<float>;

  public:
    Halide::GeneratorInput<Tensor> weight{"weight", 5};
    Halide::GeneratorOutput<Tensor> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        constexpr bool in_channels_innermost = layout == WeightLayout::in_channels_innermost;
        const Expr channels = weight.dim(in_channels_innermost ? 3 : 2).extent();
        const Expr inside = min(channel, channels - 1);
        packed(channel, kx, ky, other, group) =
            select(channel < channels, in_channels_innermost ? weight(kx, ky, other, inside, group)
                                                             : weight(kx, ky, inside, other, group), 0.f);
    }

    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 5; d++) weight.dim(d).set_min(0), packed.dim(d).set_min(0);
        Var rest{"rest"}, thread{"thread"};
        Func(packed).fuse(kx, ky, rest).fuse(rest, other, rest).fuse(rest, group, rest);
        if (this->get_target().has_gpu_feature())
            // Reads stride over whole kernels, writes are dense; weights are small and stay in L2.
            Func(packed).split(channel, channel, thread, 32, TailStrategy::GuardWithIf)
                .split(rest, rest, ky, 4, TailStrategy::GuardWithIf).reorder(thread, ky, channel, rest)
                .gpu_blocks(rest, channel).gpu_threads(thread, ky);
        else
            Func(packed).vectorize(channel, this->get_target().template natural_vector_size<float>(), TailStrategy::GuardWithIf).parallel(rest, 64);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(layout));
        describe_target(this->get_target(), description);
    }

  private:
    Halide::Var kx{"kx"}, ky{"ky"}, channel{"channel"}, other{"other"}, group{"group"};
};

using PackChannelsInnermost = PackWeight<WeightLayout::channels_innermost>;
using PackInChannelsInnermost = PackWeight<WeightLayout::in_channels_innermost>;

/// (kx, ky, channel, input channel, group) -> (channel in tile, kx, ky, input channel, tile + tiles * group); channels
/// beyond the last are zero.
class PackChannelTiles : public Halide::Generator<PackChannelTiles>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent(), groups = weight.dim(4).extent();
        const Expr tiles = packed.dim(4).extent() / groups;
        const Expr channel = tile % tiles * packed.dim(0).extent() + lane;
        // The clamp tells bounds inference what the quotient cannot.
        const Expr group = clamp(tile / tiles, 0, groups - 1);
        packed(lane, kx, ky, in_channel, tile) =
            select(channel < channels, weight(kx, ky, min(channel, channels - 1), in_channel, group), 0.f);
    }

    void schedule() {
        for (int d = 0; d < 5; d++) weight.dim(d).set_min(0), packed.dim(d).set_min(0);
        Halide::Var work{"work"};
        Halide::Func(packed).fuse(in_channel, tile, work).parallel(work, 16, Halide::TailStrategy::GuardWithIf);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(WeightLayout::channel_tiles));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var lane{"lane"}, kx{"kx"}, ky{"ky"}, in_channel{"in_channel"}, tile{"tile"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelTiles, pack_channel_tiles)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost, pack_channels_innermost)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackInChannelsInnermost, pack_in_channels_innermost)
