// The generator of the weight gradient as a matrix product of operands that were packed before
// (picture_packing.cpp): for any attributes, all of them run-time values. For each kernel position it is
//     partial[input channel, output channel] = sum over positions i of input[i] * output_gradient[i * stride + k * dilation]
// of packed pictures, which have zeros where the padding is. A position's channels lie side by side, so whatever stride
// and dilation are, both operands are read densely, and only where a position begins depends on attributes.
// Bands of the sum are added by weight_gradient_sum.cpp.
// Template argument: the schedule, a struct in schedules/ with
//   WeightGradientProductTile tile() const,
//   void search_space(SearchSpace &, const WeightGradientProductFuncs &) const, of which the tile and the parts are read,
//   void apply(WeightGradientProductFuncs &): loop order, staging and mapping to hardware,
//   bool on_tensor_cores: which passes follow Halide's lowering,
//   void describe(KernelDescription &, const WeightGradientProductFuncs &) const: what it demands of a problem.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PRODUCT_H

#include "Halide.h"
#include "algorithm/tensor_core_operands.h"
#include "generators/weight_gradient_product_generator.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientProduct : public Halide::Generator<WeightGradientProduct<Schedule>>,
      public WeightGradientProductGenerator<Schedule> {
    using Product = WeightGradientProductGenerator<Schedule>;

  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using Tensor = Halide::Buffer<float>;

    /// 0: float32. 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    Halide::GeneratorParam<int> parts{"parts", 0};
    using Product::schedule_params;

    /// (value, channel, group, step, part), of the four, plane, row and column in one.
    Input<Tensor> input{"input", 5};
    /// (value, channel, group, position, four, part)
    Input<Tensor> output_gradient{"output_gradient", 6};
    Input<int> input_columns{"input_columns"}, input_rows{"input_rows"}, input_planes{"input_planes"};
    /// How many positions of the output gradient further the next column, row and plane of the input lies, and the next
    /// kernel position along the problem's axes, which need not be columns, rows and planes in this order.
    Input<int> column_step{"column_step"}, row_step{"row_step"}, plane_step{"plane_step"};
    Input<int> band_steps{"band_steps"};
    Input<int> kernel_w{"kernel_width"}, tap_step_w{"tap_step_width"};
    Input<int> kernel_h{"kernel_height"}, tap_step_h{"tap_step_height"};
    Input<int> kernel_d{"kernel_depth"}, tap_step_d{"tap_step_depth"};
    /// (input channel, output channel, kernel position in the tile, tile, group, band): whole tiles of kernel
    /// positions.
    Halide::GeneratorOutput<Tensor> partial{"partial", 6};

    void generate() {
        WeightGradientProductFuncs &f = f_;
        f.tile = schedule_params.tile();
        f.parts = parts;
        const WeightGradientProductTile &t = f.tile;
        stage_operands();

        f.define_sum(band_steps / t.steps);
        f.store_sum(partial);
    }

    void schedule() {
        declare_shapes();
        this->apply_schedule(this->get_pipeline());
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        this->describe_product(Family::weight_gradient_product, f_.tile.steps, this->target, description);
        description.set("packed_pictures", "true");
        description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
    }

    void search_space(SearchSpace &space) const override {
        WeightGradientProductFuncs f;
        f.tile = schedule_params.tile();
        f.parts = parts;
        schedule_params.search_space(space, f);
    }

  private:
    using Product::existing, Product::f_;

    // An index that is inside, which Halide cannot prove.
    static Halide::Expr promised(const Halide::Expr &index, const Halide::Expr &extent) {
        return Halide::unsafe_promise_clamped(index, 0, extent - 1);
    }

    void stage_operands() {
        using Halide::Expr;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        const Expr steps = input.dim(3).extent();
        const Expr at = f.band * band_steps + f.chunk * t.steps + f.step, last = existing(at, steps);

        f.input = Halide::Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) =
            select(at < steps, input(f.value, existing(f.in_tile * t.in_channels + f.n, input.dim(1).extent()),
                                     f.group, last, f.part), 0.f);

        const Division row = divide(last, input_columns), plane = divide(row.quotient, input_rows);
        const Division four = divide(plane.quotient, input_planes);
        const Expr tap = existing(f.tap_tile * t.taps + f.m / t.out_channels, kernel_w * kernel_h * kernel_d);
        const Expr line = tap / kernel_w, kernel_plane = line / kernel_h;
        const Expr position = row.rest * column_step + plane.rest * row_step + four.rest * plane_step +
                              tap % kernel_w * tap_step_w + line % kernel_h * tap_step_h + kernel_plane * tap_step_d;
        const Expr channel = f.out_tile * t.out_channels + f.m % t.out_channels;
        f.output_gradient = Halide::Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            select(at < steps, output_gradient(f.value, existing(channel, output_gradient.dim(1).extent()), f.group,
                                               promised(position, output_gradient.dim(3).extent()),
                                               promised(four.quotient, output_gradient.dim(4).extent()), f.part), 0.f);
    }

    // What the runtime promises of the buffers, so that index arithmetic folds and 16 bytes are known to be aligned.
    void declare_shapes() {
        const auto declare = [](auto &packed, int outer) {
            packed.dim(0).set_bounds(0, 4).set_stride(1);
            Halide::Expr stride = 4;
            for (int d = 1; d < outer; d++) {
                packed.dim(d).set_min(0).set_stride(stride);
                stride = stride * packed.dim(d).extent();
            }
            packed.dim(outer).set_min(0).set_stride(stride);
            packed.set_host_alignment(16);
        };
        declare(input, 4);
        declare(output_gradient, 5);
        this->declare_partial(partial);
    }
};

}  // namespace conv_transpose

#endif
