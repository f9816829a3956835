// The last pass of Winograd's algorithm on GPUs (algorithm/winograd.h): sums at each point become the outputs of a
// tile, pictures or the gradients of weights, and what follows a sum (algorithm/epilogue.h).
#include <algorithm>

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/fast_division.h"
#include "algorithm/winograd.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// output(tile * step + phase + stride * i, channel, image) = activation(bias(channel) + what is transformed of
/// points(tile of any image, (channel, phase), point)).
class WinogradOutputs : public Halide::Generator<WinogradOutputs>, public DescribedGenerator {
  public:
    GeneratorParam<int> points_h{"points_h", 6}, points_w{"points_w", 6};

    Input<Halide::Buffer<float>> points{"points", 3};
    Input<Halide::Buffer<float>> bias{"bias", 1};
    Input<int> has_bias{"has_bias"}, activation{"activation"};
    Input<float> slope{"slope"};
    /// A tile has so many outputs, any number.
    Input<int> tiles_w{"tiles_width"}, step_w{"step_width"}, phases_w{"phases_width"}, stride_w{"stride_width"},
        outputs_w{"outputs_width"};
    Input<int> tiles_h{"tiles_height"}, step_h{"step_height"}, phases_h{"phases_height"}, stride_h{"stride_height"},
        outputs_h{"outputs_height"};
    Output<Halide::Buffer<float>> output{"output", 4};

    void generate() {
        using namespace Halide;
        using winograd::transformed_outputs;
        const auto promised = [](const Expr &at, const auto &d) { return unsafe_promise_clamped(at, d.min(), d.max()); };
        // Lanes are phases along a row, whose outputs are neighbours, of all tiles, and those that fill up the last block.
        const Expr lanes = phases_w * tiles_w * tiles_h * output.dim(3).extent();
        const auto tile_of = [&](const Expr &lane) { return unsigned_quotient(lane, phases_w); };
        const auto phase_of = [&](const Expr &lane) { return lane - tile_of(lane) * phases_w; };
        const Expr tile = promised(tile_of(lane), points.dim(0)),
                   row = promised(row_of_phases * phases_w + phase_of(lane), points.dim(1));
        half(x, j, lane, row_of_phases) = divided(
            transformed_outputs(across(), outputs_w, x, [&](int k) { return points(tile, row, k + points_w * j); }),
            across());
        tile_output(x, y, lane, row_of_phases) =
            divided(transformed_outputs(down(), outputs_h, y, [&](int k) { return half(x, k, lane, row_of_phases); }), down());
        stored = RDom({{0, across().outputs()},
                       {0, down().outputs()},
                       {0, (lanes + threads - 1) / threads * threads},
                       {0, phases_h}},
                      "stored");
        const Expr line = unsigned_quotient(tile_of(stored.z), tiles_w), of_image = unsigned_quotient(line, tiles_h);
        const Expr at_x = (tile_of(stored.z) - line * tiles_w) * step_w + phase_of(stored.z) + stored.x * stride_w;
        const Expr at_y = (line - of_image * tiles_h) * step_h + stored.w + stored.y * stride_h;
        const auto is_inside_of = [&](const Expr &at, int d) { return is_inside(at, output.dim(d).min(), output.dim(d).extent()); };
        stored.where(of_image < output.dim(3).extent());
        stored.where(stored.x < outputs_w && is_inside_of(at_x, 0));
        stored.where(stored.y < outputs_h && is_inside_of(at_y, 1));
        output(x, y, channel, image) = undef<float>();
        output(promised(at_x, output.dim(0)), promised(at_y, output.dim(1)), channel, promised(of_image, output.dim(3))) =
            activate(tile_output(stored.x, stored.y, stored.z, channel * phases_h + stored.w) +
                         select(has_bias != 0, bias(channel), 0.f), activation, slope);
    }

    // A thread has a tile of a phase, whose points it reads beside its neighbours'.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 3; d++) points.dim(d).set_min(0);
        for (int d = 2; d < 4; d++) output.dim(d).set_min(0);
        bias.dim(0).set_min(0);
        output.dim(0).set_stride(Expr());
        Func(output).gpu_single_thread();  // defines nothing, but must not seem to be on the host
        RVar block{"block"}, thread{"thread"};
        Stage stores = Func(output).update();
        stores.allow_race_conditions().split(stored.z, block, thread, threads)
            .reorder({stored.x, stored.y, thread, block, channel, stored.w}).unroll(stored.x).unroll(stored.y)
            .gpu_blocks(block, channel, stored.w).gpu_threads(thread).never_partition_all();
        // Kernels of 3x3 and 3x5 at stride 1.
        if (std::min(across().outputs(), down().outputs()) >= 4)
            stores.specialize(phases_w == 1 && outputs_w == 4 && outputs_h == 4);
        half.bound(x, 0, across().outputs()).bound(j, 0, points_h).unroll(j);
        tile_output.bound(x, 0, across().outputs()).bound(y, 0, down().outputs()).unroll(y);
        for (Func *f : {&half, &tile_output})
            f->compute_at(output, thread).store_in(MemoryType::Register)
                .bound_extent(lane, 1).bound_extent(row_of_phases, 1).unroll(x).never_partition_all();
        add_passes_of_any_kernel(get_pipeline());
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::winograd_outputs, get_target());
        description.set("winograd_points", points_h, points_w);
    }

  private:
    static constexpr int threads = 128;
    Halide::RDom stored;
    Halide::Var x{"x"}, y{"y"}, j{"j"}, lane{"lane"}, row_of_phases{"row_of_phases"}, channel{"channel"}, image{"image"};
    Halide::Func half{"half"}, tile_output{"tile_output"};

    // There may be as few taps, and so as many outputs.
    winograd::Transform across() const { return of_outputs(points_w, points_h); }
    winograd::Transform down() const { return of_outputs(points_h, points_w); }
    static winograd::Transform of_outputs(int points, int beside) {
        return winograd::of_points(points, beside, winograd::least_taps(points));
    }

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
