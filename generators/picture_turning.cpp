// Pictures with channels innermost, turned to positions innermost: numbers are moved, no more. What is computed in channels_last
// may be asked for in channels_first (Computation::turned).
#include "Halide.h"
#include "generators/channel_packing.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

/// The same (channel, position, group, image), with other strides. Where fours of both lie together, packing of aligned pictures
/// takes its place (channels_last_packing.cpp, which calls the one the other).
class TurnPictures : public Halide::Generator<TurnPictures>, public ChannelPacking {
  public:
    void configure() { declare_types(); }

    void generate() {
        using namespace Halide;
        const Expr is_channel = min(channel, picture.dim(0).extent() - 1), inside = min(position, picture.dim(1).extent() - 1);
        staged(channel, position, group, image) = word_of(picture(is_channel, inside, group, image));
        packed(channel, position, group, image) = element_of(staged(channel, position, group, image));
    }

    // Lanes read neighbouring channels, and write neighbouring positions. The pitch keeps what they write from different banks.
    void schedule() {
        using namespace Halide;
        constexpr int warps = 8, lanes = 32, tile_positions = 64;
        add_passes_of_any_kernel(get_pipeline());
        packed.dim(0).set_stride(Expr()), packed.dim(1).set_stride(1);
        declare_beginnings();
        Func(packed)
            .split(position, block, position, tile_positions, guard).split(position, round, lane, lanes)
            .split(channel, channels, channel, lanes, guard).split(channel, channel_round, warp, warps)
            .reorder(round, channel_round, lane, warp, block, channels, group, image)
            .fuse(block, channels, block)
            .unroll(round).unroll(channel_round)
            .gpu_blocks(block, group, image).gpu_threads(lane, warp).never_partition_all();
        staged.compute_at(packed, block).store_in(MemoryType::GPUShared)
            .bound_extent(channel, lanes).bound_extent(position, tile_positions).align_storage(channel, lanes + 1)
            .split(position, round, warp, warps).rename(channel, lane)
            .reorder(round, lane, warp).unroll(round).gpu_threads(lane, warp).never_partition_all();
    }

    void describe(KernelDescription &description) override { describe_packing("picture_turning", get_target(), description); }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Func staged{"staged"};
    Halide::Var channel{"channel"}, position{"position"}, group{"group"}, image{"image"}, block{"block"}, channels{"channels"};
    Halide::Var lane{"lane"}, warp{"warp"}, round{"round"}, channel_round{"channel_round"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::TurnPictures, turn_pictures)
