// Packing of pictures of 16 bits for weight gradients that are implicit matrix products
// (weight_gradient_implicit_gemm.h): channels innermost, filled up to whole eights with zeros. Pictures come in any
// layout: their strides are the caller's.
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "generators/format_text.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// The same (position, channel, group, image), with other strides.
class PackChannelsLast : public Halide::Generator<PackChannelsLast>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> given{"given", Storage::f16, {{"f16", Storage::f16}, {"bf16", Storage::bf16}}};

    GeneratorParam<bool> few_channels{"few_channels", false};

    Input<Halide::Buffer<>> picture{"picture"};
    Output<Halide::Buffer<>> packed{"packed", 4};

    void configure() {
        picture.set_type(halide_type(given)), picture.set_dimensions(4);
        packed.set_type(halide_type(given));
    }

    void generate() {
        using namespace Halide;
        const Expr channels = picture.dim(1).extent();
        const Expr value = picture(min(position, picture.dim(0).extent() - 1), min(channel, channels - 1), group, image);
        const Expr element = select(channel < channels, value, Internal::make_zero(value.type()));
        // In words of shared memory, each of which one thread writes.
        staged(position, channel, group, image) = cast<uint32_t>(reinterpret<uint16_t>(element));
        packed(position, channel, group, image) =
            reinterpret(value.type(), cast<uint16_t>(staged(position, channel, group, image)));
    }

    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        const auto multiple = [](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed.dim(d).set_min(0);
        packed.dim(1).set_stride(1).set_extent(multiple(packed.dim(1).extent()));
        for (const int d : {0, 2, 3}) packed.dim(d).set_stride(multiple(packed.dim(d).stride()));
        packed.set_host_alignment(16);
        Func(packed).reorder_storage(channel, position, group, image).split(channel, eight, value, values).vectorize(value);
        few_channels ? schedule_few() : schedule_turned();
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::channel_packing);
        description.set("role", "KernelRole::channels_last_packing");
        description.set("input", format_text(given));
        description.set("output", format_text(given));
        if (few_channels) description.set("max_out_channels", 16);
        describe_target(get_target(), description);
    }

  private:
    static constexpr int values = 8;  // of 16 bytes
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Func staged{"staged"};
    Halide::Var value{"value"}, block{"block"}, eight{"eight"}, lane{"lane"}, warp{"warp"};
    Halide::Var position{"position"}, channel{"channel"}, group{"group"}, image{"image"};

    // Neighbouring lanes read neighbouring positions, and write neighbouring channels: four lanes 64 bytes of one of eight
    // positions. A pitch of an odd number of positions keeps what they read in different banks.
    void schedule_turned() {
        using namespace Halide;
        constexpr int tile = 64, warps = 8;
        Var round{"round"}, eight_block{"eight_block"}, neighbour{"neighbour"};
        Func(packed).split(position, block, position, tile, guard).split(position, warp, neighbour, tile / warps)
            .split(eight, eight_block, eight, tile / values, guard).split(eight, round, eight, 32 / (tile / warps))
            .fuse(eight, neighbour, lane).fuse(eight_block, block, block)
            .reorder(value, round, lane, warp, block, group, image).unroll(round)
            .gpu_blocks(block, group, image).gpu_threads(lane, warp).never_partition_all();
        staged.compute_at(packed, block).store_in(MemoryType::GPUShared)
            .bound_extent(position, tile).bound_extent(channel, tile).align_storage(position, tile + 1)
            .split(position, position, lane, 32).split(channel, round, warp, warps)
            .reorder(position, round, lane, warp).unroll(position).unroll(round)
            .gpu_threads(lane, warp).never_partition_all();
    }

    // A thread has eight channels of a position.
    void schedule_few() {
        Func(packed).split(position, block, lane, 256, guard).reorder(value, lane, block, eight, group, image)
            .fuse(block, eight, block).gpu_blocks(block, group, image).gpu_threads(lane).never_partition_all();
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsLast, pack_channels_last)
