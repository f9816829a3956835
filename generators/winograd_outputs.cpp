// The last pass of Winograd's algorithm on GPUs (algorithm/winograd.h): sums at each point become the outputs of a tile, pictures or the gradients
// of weights, and what follows a sum (algorithm/epilogue.h).
#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/fast_division.h"
#include "algorithm/winograd.h"
#include "compiler/passes/device_assertions.h"
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
    Input<int> tiles_w{"tiles_width"}, step_w{"step_width"}, phases_w{"phases_width"}, stride_w{"stride_width"}, outputs_w{"outputs_width"};
    Input<int> tiles_h{"tiles_height"}, step_h{"step_height"}, phases_h{"phases_height"}, stride_h{"stride_height"}, outputs_h{"outputs_height"};
    Output<Halide::Buffer<float>> output{"output", 4};

    void generate() {
        using namespace Halide;
        using winograd::transformed_outputs;
        const auto promised = [](const Expr &at, const Expr &extent) { return unsafe_promise_clamped(at, 0, extent - 1); };
        // Lanes are phases along a row, whose outputs are neighbours, of all tiles; a block has those of whole tiles.
        const Expr together = min(phases_w, threads), of_block = threads / together * together;
        const Expr lane = block * of_block + thread, tile = unsigned_quotient(lane, phases_w);
        const Expr row = row_of_phases * phases_w + lane - tile * phases_w;
        half(x, j, thread, block, row_of_phases) = divided(
            transformed_outputs(across(), outputs_w, x,
                                [&](int k) { return points(promised(min(tile, points.dim(0).max()), points.dim(0).extent()), promised(row, points.dim(1).extent()), k + points_w * j); }),
            across());
        tile_output(x, y, thread, block, row_of_phases) = divided(
            transformed_outputs(down(), outputs_h, y, [&](int k) { return half(x, k, thread, block, row_of_phases); }), down());

        const Expr lanes = phases_w * tiles_w * tiles_h * output.dim(3).extent();
        stored = RDom({{0, down().outputs()}, {0, across().outputs()}, {0, threads}, {0, (lanes + of_block - 1) / of_block}, {0, phases_h}}, "stored");
        // In the order of a row of outputs: phases, positions of a tile, tiles.
        const Expr place = stored[1] * threads + stored[2];
        const Division of_tiles = divide(place, outputs_w * together), of_positions = divide(of_tiles.rest, together);
        const Expr stored_thread = of_tiles.quotient * together + of_positions.rest;
        const Division of_lane = divide(stored[3] * of_block + stored_thread, phases_w), line = divide(of_lane.quotient, tiles_w),
                       image_of = divide(line.quotient, tiles_h);
        const Expr at_x = line.rest * step_w + of_lane.rest + of_positions.quotient * stride_w - output.dim(0).min();
        const Expr at_y = image_of.rest * step_h + stored[4] + stored[0] * stride_h - output.dim(1).min();
        stored.where(place < of_block * outputs_w && image_of.quotient < output.dim(3).extent() && is_inside(at_x, 0, output.dim(0).extent()));
        stored.where(stored[0] < outputs_h && is_inside(at_y, 0, output.dim(1).extent()));
        output(x, y, channel, image) = undef<float>();
        output(promised(at_x, output.dim(0).extent()) + output.dim(0).min(), promised(at_y, output.dim(1).extent()) + output.dim(1).min(),
               channel, promised(image_of.quotient, output.dim(3).extent())) =
            activate(tile_output(promised(of_positions.quotient, across().outputs()), stored[0], promised(stored_thread, threads), stored[3],
                                 channel * phases_h + stored[4]) +
                         select(has_bias != 0, bias(channel), 0.f), activation, slope);
    }

    // A thread has a tile of a phase, whose points it reads beside its neighbours', and stores what lies beside its neighbours'.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 3; d++) points.dim(d).set_min(0);
        for (int d = 2; d < 4; d++) output.dim(d).set_min(0);
        bias.dim(0).set_min(0);
        output.dim(0).set_stride(Expr());
        Func(output).gpu_single_thread();  // defines nothing, but must not seem to be on the host
        Func(output).update().allow_race_conditions()
            .reorder({stored[0], stored[1], stored[2], stored[3], channel, stored[4]}).unroll(stored[0]).unroll(stored[1])
            .gpu_blocks(stored[3], channel, stored[4]).gpu_threads(stored[2]).never_partition_all();
        tile_output.compute_at(output, stored[3]).store_in(MemoryType::GPUShared).reorder_storage(thread, x, y)
            .bound(x, 0, across().outputs()).bound(y, 0, down().outputs()).bound(thread, 0, threads)
            .bound_extent(block, 1).bound_extent(row_of_phases, 1).align_storage(thread, threads + 8)
            .reorder({x, y, thread}).unroll(x).unroll(y).gpu_threads(thread).never_partition_all();
        half.compute_at(tile_output, thread).store_in(MemoryType::Register)
            .bound(x, 0, across().outputs()).bound(j, 0, points_h).bound_extent(thread, 1).bound_extent(block, 1)
            .bound_extent(row_of_phases, 1).unroll(x).unroll(j).never_partition_all();
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::winograd_outputs, get_target());
        description.set("winograd_points", points_h, points_w);
    }

  private:
    static constexpr int threads = 128;
    Halide::RDom stored;
    Halide::Var x{"x"}, y{"y"}, j{"j"}, thread{"thread"}, block{"block"}, row_of_phases{"row_of_phases"}, channel{"channel"}, image{"image"};
    Halide::Func half{"half"}, tile_output{"tile_output"};

    // Of as few taps, and so as many outputs, as there may be.
    winograd::Transform across() const { return of_outputs(points_w, points_h); }
    winograd::Transform down() const { return of_outputs(points_h, points_w); }
    static winograd::Transform of_outputs(int points, int beside) {
        return winograd::of_points(points, beside, points + 1 - winograd::most_taps(points));
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
