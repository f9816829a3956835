// Pictures with channels innermost, turned to positions innermost: numbers are moved, no more. What is computed in channels_last
// may be asked for in channels_first (Computation::turned).
#include "Halide.h"
#include "generators/channel_packing.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

/// The same (position, channel, group, image), with other strides.
class TurnPictures : public Halide::Generator<TurnPictures>, public ChannelPacking {
  public:
    /// Four of either are moved at once: of pictures that are promised to have a multiple, and to lie so.
    GeneratorParam<bool> aligned{"aligned", false};

    void configure() { declare_types(); }

    void generate() {
        using namespace Halide;
        if (aligned) {
            staged(position, channel, group, image) = picture(position, channel, group, image);
            packed(position, channel, group, image) = staged(position, channel, group, image);
            return;
        }
        const Expr inside = min(position, picture.dim(0).extent() - 1), is_channel = min(channel, picture.dim(1).extent() - 1);
        staged(position, channel, group, image) = word_of(picture(inside, is_channel, group, image));
        packed(position, channel, group, image) = element_of(staged(position, channel, group, image));
    }

    void schedule() {
        add_passes_of_any_kernel(get_pipeline());
        picture.dim(0).set_stride(Halide::Expr()), picture.dim(1).set_stride(1);
        declare_beginnings();
        if (aligned) schedule_aligned();
        else schedule_turned();
    }

    void describe(KernelDescription &description) override {
        describe_packing("picture_turning", get_target(), description);
        if (aligned) description.set("aligned_positions", together);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    static constexpr int together = 4;
    Halide::Func staged{"staged"};
    Halide::Var position{"position"}, channel{"channel"}, group{"group"}, image{"image"}, block{"block"}, channels{"channels"};
    Halide::Var lane{"lane"}, warp{"warp"}, round{"round"}, channel_round{"channel_round"}, value{"value"};

    // Lanes read neighbouring channels, and write neighbouring positions. The pitch keeps what they write from different banks.
    void schedule_turned() {
        using namespace Halide;
        constexpr int warps = 8, lanes = 32, tile_positions = 64;
        Func(packed)
            .split(position, block, position, tile_positions, guard).split(position, round, lane, lanes)
            .split(channel, channels, channel, lanes, guard).split(channel, channel_round, warp, warps)
            .reorder(round, channel_round, lane, warp, block, channels, group, image)
            .fuse(block, channels, block)
            .unroll(round).unroll(channel_round)
            .gpu_blocks(block, group, image).gpu_threads(lane, warp).never_partition_all();
        staged.compute_at(packed, block).store_in(MemoryType::GPUShared).reorder_storage(channel, position, group, image)
            .bound_extent(channel, lanes).bound_extent(position, tile_positions).align_storage(channel, lanes + 1)
            .split(position, round, warp, warps).rename(channel, lane)
            .reorder(round, lane, warp).unroll(round).gpu_threads(lane, warp).never_partition_all();
    }

    // A thread turns four positions of four channels in its registers. Four lanes read a position, eight write a channel: whole
    // sectors of 32 bytes.
    void schedule_aligned() {
        using namespace Halide;
        constexpr int lanes_of_row = 4, threads = 256;
        const auto multiple = [](const Expr &e) { return e / together * together; };
        for (int d = 0; d < 4; d++) {
            if (d != 1) picture.dim(d).set_stride(multiple(picture.dim(d).stride()));
            if (d != 0) packed.dim(d).set_stride(multiple(packed.dim(d).stride()));
        }
        for (int d = 0; d < 2; d++)
            picture.dim(d).set_extent(multiple(picture.dim(d).extent())), packed.dim(d).set_extent(multiple(packed.dim(d).extent()));
        picture.set_host_alignment(16), packed.set_host_alignment(16);
        Func(packed).split(position, position, value, together).vectorize(value).split(channel, channel, channel_round, together)
            .split(position, block, position, threads / lanes_of_row, guard).split(channel, channels, channel, lanes_of_row, guard)
            .fuse(channel, position, lane).fuse(channels, block, block)
            .reorder(value, channel_round, lane, block, group, image).unroll(channel_round)
            .gpu_blocks(block, group, image).gpu_threads(lane).never_partition_all();
        staged.compute_at(packed, lane).store_in(MemoryType::Register).reorder_storage(channel, position, group, image)
            .bound_extent(position, together).bound_extent(channel, together).bound_extent(group, 1).bound_extent(image, 1)
            .reorder(channel, position, group, image).vectorize(channel).unroll(position).never_partition_all();
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::TurnPictures, turn_pictures)
