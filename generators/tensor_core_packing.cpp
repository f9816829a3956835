// Weight packing for tensor cores: rounded to TF32, in tiles of 64 rows, four input channels innermost.
#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_layouts.h"
#include "generators/packing_arguments.h"

namespace conv_transpose {

/// What both forms share: coordinates are taken from a number, the innermost first.
class TensorCorePacking : public TensorCorePackingArguments {
  public:
    Halide::GeneratorParam<int> parts{"parts", 1};  // see ForwardTensorCore

  protected:
    Halide::Var i{"i"}, one{"one"}, two{"two"}, three{"three"}, four{"four"};  // one array: the others have extent 1

    /// Takes numbers apart.
    struct Coordinates {
        Halide::Expr rest;
        Halide::Expr next(const Halide::Expr &extent) {
            const Halide::Expr at = rest % extent;
            rest = rest / extent;
            return at;
        }
    };

    /// What lies outside of the weights is zero.
    void pack(const Halide::Expr &kx, const Halide::Expr &ky, const Halide::Expr &channel,
              const Halide::Expr &in_channel, const Halide::Expr &group, const Halide::Expr &part,
              const Halide::Target &target) {
        const Halide::Func zero_outside = Halide::BoundaryConditions::constant_exterior(
            weight, 0.f,
            {{0, weight.dim(0).extent()}, {0, weight.dim(1).extent()}, {0, weight.dim(2).extent()},
             {0, weight.dim(3).extent()}, {Halide::Expr(), Halide::Expr()}});
        packed(i, one, two, three, four) = tf32_part(zero_outside(kx, ky, channel, in_channel, group), part, target);
    }

    /// The clamp tells bounds inference what the quotients cannot.
    Halide::Expr existing_group(const Halide::Expr &group) { return clamp(group, 0, weight.dim(4).extent() - 1); }

    void schedule_packing() {
        declare_packing();
        // A thread finds the place of four values once: that costs more than to move them.
        packed.dim(0).set_extent(packed.dim(0).extent() / 256 * 256);
        packed.set_host_alignment(16);
        Halide::Var block{"block"}, thread{"thread"}, four_channels{"four_channels"};
        Halide::Func(packed).split(i, i, four_channels, 4).vectorize(four_channels).split(i, block, thread, 64)
            .gpu_blocks(block).gpu_threads(thread);
    }
};

/// (kx, ky, channel, input channel, group) becomes one array, innermost first: input channel % 4, row of the
/// tile, horizontal phase, tap x, tap y, vertical phase, part of the value (tf32x3 has two), input channel /
/// 4, tile. A tile is 64 channels, or 32 channels of two picture rows.
class PackTensorCore : public Halide::Generator<PackTensorCore>, public TensorCorePacking {
  public:
    GeneratorParam<int> picture_rows{"picture_rows", 1};  // see ForwardTensorCore

    void generate() {
        using Halide::Expr;
        const GatherAxis x_axis = GatherAxis::run_time({weight.dim(0).extent(), stride_w, 1, padding_phase_w, 1, 1});
        const GatherAxis y_axis = GatherAxis::run_time({weight.dim(1).extent(), stride_h, 1, padding_phase_h, 1, 1});
        const int rows = picture_rows, channels_a_tile = 64 / rows;
        const Expr tiles = (weight.dim(2).extent() + channels_a_tile - 1) / channels_a_tile;
        const Expr taps_x = x_axis.taps(), taps_y = y_axis.taps() + (rows - 1);

        Coordinates c{i};
        const Expr value = c.next(4), row = c.next(64), phase_x = c.next(stride_w), tap_x = c.next(taps_x),
                   tap_y = c.next(taps_y);
        const Expr phase_y = c.next(stride_h), part = c.next(parts);
        // Groups of four input channels; the runtime fills them up to what the kernel stages at once.
        const Expr positions = 256 * stride_w * taps_x * taps_y * stride_h * parts;
        const Expr k4 = c.next(packed.dim(0).extent() / (positions * tiles * weight.dim(4).extent()));
        const Expr channel = c.next(tiles) * channels_a_tile + row % channels_a_tile;

        // Picture row p of the tile reaches its tap ky at tap y = ky + rows - 1 - p: it lies p rows further down.
        const Expr ky = y_axis.tap(phase_y, tap_y - (rows - 1) + row / channels_a_tile);
        pack(x_axis.tap(phase_x, tap_x), ky, channel, k4 * 4 + value, existing_group(c.rest), part, get_target());
    }

    void schedule() { schedule_packing(); }

    void describe(KernelDescription &description) override {
        describe_packing(tensor_core_layout(parts, picture_rows), get_target(), description);
    }
};

/// For the sub-pixel form, innermost first: input channel % 4, row of the tile, tap x, tap y, part of the value, input
/// channel / 4, tile. A tile's rows are the phases, horizontal ones innermost, of as many channels as fit 64 rows.
class PackTensorCoreSubPixel : public Halide::Generator<PackTensorCoreSubPixel>, public TensorCorePacking {
  public:
    void generate() {
        using Halide::Expr;
        const Expr phases = stride_w * stride_h, channels = weight.dim(2).extent(), channels_a_tile = 64 / phases;
        const Expr tiles = (channels + channels_a_tile - 1) / channels_a_tile;
        const Expr taps_x = (weight.dim(0).extent() + stride_w - 1) / stride_w;
        const Expr taps_y = (weight.dim(1).extent() + stride_h - 1) / stride_h;

        Coordinates c{i};
        const Expr value = c.next(4), row = c.next(64), tap_x = c.next(taps_x), tap_y = c.next(taps_y),
                   part = c.next(parts);
        const Expr positions = 256 * taps_x * taps_y * parts;
        const Expr k4 = c.next(packed.dim(0).extent() / (positions * tiles * weight.dim(4).extent()));
        const Expr tile = c.next(tiles), channel_of_tile = row / phases;
        // Rows that no whole channel fills stay zero.
        const Expr channel =
            select(channel_of_tile < channels_a_tile, tile * channels_a_tile + channel_of_tile, channels);
        pack(row % stride_w + stride_w * tap_x, row / stride_w % stride_h + stride_h * tap_y, channel, k4 * 4 + value,
             existing_group(c.rest), part, get_target());
    }

    void schedule() { schedule_packing(); }

    void describe(KernelDescription &description) override {
        describe_packing(tensor_core_layout(parts, 1, true), get_target(), description);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackTensorCore, pack_tensor_core)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackTensorCoreSubPixel, pack_tensor_core_sub_pixel)
