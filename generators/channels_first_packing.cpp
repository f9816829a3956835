// Weights that were computed with output channels innermost (weight_gradient_implicit_gemm.h), turned to kernel positions
// innermost: numbers are moved, no more. An input channel is an image here, whose numbers lie together in both orders. A tile of
// its channels goes through shared memory, so that neighbouring lanes read neighbouring channels and write neighbouring numbers.
#include "Halide.h"
#include "algorithm/fast_division.h"
#include "generators/channel_packing.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

/// (position, channel, group, image) becomes (position + positions * channel of a tile, tile, group, image).
class PackChannelsFirst : public Halide::Generator<PackChannelsFirst>, public ChannelPacking {
  public:
    void configure() { declare_types(); }

    void generate() {
        using namespace Halide;
        const Expr positions = picture.dim(0).extent(), last = picture.dim(1).extent() - 1;
        staged(channel, position, tile, group, image) =
            word_of(picture(position, min(tile * tile_channels() + channel, last), group, image));
        const Expr channel_of_tile = unsigned_quotient(element, positions);
        const Expr position_of_channel = element - channel_of_tile * positions;
        const Expr turned = staged(unsafe_promise_clamped(channel_of_tile, 0, tile_channels() - 1),
                                   unsafe_promise_clamped(position_of_channel, 0, positions - 1), tile, group, image);
        packed(element, tile, group, image) = element_of(turned);
    }

    // A word more than the channels of a tile, mostly an even number: lanes read neighbouring positions from different banks.
    void schedule() {
        using namespace Halide;
        constexpr int warps = 8, lanes = 32, spare_words = 1;
        add_passes_of_any_kernel(get_pipeline());
        picture.dim(0).set_stride(Expr()), picture.dim(1).set_stride(1);
        declare_beginnings();
        Var round{"round"}, position_round{"position_round"}, lane{"lane"}, warp{"warp"};
        Func(packed).split(element, round, lane, warps * lanes, guard).split(lane, warp, lane, lanes)
            .reorder(round, lane, warp, tile, group, image)
            .gpu_blocks(tile, group, image).gpu_threads(lane, warp).never_partition_all();
        staged.compute_at(packed, tile).store_in(MemoryType::GPUShared)
            .bound(channel, 0, tile_channels() + spare_words).bound(position, 0, picture.dim(0).extent())
            .bound_extent(tile, 1).bound_extent(group, 1).bound_extent(image, 1)
            .split(channel, round, lane, lanes, guard).split(position, position_round, warp, warps, guard)
            .reorder(round, position_round, lane, warp).gpu_threads(lane, warp).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_packing("channels_first_packing", get_target(), description);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Func staged{"staged"};
    Halide::Var element{"element"}, position{"position"}, channel{"channel"}, tile{"tile"}, group{"group"}, image{"image"};

    Halide::Expr tile_channels() { return packed.dim(0).extent() / picture.dim(0).extent(); }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelsFirst, pack_channels_first)
