// The second pass of weight gradients that are matrix products (weight_gradient_product.h): adds the parts of
// every weight, first to last, and turns them from the order in which products are stored into that of the
// weights.
#include <algorithm>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "generators/format_text.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// sum(weight, input channel, group) = sum over bands of partial(input channel, output channel, tap, group,
/// band); a weight's number within an input channel is output channel * taps + tap, or, where output channels are innermost
/// in memory, tap * output channels + output channel: then the runtime lets those two dimensions change places.
class WeightGradientSum : public Halide::Generator<WeightGradientSum>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> written{"written", Storage::f32, storage_names()};
    /// Each thread adds every `slices`-th part of some weights.
    GeneratorParam<int> slices{"slices", 16};
    Input<Halide::Buffer<float>> partial{"partial", 5};
    Output<Halide::Buffer<>> sum{"sum", 3};

    void configure() { sum.set_type(halide_type(written)); }

    void generate() {
        using namespace Halide;
        const auto inside = [&](const Expr &index, int d) { return clamp(index, 0, partial.dim(d).extent() - 1); };
        const Expr bands = partial.dim(4).extent();
        const Expr out_channel = unsigned_quotient(weight, partial.dim(2).extent());
        const Expr tap = weight - out_channel * partial.dim(2).extent();
        // Parts of each weight whose loads are under way. Where they are added in order there are threads
        // enough without it: 640 to 640 channels, k16, took 20.3 us by fours and take 15.6 (NVIDIA H200, 2026-11-23).
        const int slices = this->slices, at_once = slices > 1 ? 4 : 1;
        band = RDom(0, at_once, 0, slices, 0, (bands + at_once * slices - 1) / (at_once * slices), "band");
        const Expr part = (band.z * at_once + band.x) * slices + band.y;
        total(weight, in_channel, group) +=
            select(part < bands, partial(inside(in_channel, 0), inside(out_channel, 1), inside(tap, 2), group,
                                         inside(part, 4)), 0.f);
        sum(weight, in_channel, group) = store(total(weight, in_channel, group), written);
    }

    void schedule() {
        for (int d = 0; d < 5; d++) partial.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) sum.dim(d).set_min(0);
        slices > 1 ? schedule_slices() : schedule_whole();
        add_passes_of_any_kernel(get_pipeline());
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::weight_gradient_sum, get_target());
        if (written != Storage::f32) description.set("weight", format_text(written));
        if (slices == 1) description.set("sums_in_order", "true");
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    static constexpr int lanes = 32;
    Halide::Var weight{"weight"}, in_channel{"in_channel"}, group{"group"};
    Halide::RDom band;
    Halide::Func total{"total"};

    // Where there are few parts, or weights enough: a block turns 32 x 32 of them.
    void schedule_whole() {
        using namespace Halide;
        constexpr int tile = 32, warps = 8, of_thread = tile / warps;
        Var weight_block{"weight_block"}, in_block{"in_block"}, lane{"lane"}, warp{"warp"}, round{"round"};
        Func(sum).split(weight, weight_block, lane, tile, guard).split(in_channel, in_block, in_channel, tile, guard)
            .split(in_channel, round, warp, warps)
            .reorder(round, lane, warp, weight_block, in_block, group).unroll(round)
            .gpu_blocks(weight_block, in_block, group).gpu_threads(lane, warp).never_partition_all();
        Func totals = total.in(Func(sum));
        totals.compute_at(sum, weight_block).store_in(MemoryType::GPUShared)
            .bound_extent(weight, tile).bound_extent(in_channel, tile).bound_extent(group, 1)
            .reorder_storage(in_channel, weight).align_storage(in_channel, tile + 1)
            .split(weight, warp, weight, of_thread).split(in_channel, in_channel, lane, lanes)
            .reorder(weight, in_channel, lane, warp).unroll(weight).gpu_threads(lane, warp).never_partition_all();
        total.compute_at(totals, in_channel).store_in(MemoryType::Register)
            .bound_extent(weight, of_thread).bound_extent(in_channel, 1).unroll(weight);
        total.update().reorder(weight, band.x, band.y, band.z).unroll(weight).unroll(band.x);
    }

    // Lanes read neighbouring input channels, and write neighbouring weights. Where weights are few there are
    // many bands: each thread adds every `slices`-th of some weights, so that many loads are under way. With four slices
    // that made layers of few channels up to a third faster (MNIST, 32 to 16 channels, tf32: 0.058 to 0.040 ms,
    // NVIDIA H200, 2026-11-21); with sixteen, all threads of a block, 32 to 1 channels of 128 images 14x14 took 0.022 ms
    // in place of 0.045 (tf32, 2026-11-22). Blocks of few weights, as 20 x 10 of them had one block of 16 a channel for 530 parts,
    // which took 19.5 us (2026-11-23).
    void schedule_slices() {
        using namespace Halide;
        constexpr int of_thread = 2, weights = 4, channels = 32;
        const int warps = std::min(slices * weights / of_thread, channels * weights / lanes);  // that store
        Var weight_block{"weight_block"}, in_block{"in_block"}, neighbour{"neighbour"}, lane{"lane"}, warp{"warp"};
        Var round{"round"}, slice{"slice"};
        Func slice_total = total.update().rfactor(band.y, slice), slice_totals = slice_total.in(total);
        Func(sum).split(weight, weight_block, lane, weights, guard).split(in_channel, in_block, in_channel, channels, guard)
            .split(in_channel, in_channel, neighbour, lanes / weights).split(in_channel, round, warp, warps)
            .fuse(lane, neighbour, lane)
            .reorder(round, lane, warp, weight_block, in_block, group).unroll(round)
            .gpu_blocks(weight_block, in_block, group).gpu_threads(lane, warp).never_partition_all();
        total.compute_at(sum, round);
        total.update().unroll(band.y);
        slice_totals.compute_at(sum, weight_block).store_in(MemoryType::GPUShared)
            .bound_extent(weight, weights).bound_extent(in_channel, channels).bound_extent(group, 1)
            .reorder_storage(in_channel, weight, slice).align_storage(in_channel, channels + 1)
            .split(weight, warp, weight, of_thread).fuse(warp, slice, warp).split(in_channel, in_channel, lane, lanes)
            .reorder(weight, in_channel, lane, warp).unroll(weight).gpu_threads(lane, warp).never_partition_all();
        slice_total.compute_at(slice_totals, in_channel).store_in(MemoryType::Register)
            .bound_extent(weight, of_thread).bound_extent(in_channel, 1).bound_extent(slice, 1).unroll(weight);
        slice_total.update().reorder(weight, band.x, band.z).unroll(weight).unroll(band.x);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientSum, weight_gradient_sum)
