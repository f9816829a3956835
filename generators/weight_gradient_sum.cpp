// The second pass of weight gradients that are matrix products (weight_gradient_product.h): adds the parts of
// every weight, first to last, and turns them from the order in which products are stored into that of the
// weights.
#include "Halide.h"
#include "compiler/device_assertions.h"
#include "generators/kernel_description.h"

namespace conv_transpose {

/// sum(weight, input channel, group) = sum over bands of partial(input channel, output channel, tap, group,
/// band); a weight's number within an input channel is output channel * taps + tap.
class WeightGradientSum : public Halide::Generator<WeightGradientSum>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> partial{"partial", 5};
    Output<Halide::Buffer<float>> sum{"sum", 3};

    void generate() {
        using namespace Halide;
        const auto inside = [&](const Expr &index, int d) { return clamp(index, 0, partial.dim(d).extent() - 1); };
        const Expr taps = partial.dim(2).extent(), bands = partial.dim(4).extent();
        // Several at once, so that their loads are under way together.
        band = RDom(0, at_once, 0, (bands + at_once - 1) / at_once, "band");
        const Expr part = band.y * at_once + band.x;
        total(weight, in_channel, group) +=
            select(part < bands, partial(inside(in_channel, 0), inside(weight / taps, 1), weight % taps, group,
                                         inside(part, 4)), 0.f);
        sum(weight, in_channel, group) = total(weight, in_channel, group);
    }

    // Lanes read neighbouring input channels, and write neighbouring weights.
    void schedule() {
        using namespace Halide;
        constexpr auto guard = TailStrategy::GuardWithIf;
        constexpr int lanes = 32, warps = 8;
        for (int d = 0; d < 5; d++) partial.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) sum.dim(d).set_min(0);
        Var weight_block{"weight_block"}, in_block{"in_block"}, lane{"lane"}, warp{"warp"}, round{"round"};
        Func totals = total.in(sum);
        Func(sum).split(weight, weight_block, lane, lanes, guard).split(in_channel, in_block, in_channel, lanes, guard)
            .split(in_channel, round, warp, warps)
            .reorder(round, lane, warp, weight_block, in_block, group).unroll(round)
            .gpu_blocks(weight_block, in_block, group).gpu_threads(lane, warp).never_partition_all();
        totals.compute_at(sum, weight_block).store_in(MemoryType::GPUShared)
            .bound_extent(weight, lanes).bound_extent(in_channel, lanes).bound_extent(group, 1)
            .reorder_storage(in_channel, weight).align_storage(in_channel, lanes + 1)
            .split(weight, round, warp, warps).split(in_channel, in_channel, lane, lanes)
            .reorder(in_channel, round, lane, warp).gpu_threads(lane, warp).never_partition_all();
        total.compute_at(totals, round);
        total.update().reorder(band.x, band.y).unroll(band.x);
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_gradient_sum");
        describe_target(get_target(), description);
    }

  private:
    static constexpr int at_once = 4;
    Halide::Var weight{"weight"}, in_channel{"in_channel"}, group{"group"};
    Halide::RDom band;
    Halide::Func total{"total"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientSum, weight_gradient_sum)
