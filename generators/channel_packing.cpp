// Packing of pictures for implicit matrix products: four channels side by side, which are a row of an operand of tensor
// cores, rounded to TF32. Kernels then copy 16 bytes asynchronously, whatever the tap.
#include "Halide.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/kernel_description.h"
#include "algorithm/tf32.h"

namespace conv_transpose {

/// (position, channel, group, image) becomes (channel % 4 + 4 * position, channel / 4, group, image).
/// Channels that fill up the last chunk of a kernel are zero.
class PackChannels : public Halide::Generator<PackChannels>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> picture{"picture", 4};
    Output<Halide::Buffer<float>> packed{"packed", 4};

    void generate() {
        using namespace Halide;
        const Expr channel = plane * 4 + element % 4, channels = picture.dim(1).extent();
        const Expr value = picture(element / 4, min(channel, channels - 1), group, image);
        packed(element, plane, group, image) =
            round_to_tf32(select(channel < channels, value, 0.f), get_target());
    }

    // Lanes count through positions, then through fours of channels: planes may be smaller than a warp.
    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed.dim(d).set_min(0);
        packed.dim(0).set_extent(packed.dim(0).extent() / 4 * 4);
        for (int d = 1; d < 4; d++) packed.dim(d).set_stride(packed.dim(d).stride() / 4 * 4);
        packed.set_host_alignment(16);
        Var value{"value"}, block{"block"}, thread{"thread"};
        Func(packed).split(element, element, value, 4).reorder(value, element, plane, group, image).vectorize(value)
            .fuse(element, plane, element).split(element, block, thread, 256, TailStrategy::GuardWithIf)
            .gpu_blocks(block, group, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::channel_packing);
        description.set("role", "KernelRole::channel_packing");
        describe_target(get_target(), description);
    }

  private:
    Halide::Var element{"element"}, plane{"plane"}, group{"group"}, image{"image"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannels, pack_channels)
