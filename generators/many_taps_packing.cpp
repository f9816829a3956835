// Weight packing for tensor cores where kernels are large: the same array as pack_tensor_core writes
// (tensor_core_packing.cpp).
#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_layouts.h"
#include "generators/lowering_passes.h"
#include "generators/packing_arguments.h"

namespace conv_transpose {

/// (kx, ky, channel, input channel, group) becomes (element of a tile, tap, part of the value, input channel
/// / 4, tile + tiles * group). An element is input channel % 4, then the row of the tile; a tile is 64
/// channels. A tap is, innermost first, horizontal phase, tap x, tap y, vertical phase; tf32x3 has two parts.
/// What lies outside of the weights is zero.
///
/// Weights are given with kernel positions innermost, and leave with channels innermost. So they are turned
/// round in shared memory, some taps of a tile at a time: lanes read neighbours and write neighbours. NVIDIA
/// H200, 2026-11-21: 33 MB of 4x4 kernels 29 us, by pack_tensor_core 44; but 8 MB of 2x2 kernels 15.7, by
/// that 13.3.
class PackManyTaps : public Halide::Generator<PackManyTaps>, public TensorCorePackingArguments {
  public:
    GeneratorParam<int> parts{"parts", 1};  // see ForwardTensorCore

    void generate() {
        using namespace Halide;
        const Expr kernel_w = weight.dim(0).extent(), kernel_h = weight.dim(1).extent(), channels = weight.dim(2).extent();
        const GatherAxis x_axis = GatherAxis::run_time({kernel_w, stride_w, 1, padding_phase_w, 1, 1});
        const GatherAxis y_axis = GatherAxis::run_time({kernel_h, stride_h, 1, padding_phase_h, 1, 1});
        const Expr tap_x = tap / stride_w % x_axis.taps(), row_of_taps = tap / stride_w / x_axis.taps();
        const Expr kx = x_axis.tap(tap % stride_w, tap_x);
        const Expr ky = y_axis.tap(row_of_taps / y_axis.taps(), row_of_taps % y_axis.taps());
        const Expr tiles = (channels + 63) / 64;
        // The clamp tells bounds inference what the quotient cannot.
        const Expr group = clamp(tile / tiles, 0, weight.dim(4).extent() - 1);
        const Func zero_outside = BoundaryConditions::constant_exterior(
            weight, 0.f, {{0, kernel_w}, {0, kernel_h}, {0, channels}, {0, weight.dim(3).extent()}, {Expr(), Expr()}});
        staged(row, value, tap, k4, tile) = zero_outside(kx, ky, tile % tiles * 64 + row, k4 * 4 + value, group);
        packed(element, tap, part, k4, tile) =
            tf32_part(staged(element / 4, element % 4, tap, k4, tile), part, get_target());
    }

    void schedule() {
        using namespace Halide;
        declare_packing();
        add_passes_of_any_kernel(this->get_pipeline());
        packed.dim(0).set_bounds(0, 256), packed.dim(2).set_bounds(0, parts);
        packed.set_host_alignment(16);
        constexpr auto guard = TailStrategy::GuardWithIf;
        Var tap_block{"tap_block"}, lane{"lane"}, warp{"warp"}, rest{"rest"};
        Func(packed).bound(element, 0, 256).bound(part, 0, parts)
            .split(tap, tap_block, tap, taps, guard).split(element, lane, element, 4).split(tap, tap, warp, 4)
            .reorder(element, part, tap, lane, warp, tap_block, k4, tile)
            .vectorize(element).unroll(part).unroll(tap)
            .fuse(tap_block, k4, tap_block).fuse(tap_block, tile, tap_block)
            .gpu_blocks(tap_block).gpu_threads(lane, warp).never_partition_all();
        // Lanes along taps, then rows; the odd pitch keeps taps in different banks.
        staged.compute_at(packed, tap_block).store_in(MemoryType::GPUShared)
            .bound_extent(row, 64).bound(value, 0, 4).bound_extent(tap, taps).bound_extent(k4, 1).bound_extent(tile, 1)
            .align_storage(row, 65)
            .fuse(tap, row, rest).split(rest, rest, lane, 64).split(rest, rest, warp, 4)
            .reorder(rest, value, lane, warp).unroll(rest).unroll(value)
            .gpu_threads(lane, warp).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_packing(tensor_core_layout(parts, 1), get_target(), description);
        description.set("min_taps", 2 * taps);
    }

  private:
    static constexpr int taps = 8;  // turned round together

    Halide::Var element{"element"}, tap{"tap"}, part{"part"}, k4{"k4"}, tile{"tile"};
    Halide::Var row{"row"}, value{"value"};
    Halide::Func staged{"staged"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackManyTaps, pack_many_taps)
