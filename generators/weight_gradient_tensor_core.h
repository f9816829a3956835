// The generator of the weight gradient on tensor cores: the same correlation as weight_gradient.h, as a matrix
// product of operands that are rounded to TF32 and laid out so that every kernel position is another start address
// (schedules/weight_gradient_tensor_core_funcs.h). Arguments as in weight_gradient.h, but bands are of output rows.
// Template argument: the schedule, with
//   WeightGradientTile tile(const ProblemParams &) const,
//   void search_space(SearchSpace &, const WeightGradientTensorCoreFuncs &) const,
//   void apply(WeightGradientTensorCoreFuncs &, const Target &) and
//   void describe(KernelDescription &, const WeightGradientTensorCoreFuncs &) const.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_TENSOR_CORE_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_TENSOR_CORE_H

#include "Halide.h"
#include "generators/kernel_description.h"
#include "generators/lowering_passes.h"
#include "generators/tensor_core_operands.h"
#include "generators/tf32.h"
#include "generators/weight_gradient_arguments.h"
#include "schedules/weight_gradient_tensor_core_funcs.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientTensorCore : public Halide::Generator<WeightGradientTensorCore<Schedule>>,
      public WeightGradientArguments,
      public DescribedGenerator {
  public:
    /// 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    Halide::GeneratorParam<int> parts{"parts", 1};
    Schedule schedule_params;

    void generate() {
        using Halide::Expr;
        WeightGradientTensorCoreFuncs &f = f_;
        f.tile = schedule_params.tile(problem);
        f.parts = parts;
        const WeightGradientTile &t = f.tile;
        if (t.stride_h > 1 && t.kernel_rows() != 1)
            throw std::invalid_argument("tile_in is " + std::to_string(t.in_channels) + "; with a vertical stride the rule is 64");
        const Expr chunks_x = (input.dim(0).extent() + t.chunk_columns - 1) / t.chunk_columns;
        const Expr chunks_y = band_rows / t.chunk_rows;
        stage_operands(f.chunk % chunks_x * t.chunk_columns, (f.band * chunks_y + f.chunk / chunks_x) * t.chunk_rows,
                       f.images * part_images + f.image);

        f.r.domain = Halide::RDom({{0, 4}, {0, t.steps()}, {0, t.chunk_rows}, {0, parts == 1 ? 1 : 3},
                                   {0, chunks_x * chunks_y}, {0, part_images}}, "r");
        const Halide::RDom &r = f.r.domain;
        f.r.value = r[0], f.r.step = r[1], f.r.y = r[2], f.r.product = r[3], f.r.chunk = r[4], f.r.image = r[5];
        // The small products come first, while the sum is small.
        const Expr input_part = parts == 1 ? Expr(0) : select(r[3] == 1, 1, 0);
        const Expr output_part = parts == 1 ? Expr(0) : select(r[3] == 0, 1, 0);
        f.sum = Halide::Func("sum");
        f.sum(f.n, f.m, f.out_tile, f.in_tile, f.group, f.band, f.images) = 0.f;
        f.sum(f.n, f.m, f.out_tile, f.in_tile, f.group, f.band, f.images) +=
            f.input(r[0], (t.chunk_rows - 1 - r[2]) * t.in_channels + input_row(f.m), r[1], input_part, r[4], r[5], f.in_tile,
                    f.group, f.band, f.images) *
            f.output_gradient(r[0], f.n % t.pitch(), r[1] + f.n / t.pitch(), output_row(r[2], f.m), output_part, r[4], r[5],
                              f.out_tile, f.group, f.band, f.images);

        partial(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images) =
            f.sum(f.kx * t.position_rows() + f.out_channel % t.out_channels, f.ky * t.in_channels + f.in_channel % t.in_channels,
                  f.out_channel / t.out_channels, f.in_channel / t.in_channels, f.group, f.band, f.images);
        f.partial = partial;
    }

    void schedule() {
        declare_shapes();
        this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    void describe(KernelDescription &description) override {
        problem.describe("Operation::weight_gradient", this->target, description);
        description.set("precision", tensor_core_precision(parts));
        description.set("chunk_rows", f_.tile.chunk_rows);
        description.set("bands_of_output_rows", "true");
        description.set("tile_taps", f_.tile.kernel_w * f_.tile.kernel_h);
        description.set("tile_in_channels", f_.tile.in_channels);
        description.set("tile_out_channels", f_.tile.out_channels);
        schedule_params.describe(description, f_);
    }

    void search_space(SearchSpace &space) const override {
        WeightGradientTensorCoreFuncs f;
        f.tile = schedule_params.tile(problem);
        f.parts = parts;
        schedule_params.search_space(space, f);
    }

  private:
    WeightGradientTensorCoreFuncs f_;

    // Of the staged rows, those that row m of the tile reads: of the input, and of the output gradient's rows of cell row y.
    Halide::Expr input_row(const Halide::Expr &m) const {
        const WeightGradientTile &t = f_.tile;
        return t.stride_h == 1 ? m : m / t.in_channels / t.stride_h * t.in_channels + m % t.in_channels;
    }
    Halide::Expr output_row(const Halide::Expr &y, const Halide::Expr &m) const {
        const WeightGradientTile &t = f_.tile;
        return t.stride_h == 1 ? y : y * t.stride_h + m / t.in_channels % t.stride_h;
    }

    // The operands of the chunk at (`chunk_left`, `top`) of an image. A row of the input is (input row, channel), the last
    // input row first, so that kernel rows ascend. What lies outside of the pictures is zero. Tiles that reach beyond the
    // last channel compute sums that nobody stores.
    void stage_operands(const Halide::Expr &chunk_left, const Halide::Expr &top, const Halide::Expr &image) {
        using Halide::Expr;
        WeightGradientTensorCoreFuncs &f = f_;
        const WeightGradientTile &t = f.tile;
        const auto inside = [](const Expr &index, const Expr &extent) { return clamp(index, 0, extent - 1); };
        const Expr left = chunk_left + f.value * t.steps();

        const Expr column = left + f.step, input_row = top + (t.chunk_rows - 1) - f.row / t.in_channels;
        const Expr width = input.dim(0).extent(), height = input.dim(1).extent();
        const Expr pixel = input(min(column, width - 1), inside(input_row, height),
                                 channel(f.in_tile, f.row % t.in_channels, t.in_channels, problem.in_channel_multiple,
                                         input.dim(2)),
                                 f.group, inside(image, input.dim(4).extent()));
        f.input = Halide::Func("staged_input");
        f.input(f.value, f.row, f.step, f.part, f.chunk, f.image, f.in_tile, f.group, f.band, f.images) =
            tf32_part(select(column < select(input_row >= 0 && input_row < height, width, 0), pixel, 0.f), f.part,
                      this->target);

        const auto x = output_gradient.dim(0), y = output_gradient.dim(1);
        const Expr position = f.channel / t.position_rows(), of_position = f.channel % t.position_rows();
        const Expr output_column = (left + f.step) * t.stride_w + position, output_row = top * t.stride_h + f.y;
        // One comparison for both ends: what is before the first column is a large number.
        const Expr in_rows = output_row >= y.min() && output_row <= y.max() && image < batch;
        const Expr in_picture = cast<uint32_t>(output_column - x.min()) < cast<uint32_t>(select(in_rows, x.extent(), 0));
        const Expr gradient =
            output_gradient(clamp(output_column, x.min(), x.max()), clamp(output_row, y.min(), y.max()),
                            channel(f.out_tile, min(of_position, t.out_channels - 1), t.out_channels,
                                    problem.out_channel_multiple, output_gradient.dim(2)),
                            f.group, inside(image, output_gradient.dim(4).extent()));
        f.output_gradient = Halide::Func("staged_output_gradient");
        f.output_gradient(f.value, f.channel, f.step, f.y, f.part, f.chunk, f.image, f.out_tile, f.group, f.band, f.images) =
            tf32_part(select(in_picture, gradient, 0.f), f.part, this->target);
    }

    // A channel of a tile; the last one's, where tiles may reach beyond it.
    static Halide::Expr channel(const Halide::Expr &tile, const Halide::Expr &of_tile, int tile_channels, int multiple,
                                const Halide::Internal::Dimension &channels) {
        const Halide::Expr index = tile * tile_channels + of_tile;
        return multiple % tile_channels == 0 ? index : min(index, channels.extent() - 1);
    }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        for (int d = 0; d < 5; d++) input.dim(d).set_min(0);
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 7; d++) partial.dim(d).set_min(0);
        partial.dim(0).set_extent(problem.kernel_w);
        partial.dim(1).set_extent(problem.kernel_h);
    }
};

}  // namespace conv_transpose

#endif
