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
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "generators/weight_gradient_product_generator.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientPictures : public Halide::Generator<WeightGradientPictures<Schedule>>,
      public WeightGradientProductGenerator<Schedule>,
      public UnpackedPictures {
    using Product = WeightGradientProductGenerator<Schedule>;

  public:
    /// As in weight_gradient_product.h.
    Halide::GeneratorParam<int> parts{"parts", 0};
    using Product::schedule_params;

    void configure() { set_types(Halide::Float(32), Halide::Float(32)); }

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
        this->apply_schedule(this->get_pipeline());
    }

    void describe(KernelDescription &description) override {
        this->describe_product(Family::weight_gradient_implicit_gemm, chunk_positions(), this->target, description);
        description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
    }

  private:
    using Product::existing, Product::f_;

    int chunk_positions() const { return 4 * f_.tile.steps; }
    /// TF32 is rounded on the way; asynchronous copies change nothing.
    bool through_registers() const { return parts > 0; }

    /// picture[place], or zero; what goes through registers is loaded in any case, from a place that there is.
    Halide::Expr element(const Picture &picture, const Halide::Expr &channel, const PerAxis &place,
                         const Halide::Expr &image) const {
        using namespace Halide;
        const auto loaded = [&](const Expr &at, const Expr &inside, const Expr &min, const Expr &extent) {
            return unsafe_promise_clamped(through_registers() ? select(inside, at, min) : at, min, min + extent - 1);
        };
        Expr inside = image < picture.dim(5).extent();
        for (int d = 0; d < 3; d++) {
            if (&picture == &input) continue;  // digits are inside
            const Expr min = picture.dim(d + 1).min(), extent = picture.dim(d + 1).extent();
            inside = inside && is_inside(place[d], min, extent);
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
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        const PerAxis at = position(f, chunk_positions(), f.step * 4 + f.value, 0);
        f.input = Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) =
            element(input, f.in_tile * t.in_channels + f.n, {at[0], at[1], at[2]}, at[3]);

        const PerAxis first = first_seen(at);
        PerAxis seen = seen_further(existing(f.tap_tile * t.taps + f.m / t.out_channels, kernel_w * kernel_h * kernel_d));
        for (int d = 0; d < 3; d++) seen[d] = first[d] + seen[d];
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            element(output_gradient, f.out_tile * t.out_channels + f.m % t.out_channels, seen, at[3]);
    }

    void declare_shapes() {
        for (Picture *picture : {&input, &output_gradient}) {
            picture->dim(0).set_min(0).set_stride(Halide::Expr());
            picture->dim(1).set_stride(1);
        }
        declare_origins();
        this->declare_partial(partial);
    }
};

}  // namespace conv_transpose

#endif
