// Packing of pictures for kernels that read channels innermost: weight gradients that are implicit matrix products
// (weight_gradient_implicit_gemm.h), and what reads tensor maps (Computation::packed_rows). Channels are filled up to whole
// 16 bytes with zeros. Pictures come in any layout: their strides are the caller's.
#include "Halide.h"
#include "generators/channel_packing.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

/// The same (position, channel, group, image), with other strides.
class PackChannelsLast : public Halide::Generator<PackChannelsLast>, public ChannelPacking {
  public:
    /// What a block turns.
    GeneratorParam<int> tile_channels{"tile_channels", 64}, tile_positions{"tile_positions", 64};
    /// It is for no more channels of a group than a tile has.
    GeneratorParam<bool> narrow{"narrow", false};
    GeneratorParam<bool> few_channels{"few_channels", false};
    /// It is for pictures whose channels are innermost as they are given.
    GeneratorParam<bool> along_channels{"along_channels", false};
    /// Fours of positions are read at once: of pictures that are promised to lie so.
    GeneratorParam<bool> aligned{"aligned", false};

    void configure() { declare_types(); }

    void generate() {
        using namespace Halide;
        const Expr channels = picture.dim(1).extent();
        // In aligned pictures a thread's positions are inside together.
        const Expr inside = aligned ? Expr(position) : min(position, picture.dim(0).extent() - 1);
        const Expr value = picture(inside, min(channel, channels - 1), group, image);
        const Expr element = select(channel < channels, value, Internal::make_zero(value.type()));
        if (aligned) {
            staged(position, channel, group, image) = element;
            packed(position, channel, group, image) = staged(position, channel, group, image);
            return;
        }
        staged(position, channel, group, image) = word_of(element);
        packed(position, channel, group, image) = element_of(staged(position, channel, group, image));
    }

    void schedule() {
        using namespace Halide;
        add_passes_of_any_kernel(get_pipeline());
        const int values = values_of_row();
        const auto multiple = [values](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        declare_beginnings();
        packed.dim(1).set_stride(1).set_extent(multiple(packed.dim(1).extent()));
        for (const int d : {0, 2, 3}) packed.dim(d).set_stride(multiple(packed.dim(d).stride()));
        packed.set_host_alignment(16);
        Func(packed).reorder_storage(channel, position, group, image).split(channel, eight, value, values).vectorize(value);
        aligned          ? schedule_aligned()
        : along_channels ? schedule_along_channels()
        : few_channels   ? schedule_few()
                         : schedule_turned();
    }

    void describe(KernelDescription &description) override {
        describe_packing("channels_last_packing", get_target(), description);
        if (aligned) description.set("aligned_positions", values_of_row());
        if (narrow) description.set("max_out_channels", tile_channels);
        if (few_channels) description.set("max_out_channels", 16);
        if (along_channels) description.set("packs_along_channels", "true");
    }

  private:
    /// That a thread stores at once: 16 bytes, or four.
    int values_of_row() const { return aligned ? 4 : 16 / halide_type(given).bytes(); }
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Func staged{"staged"};
    Halide::Var value{"value"}, block{"block"}, eight{"eight"}, lane{"lane"}, warp{"warp"};
    Halide::Var position{"position"}, channel{"channel"}, group{"group"}, image{"image"};

    // Neighbouring lanes read neighbouring positions, and write neighbouring channels: four lanes 64 bytes of one of eight
    // positions. The pitch keeps what they read in different banks.
    void schedule_turned() {
        using namespace Halide;
        constexpr int warps = 8, lanes_of_row = 4, neighbours = 8;
        const int values = values_of_row();
        Var round{"round"}, place_round{"place_round"}, eight_block{"eight_block"}, neighbour{"neighbour"};
        Func(packed)
            .split(position, block, position, tile_positions, guard)
            .split(position, warp, neighbour, tile_positions / warps)
            .split(neighbour, place_round, neighbour, neighbours)
            .split(eight, eight_block, eight, tile_channels / values, guard)
            .split(eight, round, eight, lanes_of_row)
            .fuse(eight, neighbour, lane)
            .fuse(eight_block, block, block)
            .reorder(value, round, place_round, lane, warp, block, group, image)
            .unroll(round)
            .unroll(place_round)
            .gpu_blocks(block, group, image)
            .gpu_threads(lane, warp)
            .never_partition_all();
        staged.compute_at(packed, block).store_in(MemoryType::GPUShared)
            .bound_extent(position, tile_positions).bound_extent(channel, tile_channels)
            .align_storage(position, tile_positions + 8 / values)
            .split(position, position, lane, 32).split(channel, round, warp, warps)
            .reorder(position, round, lane, warp).unroll(position).unroll(round)
            .gpu_threads(lane, warp).never_partition_all();
    }

    // A thread turns four positions of four channels in its registers. Four lanes write a position, eight read a channel:
    // whole sectors of 32 bytes. (With 16 bits, eight of eight would be stored in halves of 8 bytes, which lie 16
    // apart.)
    void schedule_aligned() {
        using namespace Halide;
        const int values = values_of_row();
        const auto multiple = [values](const Expr &e) { return e / values * values; };
        for (int d = 1; d < 4; d++) picture.dim(d).set_stride(multiple(picture.dim(d).stride()));
        picture.dim(0).set_stride(1).set_extent(multiple(picture.dim(0).extent()));
        packed.dim(0).set_extent(multiple(packed.dim(0).extent()));
        picture.set_host_alignment(16);
        Var place{"place"}, eight_block{"eight_block"};
        constexpr int lanes_of_row = 4, threads = 256;
        Func(packed).split(position, position, place, values).split(position, block, position, threads / lanes_of_row, guard)
            .split(eight, eight_block, eight, lanes_of_row, guard).fuse(eight, position, lane).fuse(eight_block, block, block)
            .reorder(value, place, lane, block, group, image).unroll(place)
            .gpu_blocks(block, group, image).gpu_threads(lane).never_partition_all();
        staged.compute_at(packed, lane).store_in(MemoryType::Register).bound_extent(position, values).bound_extent(channel, values)
            .bound_extent(group, 1).bound_extent(image, 1).vectorize(position).unroll(channel).never_partition_all();
    }

    // Neighbouring lanes have neighbouring 16 bytes of what is packed, and read much the same lines.
    void schedule_along_channels() {
        picture.dim(1).set_stride(1);
        Func(packed).fuse(eight, position, lane).split(lane, block, lane, 256, guard).reorder(value, lane, block, group, image)
            .gpu_blocks(block, group, image).gpu_threads(lane).never_partition_all();
    }

    // A thread has 16 bytes of a position.
    void schedule_few() {
        Func(packed).split(position, block, lane, 256, guard).reorder(value, lane, block, eight, group, image)
            .fuse(block, eight, block).gpu_blocks(block, group, image).gpu_threads(lane).never_partition_all();
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsLast, pack_channels_last)
