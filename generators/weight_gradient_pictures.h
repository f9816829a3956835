// The generator of the weight gradient as an implicit matrix product of float32 pictures in channels_first, read as they lie,
// every attribute a run-time value, for up to three axes:
//     partial[input channel, output channel] = sum over positions i of input[i] * output_gradient[i * stride + k * dilation]
// for each kernel position. Positions count through images, and four neighbours are a row of 16 bytes, of which each is
// copied by itself: so a kernel position is only another place to copy from, and nothing is packed before. Where channels
// are few, packing would take longer than the products (weight_gradient_product.h, whose schedules these are). Bands of the
// sum are added by weight_gradient_sum.cpp.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PICTURES_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PICTURES_H

#include <vector>

#include "Halide.h"
#include "algorithm/implicit_gemm.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_gradient_product_funcs.h"
#include "generators/lowering_passes.h"
#include "generators/problem_params.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientPictures : public Halide::Generator<WeightGradientPictures<Schedule>>, public DescribedGenerator {
  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using Picture = Input<Halide::Buffer<float>>;

    ProblemParams problem;
    /// As in weight_gradient_product.h.
    Halide::GeneratorParam<int> parts{"parts", 0};
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", 1}, min_out_channels{"min_out_channels", 1};
    Schedule schedule_params;

    /// (channel, x, y, z, group, image); the output gradient's coordinates begin at the padding.
    Picture input{"input", 6}, output_gradient{"output_gradient", 6};
    Input<int> band_positions{"band_positions"};
    Input<int> kernel_w{"kernel_width"}, stride_w{"stride_width"}, dilation_w{"dilation_width"};
    Input<int> kernel_h{"kernel_height"}, stride_h{"stride_height"}, dilation_h{"dilation_height"};
    Input<int> kernel_d{"kernel_depth"}, stride_d{"stride_depth"}, dilation_d{"dilation_depth"};
    /// As in weight_gradient_product.h.
    Halide::GeneratorOutput<Halide::Buffer<float>> partial{"partial", 6};

    void generate() {
        f_.tile = schedule_params.tile();
        f_.parts = parts;
        f_.neighbours = true;
        stage_operands();
        f_.define_sum(band_positions / chunk_positions());
        f_.store_sum(partial);
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(f_);
        if constexpr (Schedule::on_tensor_cores) add_tensor_core_passes(this->get_pipeline(), schedule_params);
        else add_cuda_core_passes(this->get_pipeline(), schedule_params, {.load_offsets = true});
    }

    void describe(KernelDescription &description) override {
        const WeightGradientProductTile &t = f_.tile;
        description.set_family(Family::weight_gradient_implicit_gemm);
        description.set("operation", "Operation::weight_gradient");
        describe_target(this->target, description);
        problem.describe(description);
        description.set("rank", max_rank);
        description.set("strict_propagation", "false");
        description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        description.set("tile_taps", t.taps);
        description.set("tile_in_channels", t.in_channels);
        description.set("tile_out_channels", t.out_channels);
        description.set("chunk_positions", chunk_positions());
        schedule_params.describe(description, f_);
    }

  private:
    WeightGradientProductFuncs f_;

    int chunk_positions() const { return 4 * f_.tile.steps; }
    /// TF32 is rounded on the way; asynchronous copies change nothing.
    bool through_registers() const { return parts > 0; }

    // Of a tile that reaches beyond the last: that is computed once more, and not stored.
    static Halide::Expr existing(const Halide::Expr &index, const Halide::Expr &extent) {
        return min(index, extent - 1);
    }

    /// picture[place], or zero; what goes through registers is loaded in any case, from a place that there is.
    Halide::Expr element(const Picture &picture, const Halide::Expr &channel, const implicit_gemm::PerAxis &place,
                         const Halide::Expr &image) const {
        using namespace Halide;
        const auto loaded = [&](const Expr &at, const Expr &inside, const Expr &min, const Expr &extent) {
            return unsafe_promise_clamped(through_registers() ? select(inside, at, min) : at, min, min + extent - 1);
        };
        Expr inside = image < picture.dim(5).extent();
        for (int d = 0; d < 3; d++) {
            if (&picture == &input) continue;  // digits are inside
            const Expr min = picture.dim(d + 1).min(), extent = picture.dim(d + 1).extent();
            // One comparison tells both ends: below the first, an unsigned distance is large.
            inside = inside && cast<uint32_t>(place[d] - min) < cast<uint32_t>(extent);
        }
        std::vector<Expr> index{existing(channel, picture.dim(0).extent())};
        for (int d = 0; d < 3; d++)
            index.push_back(loaded(place[d], inside, picture.dim(d + 1).min(), picture.dim(d + 1).extent()));
        index.push_back(f_.group);
        index.push_back(loaded(image, inside, 0, picture.dim(5).extent()));
        const Expr value = select(inside, picture(index), 0.f);
        return through_registers() ? tf32_part(value, f_.part, this->target) : value;
    }

    void stage_operands() {
        using namespace Halide;
        using implicit_gemm::PerAxis;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        // Bands take turns with chunks: what blocks read at a time lies together, and is in the second-level cache.
        const PerAxis at = implicit_gemm::digits(
            (f.chunk * partial.dim(5).extent() + f.band) * chunk_positions() + f.step * 4 + f.value,
            {input.dim(1).extent(), input.dim(2).extent(), input.dim(3).extent()});
        f.input = Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) =
            element(input, f.in_tile * t.in_channels + f.n, {at[0], at[1], at[2]}, at[3]);

        const auto quotient = [](const Expr &a, const Expr &b) { return cast<int>(cast<uint32_t>(a) / cast<uint32_t>(b)); };
        const Expr tap = existing(f.tap_tile * t.taps + f.m / t.out_channels, kernel_w * kernel_h * kernel_d);
        const Expr line = quotient(tap, kernel_w), plane = quotient(line, kernel_h);
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            element(output_gradient, f.out_tile * t.out_channels + f.m % t.out_channels,
                    {at[0] * stride_w + (tap - line * kernel_w) * dilation_w,
                     at[1] * stride_h + (line - plane * kernel_h) * dilation_h, at[2] * stride_d + plane * dilation_d},
                    at[3]);
    }

    void declare_shapes() {
        for (Picture *picture : {&input, &output_gradient}) {
            picture->dim(0).set_min(0).set_stride(Halide::Expr());
            picture->dim(1).set_stride(1);
            for (int d = 4; d < 6; d++) picture->dim(d).set_min(0);
        }
        for (int d = 1; d < 4; d++) input.dim(d).set_min(0);
        for (int d = 0; d < 6; d++) partial.dim(d).set_min(0);
        partial.dim(2).set_extent(f_.tile.taps);
    }
};

}  // namespace conv_transpose

#endif
