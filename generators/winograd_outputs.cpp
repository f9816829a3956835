// The last pass of Winograd's algorithm on GPUs (algorithm/winograd.h): sums at six or eight points an axis become the outputs of a tile,
// pictures or the gradients of weights, and what follows a sum (algorithm/epilogue.h).
#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/fast_division.h"
#include "algorithm/winograd.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// output(x, y, channel, image) = activation(bias(channel) + what is transformed of points(tile of any image, channel, point)).
class WinogradOutputs : public Halide::Generator<WinogradOutputs>, public DescribedGenerator {
  public:
    GeneratorParam<int> points_h{"points_h", 6}, points_w{"points_w", 6};
    /// What was multiplied with the tiles had so many taps: the points leave points + 1 - taps outputs.
    GeneratorParam<int> taps_h{"taps_h", 3}, taps_w{"taps_w", 3};

    Input<Halide::Buffer<float>> points{"points", 3};
    Input<Halide::Buffer<float>> bias{"bias", 1};
    Input<int> has_bias{"has_bias"}, activation{"activation"};
    Input<float> slope{"slope"};
    Input<int> tiles_w{"tiles_width"}, tiles_h{"tiles_height"};
    Output<Halide::Buffer<float>> output{"output", 4};

    void generate() {
        using namespace Halide;
        using winograd::transformed;
        const winograd::Transform across = winograd::of_points(points_w, points_h, taps_w),
                                  down = winograd::of_points(points_h, points_w, taps_h);
        half(x, j, tile, channel) =
            divided(transformed(across.output, x, [&](int k) { return points(tile, channel, k + across.points() * j); }), across);
        tile_output(x, y, tile, channel) =
            divided(transformed(down.output, y, [&](int k) { return half(x, k, tile, channel); }), down);
        // All tiles, and those that fill up the last block.
        const Expr all = tiles_w * tiles_h * output.dim(3).extent();
        stored = RDom({{0, across.outputs()}, {0, down.outputs()}, {0, (all + threads - 1) / threads * threads}}, "stored");
        const Expr line = unsigned_quotient(stored.z, tiles_w), of_image = unsigned_quotient(line, tiles_h);
        const Expr column = (stored.z - line * tiles_w) * across.outputs() + stored.x;
        const Expr row = (line - of_image * tiles_h) * down.outputs() + stored.y;
        stored.where(of_image < output.dim(3).extent());
        stored.where(column < output.dim(0).extent());
        stored.where(row < output.dim(1).extent());
        const auto promised = [&](const Expr &at, int d) { return unsafe_promise_clamped(at, 0, output.dim(d).extent() - 1); };
        output(x, y, channel, image) = undef<float>();
        output(promised(column, 0), promised(row, 1), channel, promised(of_image, 3)) =
            activate(tile_output(stored.x, stored.y, stored.z, channel) + select(has_bias != 0, bias(channel), 0.f), activation, slope);
    }

    // A thread has a tile, whose points it reads beside its neighbours'.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 3; d++) points.dim(d).set_min(0);
        for (int d = 0; d < 4; d++) output.dim(d).set_min(0);
        bias.dim(0).set_min(0);
        output.dim(0).set_stride(Expr());
        Func(output).gpu_single_thread();  // defines nothing, but must not seem to be on the host
        RVar block{"block"}, thread{"thread"};
        Func(output).update().allow_race_conditions().split(stored.z, block, thread, threads)
            .reorder(stored.x, stored.y, thread, block, channel).unroll(stored.x).unroll(stored.y)
            .gpu_blocks(block, channel).gpu_threads(thread).never_partition_all();
        const int outputs_w = points_w + 1 - taps_w, outputs_h = points_h + 1 - taps_h;
        half.bound(x, 0, outputs_w).bound(j, 0, points_h).unroll(j);
        tile_output.bound(x, 0, outputs_w).bound(y, 0, outputs_h).unroll(y);
        for (Func *f : {&half, &tile_output})
            f->compute_at(output, thread).store_in(MemoryType::Register)
                .bound_extent(tile, 1).bound_extent(channel, 1).unroll(x).never_partition_all();
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::winograd_outputs, get_target());
        description.set("kernel", taps_h, taps_w);
        description.set("winograd_points", points_h, points_w);
    }

  private:
    static constexpr int threads = 128;
    Halide::RDom stored;
    Halide::Var x{"x"}, y{"y"}, j{"j"}, tile{"tile"}, channel{"channel"}, image{"image"};
    Halide::Func half{"half"}, tile_output{"tile_output"};

    // Exact where the quotient is an integer: what remains of the first is found by a fused multiplication, and so is the
    // result, which no further sum is fused with.
    static Halide::Expr divided(const Halide::Expr &sum, const winograd::Transform &transform) {
        const float inverse = 1 / transform.divisor;
        const Halide::Expr quotient = strict_float(sum * inverse), rest = strict_float(sum - quotient * transform.divisor);
        return strict_float(quotient + rest * inverse);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WinogradOutputs, winograd_outputs)
