// Weight packing for tensor cores: rounded to TF32, in tiles of 64 rows, four input channels innermost.
#include "Halide.h"
#include "generators/gather.h"
#include "generators/packing_arguments.h"
#include "generators/tf32.h"
#include "generators/weight_layouts.h"

namespace conv_transpose {

/// (kx, ky, channel, input channel, group) becomes one array, innermost first: input channel % 4, row of the tile,
/// horizontal phase, tap x, tap y, vertical phase, part of the value (tf32x3 has two), input channel / 4, tile. A tile is
/// 64 channels, or 32 channels of two picture rows. What lies outside of the weights is zero.
class PackTensorCore : public Halide::Generator<PackTensorCore>, public PackingArguments {
  public:
    GeneratorParam<int> parts{"parts", 1};                // see ForwardTensorCore
    GeneratorParam<int> picture_rows{"picture_rows", 1};  // likewise
    /// Of the kernel that reads them; where a stride is not 1, its dilation is.
    Input<int> stride_w{"stride_width"}, padding_phase_w{"padding_phase_width"};
    Input<int> stride_h{"stride_height"}, padding_phase_h{"padding_phase_height"};

    void generate() {
        using namespace Halide;
        const Expr kernel_w = weight.dim(0).extent(), kernel_h = weight.dim(1).extent();
        const GatherAxis x_axis = GatherAxis::run_time({kernel_w, stride_w, 1, padding_phase_w, 1, 1});
        const GatherAxis y_axis = GatherAxis::run_time({kernel_h, stride_h, 1, padding_phase_h, 1, 1});
        const int rows = picture_rows, channels_a_tile = 64 / rows;
        const Expr channels = weight.dim(2).extent();
        const Expr tiles = (channels + channels_a_tile - 1) / channels_a_tile;
        const Expr taps_x = x_axis.taps(), taps_y = y_axis.taps() + (rows - 1);

        // From the innermost dimension outwards.
        Expr rest = i;
        const auto next = [&](const Expr &extent) {
            const Expr at = rest % extent;
            rest = rest / extent;
            return at;
        };
        const Expr value = next(4), row = next(64), phase_x = next(stride_w), tap_x = next(taps_x), tap_y = next(taps_y);
        const Expr phase_y = next(stride_h), part = next(parts);
        // Groups of four input channels; the runtime fills them up to what the kernel stages at once.
        const Expr positions = 256 * stride_w * taps_x * taps_y * stride_h * parts;
        const Expr k4 = next(packed.dim(0).extent() / (positions * tiles * weight.dim(4).extent()));
        const Expr channel = rest % tiles * channels_a_tile + row % channels_a_tile;
        // The clamp tells bounds inference what the quotients cannot.
        const Expr group = clamp(rest / tiles, 0, weight.dim(4).extent() - 1);

        const Expr kx = x_axis.tap(phase_x, tap_x);
        // Picture row p of the tile reaches its tap ky at tap y = ky + rows - 1 - p: it lies p rows further down.
        const Expr ky = y_axis.tap(phase_y, tap_y - (rows - 1) + row / channels_a_tile);
        const Func zero_outside = BoundaryConditions::constant_exterior(
            weight, 0.f, {{0, kernel_w}, {0, kernel_h}, {0, channels}, {0, weight.dim(3).extent()}, {Expr(), Expr()}});
        packed(i, one, two, three, four) =
            tf32_part(zero_outside(kx, ky, channel, k4 * 4 + value, group), part, get_target());
    }

    void schedule() {
        using namespace Halide;
        declare_packing();
        // A thread finds the place of four values once: that costs more than to move them.
        packed.dim(0).set_extent(packed.dim(0).extent() / 256 * 256);
        packed.set_host_alignment(16);
        Var block{"block"}, thread{"thread"}, four_channels{"four_channels"};
        Func(packed).split(i, i, four_channels, 4).vectorize(four_channels).split(i, block, thread, 64)
            .gpu_blocks(block).gpu_threads(thread);
    }

    void describe(KernelDescription &description) override {
        describe_packing(tensor_core_layout(parts, picture_rows), get_target(), description);
    }

  private:
    Halide::Var i{"i"}, one{"one"}, two{"two"}, three{"three"}, four{"four"};  // one array: the others have extent 1
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackTensorCore, pack_tensor_core)
