// Weight packing for tensor cores: rounded to TF32, in tiles of 64 rows, four input channels innermost.
#include "Halide.h"
#include "generators/kernel_description.h"
#include "generators/tf32.h"
#include "generators/weight_layouts.h"

namespace conv_transpose {

/// (kx, ky, channel, input channel, group) becomes one array, innermost first: input channel % 4, row of the tile, tap x,
/// tap y, part of the value (tf32x3 has two), input channel / 4, tile. A tile is 64 channels, or 32 channels of two
/// picture rows. What lies outside of the weights is zero.
class PackTensorCore : public Halide::Generator<PackTensorCore>, public DescribedGenerator {
  public:
    GeneratorParam<int> parts{"parts", 1};                // see ForwardTensorCore
    GeneratorParam<int> picture_rows{"picture_rows", 1};  // likewise
    Input<Halide::Buffer<float>> weight{"weight", 5};
    Output<Halide::Buffer<float>> packed{"packed", 5};

    void generate() {
        using namespace Halide;
        const int rows = picture_rows, channels_a_tile = 64 / rows;
        const Expr channels = weight.dim(2).extent();
        const Expr tiles = (channels + channels_a_tile - 1) / channels_a_tile;
        const Expr taps_x = weight.dim(0).extent(), taps_y = weight.dim(1).extent() + rows - 1;
        // Parts of groups of four input channels; the runtime fills them up to what the kernel stages at once.
        const Expr ks = packed.dim(0).extent() / (256 * taps_x * taps_y * tiles * weight.dim(4).extent());
        const Expr row = i / 4 % 64, slice = i / 256;
        const Expr tap_x = slice % taps_x, tap_y = slice / taps_x % taps_y;
        const Expr k = slice / (taps_x * taps_y) % ks, tile = slice / (taps_x * taps_y) / ks;
        const Expr in_channel = k / parts * 4 + i % 4;
        const Expr channel = tile % tiles * channels_a_tile + row % channels_a_tile;
        // Picture row p of the tile reaches its tap ky at tap y = ky + rows - 1 - p: it lies p rows further down.
        const Expr ky = tap_y - (rows - 1) + row / channels_a_tile;
        const Func zero_outside = BoundaryConditions::constant_exterior(
            weight, 0.f,
            {{Expr(), Expr()}, {0, weight.dim(1).extent()}, {0, channels}, {0, weight.dim(3).extent()}, {Expr(), Expr()}});
        packed(i, one, two, three, four) =
            tf32_part(zero_outside(tap_x, ky, channel, in_channel, tile / tiles), k % parts, get_target());
    }

    void schedule() {
        using namespace Halide;
        accept_any_strides(weight);
        for (int d = 0; d < 5; d++) packed.dim(d).set_min(0);
        Var block{"block"}, thread{"thread"};
        Func(packed).split(i, block, thread, 256).gpu_blocks(block).gpu_threads(thread);
    }

    void describe(KernelDescription &description) override {
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(tensor_core_layout(parts, picture_rows)));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var i{"i"}, one{"one"}, two{"two"}, three{"three"}, four{"four"};  // one array: the others have extent 1
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackTensorCore, pack_tensor_core)
