// The generator of the weight gradient on tensor cores: the same correlation as weight_gradient.h, as a matrix
// product of operands that are rounded to TF32 and laid out so that every kernel position is another start address
// (algorithm/weight_gradient_tensor_core_funcs.h). Arguments as in weight_gradient.h, but bands are of output rows.
// Template argument: the schedule, with
//   WeightGradientTile tile(int kernel_w, int kernel_h, int stride_w, int stride_h) const,
//   void search_space(SearchSpace &, const WeightGradientTensorCoreFuncs &) const,
//   void apply(WeightGradientTensorCoreFuncs &, const Target &) and
//   void describe(KernelDescription &, const WeightGradientTensorCoreFuncs &) const.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_TENSOR_CORE_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_TENSOR_CORE_H

#include <bit>
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_gradient_tensor_core_funcs.h"
#include "generators/gradient_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

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
        f.tile = schedule_params.tile(problem.kernel_w, problem.kernel_h, problem.stride_w, problem.stride_h);
        f.parts = parts;
        const WeightGradientTile &t = f.tile;
        check_tile();
        const Expr chunks_x = (input.dim(0).extent() + t.chunk_columns - 1) / t.chunk_columns;
        const Expr chunks_y = band_rows / t.chunk_rows, chunks_of_image = chunks_x * chunks_y;
        const Division image = divide(f.chunk, chunks_of_image), row = divide(image.rest, chunks_x);
        stage_operands(row.rest * t.chunk_columns, (f.band * chunks_y + row.quotient) * t.chunk_rows,
                       f.images * part_images + image.quotient);

        f.r.domain = Halide::RDom({{0, 4}, {0, t.steps()}, {0, t.chunk_rows}, {0, parts == 1 ? 1 : 3},
                                   {0, chunks_of_image * part_images}}, "r");
        const Halide::RDom &r = f.r.domain;
        f.r.value = r[0], f.r.step = r[1], f.r.y = r[2], f.r.product = r[3], f.r.chunk = r[4];
        // The small products come first, while the sum is small.
        const Expr input_part = parts == 1 ? Expr(0) : select(r[3] == 1, 1, 0);
        const Expr output_part = parts == 1 ? Expr(0) : select(r[3] == 0, 1, 0);
        f.sum = Halide::Func("sum");
        f.sum(f.n, f.m, f.out_tile, f.in_tile, f.group, f.band, f.images) = 0.f;
        f.sum(f.n, f.m, f.out_tile, f.in_tile, f.group, f.band, f.images) +=
            f.input(r[0], (t.chunk_rows - 1 - r[2]) * t.in_channels + input_row(f.m), r[1], input_part, r[4],
                    f.in_tile, f.group, f.band, f.images) *
            f.output_gradient(r[0], f.n % t.position_rows(), f.n / t.position_rows() % t.stride_w,
                              r[1] + f.n / t.pitch(), output_row(r[2], f.m), output_part, r[4], f.out_tile,
                              f.group, f.band, f.images);

        partial(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images) =
            f.sum(f.kx * t.position_rows() + f.out_channel % t.out_channels,
                  f.ky * t.in_channels + f.in_channel % t.in_channels, f.out_channel / t.out_channels,
                  f.in_channel / t.in_channels, f.group, f.band, f.images);
        f.partial = partial;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, this->target, description);
        description.set("strict_propagation", "false");
        description.set("precision", tensor_core_precision(parts));
        description.set("chunk_rows", f_.tile.chunk_rows);
        description.set("chunk_columns", f_.tile.chunk_columns);
        description.set("bands_of_output_rows", "true");
        description.set("tile_taps", f_.tile.kernel_w * f_.tile.kernel_h);
        description.set("tile_in_channels", f_.tile.in_channels);
        description.set("tile_out_channels", f_.tile.out_channels);
        schedule_params.describe(description, f_);
    }

    void search_space(SearchSpace &space) const override {
        WeightGradientTensorCoreFuncs f;
        f.tile = schedule_params.tile(problem.kernel_w, problem.kernel_h, problem.stride_w, problem.stride_h);
        f.parts = parts;
        space.require("dilation is 1", problem.dilation_w == 1 && problem.dilation_h == 1);
        space.require("the horizontal stride is a power of two", is_power_of_two(f.tile.stride_w));
        schedule_params.search_space(space, f);
    }

  private:
    WeightGradientTensorCoreFuncs f_;

    static bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

    void check_tile() const {
        const WeightGradientTile &t = f_.tile;
        const auto refuse = [](const char *field, int value, const char *rule) {
            throw std::invalid_argument(std::string(field) + " is " + std::to_string(value) + "; " + rule);
        };
        if (t.stride_h > 1 && t.kernel_rows() != 1)
            refuse("tile_in", t.in_channels, "with a vertical stride the rule is 64");
        if (!is_power_of_two(t.stride_w)) refuse("stride_w", t.stride_w, "the rule is a power of two");
        for (int dilation : {problem.dilation_w.value(), problem.dilation_h.value()})
            if (dilation != 1) refuse("dilation", dilation, "for the weight gradient on tensor cores the rule is 1");
    }

    // The staged rows that row m of the tile reads: of the input, and of the output gradient's rows of cell row y.
    Halide::Expr input_row(const Halide::Expr &m) const {
        const WeightGradientTile &t = f_.tile;
        return t.stride_h == 1 ? m : m / t.in_channels / t.stride_h * t.in_channels + m % t.in_channels;
    }
    Halide::Expr output_row(const Halide::Expr &y, const Halide::Expr &m) const {
        const WeightGradientTile &t = f_.tile;
        return t.stride_h == 1 ? y : y * t.stride_h + m / t.in_channels % t.stride_h;
    }

    // The operands of the chunk at (`chunk_left`, `top`) of an image. A row of the input is (input row,
    // channel), the last input row first, so that kernel rows ascend. What lies outside of the pictures is
    // zero. Tiles that reach beyond the last channel compute sums that nobody stores.
    void stage_operands(const Halide::Expr &chunk_left, const Halide::Expr &top, const Halide::Expr &image) {
        using Halide::Expr;
        WeightGradientTensorCoreFuncs &f = f_;
        const WeightGradientTile &t = f.tile;
        const auto inside = [](const Expr &index, const Expr &extent) { return clamp(index, 0, extent - 1); };
        const Expr left = chunk_left + f.value * t.steps();

        const Expr column = left + f.step, input_row = top + (t.chunk_rows - 1) - f.row / t.in_channels;
        const Expr width = input.dim(0).extent(), height = input.dim(1).extent();
        const Expr pixel = input(inside(column, width), inside(input_row, height),
                                 channel(f.in_tile, f.row % t.in_channels, t.in_channels, problem.in_channel_multiple,
                                         input.dim(2)),
                                 f.group, inside(image, input.dim(4).extent()));
        f.input = Halide::Func("staged_input");
        f.input(f.value, f.row, f.step, f.part, f.chunk, f.in_tile, f.group, f.band, f.images) =
            tf32_part(select(column < select(input_row >= 0 && input_row < height, width, 0), pixel, 0.f), f.part,
                      this->target);

        f.output_gradient = Halide::Func("staged_output_gradient");
        f.output_gradient(f.value, f.channel, f.position, f.step, f.y, f.part, f.chunk, f.out_tile, f.group, f.band,
                          f.images) = Halide::undef<float>();
        stage_output_gradient(f.inside, 0, t.steps(), chunk_left, top, image);
        if (t.steps_beyond() > 0) stage_output_gradient(f.beyond, t.steps(), t.steps_beyond(), chunk_left, top, image);
    }

    // The steps from `first` on.
    void stage_output_gradient(StagedPositions &r, int first, int steps, const Halide::Expr &chunk_left,
                               const Halide::Expr &top, const Halide::Expr &image) {
        using Halide::Expr;
        WeightGradientTensorCoreFuncs &f = f_;
        const WeightGradientTile &t = f.tile;
        r.domain = Halide::RDom({{0, 4}, {0, steps}, {0, t.stride_w}, {0, t.out_channels}},
                                first == 0 ? "inside" : "beyond");
        r.value = r.domain[0], r.step = r.domain[1], r.position = r.domain[2], r.channel = r.domain[3];

        const auto x = output_gradient.dim(0), y = output_gradient.dim(1);
        const Expr column = (chunk_left + r.value * t.steps() + first + r.step) * t.stride_w + r.position;
        const Expr row = top * t.stride_h + f.y;
        // One comparison for both ends: what is before the first column is a large number.
        const Expr in_rows = row >= y.min() && row <= y.max() && image < batch;
        const Expr in_picture = cast<uint32_t>(column - x.min()) < cast<uint32_t>(select(in_rows, x.extent(), 0));
        const Expr gradient =
            output_gradient(clamp(column, x.min(), x.max()), clamp(row, y.min(), y.max()),
                            channel(f.out_tile, r.channel, t.out_channels, problem.out_channel_multiple,
                                    output_gradient.dim(2)),
                            f.group, clamp(image, 0, output_gradient.dim(4).extent() - 1));
        f.output_gradient(r.value, r.channel, r.position, first + r.step, f.y, f.part, f.chunk, f.out_tile, f.group,
                          f.band, f.images) =
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
