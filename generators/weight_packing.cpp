// Weight packing: brings weights from PyTorch's order into the order that a kernel reads. Run once for each call, or
// once for many calls by a caller who keeps the packed weights.
#include "Halide.h"
#include "generators/kernel_description.h"

namespace conv_transpose {

/// (kx, ky, channel, input channel, group) -> (channel, kx, ky, input channel, group); channels beyond the input's are
/// zero, so that kernels may read whole vectors of channels.
class PackChannelsInnermost : public Halide::Generator<PackChannelsInnermost>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const Expr channels = weight.dim(2).extent();
        packed(channel, kx, ky, in_channel, group) =
            select(channel < channels, weight(kx, ky, min(channel, channels - 1), in_channel, group), 0.f);
    }

    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 5; d++) weight.dim(d).set_min(0), packed.dim(d).set_min(0);
        Var rest{"rest"}, thread{"thread"};
        Func(packed).fuse(kx, ky, rest).fuse(rest, in_channel, rest).fuse(rest, group, rest);
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
        description.set("weight_layout", "WeightLayout::channels_innermost");
        describe_target(get_target(), description);
    }

  private:
    Halide::Var kx{"kx"}, ky{"ky"}, channel{"channel"}, in_channel{"in_channel"}, group{"group"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsInnermost, pack_channels_innermost)
