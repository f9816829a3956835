// Packing of pictures of 16 bits for weight gradients that are implicit matrix products
// (weight_gradient_implicit_gemm.h): channels innermost, filled up to whole eights with zeros. Pictures come in any
// layout: their strides are the caller's.
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// The same (position, channel, group, image), with other strides.
class PackChannelsLast : public Halide::Generator<PackChannelsLast>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> given{"given", Storage::f16, {{"f16", Storage::f16}, {"bf16", Storage::bf16}}};

    Input<Halide::Buffer<>> picture{"picture"};
    Output<Halide::Buffer<>> packed{"packed", 4};

    void configure() {
        picture.set_type(halide_type(given)), picture.set_dimensions(4);
        packed.set_type(halide_type(given));
    }

    void generate() {
        using namespace Halide;
        const Expr channels = picture.dim(1).extent(), value = picture(position, min(channel, channels - 1), group, image);
        packed(position, channel, group, image) = select(channel < channels, value, Internal::make_zero(value.type()));
    }

    // Lanes read neighbouring positions of eight channels each, and a block writes 64 neighbouring channels.
    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        const auto multiple = [](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed.dim(d).set_min(0);
        packed.dim(1).set_stride(1).set_extent(multiple(packed.dim(1).extent()));
        for (const int d : {0, 2, 3}) packed.dim(d).set_stride(multiple(packed.dim(d).stride()));
        packed.set_host_alignment(16);
        Var value{"value"}, block{"block"}, eight{"eight"}, lane{"lane"}, warp{"warp"};
        constexpr auto guard = TailStrategy::GuardWithIf;
        Func(packed).reorder_storage(channel, position, group, image)
            .split(channel, eight, value, values).split(eight, eight, warp, 8, guard).split(position, block, lane, 32, guard)
            .reorder(value, lane, warp, eight, block, group, image).vectorize(value).fuse(eight, block, block)
            .gpu_blocks(block, group, image).gpu_threads(lane, warp).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::channel_packing);
        description.set("role", "KernelRole::channels_last_packing");
        const std::string type = given == Storage::f16 ? "{ElementType::float16}" : "{ElementType::bfloat16}";
        description.set("input", type);
        description.set("output", type);
        describe_target(get_target(), description);
    }

  private:
    static constexpr int values = 8;  // of 16 bytes
    Halide::Var position{"position"}, channel{"channel"}, group{"group"}, image{"image"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsLast, pack_channels_last)
