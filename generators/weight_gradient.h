// The generator of the weight gradient: a correlation of input and output gradient over batch and space,
//     weight_gradient[k] = sum over images and i of input[i] * output_gradient[i * stride + k * dilation - padding].
// The sum is cut into parts, each a band of rows of some of the images; sum_of_parts.cpp adds them in a fixed order.
// Template argument: the schedule, a struct in schedules/ with
//   GeneratorParams for its tile sizes,
//   void apply(WeightGradientFuncs &, const Target &): loop order, staging and mapping to hardware,
//   void search_space(SearchSpace &, const GradientFacts &) const, if it can be tuned,
//   void describe(KernelDescription &, const WeightGradientFuncs &) const: what it demands of a problem, and tile_..., the
//     weights of one block,
//   GeneratorParams chunk_columns and chunk_rows, if it stages its operands in chunks of so many positions.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_H

#include "Halide.h"
#include "algorithm/weight_gradient_funcs.h"
#include "generators/gradient_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradient : public Halide::Generator<WeightGradient<Schedule>>,
      public WeightGradientArguments,
      public DescribedGenerator {
  public:
    Schedule schedule_params;
    /// Zeros around the output gradient are selected, not multiplied: an Inf or NaN of the input stays with the taps
    /// that it is a factor of. For kernels of run-time attributes.
    Halide::GeneratorParam<bool> strict{"strict", false};

    void generate() {
        WeightGradientFuncs &f = funcs_;
        static_cast<GradientFacts &>(f) = gradient_facts();
        pad_input();
        pad_output_gradient();
        f.positions = positions();
        f.sum = Halide::Func("sum");
        f.sum(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images) = 0.f;
        f.sum(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images) += product();

        partial(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images) =
            f.sum(f.kx, f.ky, f.out_channel, f.in_channel, f.group, f.band, f.images);
        f.partial = partial;
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(funcs_, this->target);
        add_cuda_core_passes(this->get_pipeline(), schedule_params, {.separate_registers = true, .load_offsets = true});
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, this->target, description);
        description.set("strict_propagation", strict ? "true" : "false");
        description.set("chunk_rows", chunked() ? schedule_rows() : 1);
        if (chunked()) description.set("chunk_columns", schedule_columns());
        schedule_params.describe(description, funcs_);
    }

    void search_space(SearchSpace &space) const override { search_schedule(schedule_params, space); }

  private:
    WeightGradientFuncs funcs_;

    bool by_rows() const { return problem.run_time_attributes(); }

    // Tiles that reach beyond the last channel, and chunks beyond the last row, compute what nobody stores.
    static Halide::Expr inside(const Halide::Expr &index, const Halide::Internal::Dimension &dimension) {
        return clamp(index, 0, dimension.extent() - 1);
    }

    void pad_input() {
        WeightGradientFuncs &f = funcs_;
        const Halide::Expr width = input.dim(0).extent(), height = input.dim(1).extent();
        const Halide::Expr value = input(inside(f.x, input.dim(0)), inside(f.y, input.dim(1)),
                                         inside(f.in_channel, input.dim(2)), f.group, inside(f.batch, input.dim(4)));
        f.padded_input = Halide::Func("padded_input");
        f.padded_input(f.x, f.y, f.in_channel, f.group, f.batch) =
            chunked() ? select(f.x < width && f.y < height, likely(value), 0.f) : value;
    }

    // Whether a position lies in the output gradient.
    Halide::Expr in_picture(const Halide::Expr &column, const Halide::Expr &row) const {
        const auto x = output_gradient.dim(0), y = output_gradient.dim(1);
        return column >= x.min() && column <= x.max() && row >= y.min() && row <= y.max();
    }

    // The output gradient, zero outside of the picture and where `seen` is false.
    Halide::Expr output_gradient_at(const Halide::Expr &column, const Halide::Expr &row,
                                    const Halide::Expr &seen = {}) const {
        const WeightGradientFuncs &f = funcs_;
        const auto x = output_gradient.dim(0), y = output_gradient.dim(1);
        return select(seen.defined() ? in_picture(column, row) && seen : in_picture(column, row),
                      likely(output_gradient(clamp(column, x.min(), x.max()), clamp(row, y.min(), y.max()),
                                             inside(f.out_channel, output_gradient.dim(2)), f.group,
                                             inside(f.batch, output_gradient.dim(4)))),
                      0.f);
    }

    void pad_output_gradient() {
        WeightGradientFuncs &f = funcs_;
        if (by_rows()) {
            f.padded_output_gradient = Halide::Func("padded_output_gradient");
            f.padded_output_gradient(f.x, f.y, f.out_channel, f.group, f.batch) =
                output_gradient_at(f.x, f.y);
            f.tap_row = Halide::Func("tap_row");
            const Halide::Expr seen_by_tap =
                f.padded_output_gradient(f.x_axis.output(f.x, f.kx), f.y, f.out_channel, f.group, f.batch);
            f.tap_row(f.x, f.kx, f.y, f.out_channel, f.group, f.batch) =
                chunked() ? select(f.x < input.dim(0).extent(), likely(seen_by_tap), 0.f) : seen_by_tap;
        } else {
            f.phases = Halide::Func("phases");
            f.phases(f.cell_x, f.phase_x, f.y, f.ky, f.out_channel, f.group, f.batch) =
                output_gradient_at(f.x_axis.position(f.cell_x, f.phase_x), f.y_axis.output(f.y, f.ky),
                                   f.y < input.dim(1).extent());
        }
    }

    // Whether all chunks of a band are computed, those beyond the last row, too: where a GPU has a pipeline of them.
    bool all_chunks() const { return chunked() && !by_rows(); }
    // Columns and rows of a chunk.
    Halide::Expr columns() const { return chunked() ? Halide::Expr(schedule_columns()) : input.dim(0).extent(); }
    int rows() const { return chunked() ? schedule_rows() : 1; }

    // The positions of a part. Chunks that a schedule stages reach beyond the row's end and the last row, where
    // the input is zero. The runtime makes bands whole chunks high.
    Halide::RDom positions() const {
        const Halide::Expr width = input.dim(0).extent();
        Halide::RDom r({{0, columns()}, {0, rows()}, {0, (width + columns() - 1) / columns()}, {0, band_rows / rows()},
                        {0, part_images}}, "positions");
        if (!all_chunks()) r.where(first_row(r) < input.dim(1).extent());
        r.where(image(r) < batch);
        return r;
    }
    Halide::Expr first_row(const Halide::RDom &r) const { return funcs_.band * band_rows + r[3] * rows(); }
    Halide::Expr image(const Halide::RDom &r) const { return funcs_.images * part_images + r[4]; }

    // What one position adds to a tap.
    Halide::Expr product() const {
        const WeightGradientFuncs &f = funcs_;
        const Halide::RDom &r = f.positions;
        const Halide::Expr column = r[2] * columns() + r[0], row = first_row(r) + r[1];
        const Halide::Expr seen =
            by_rows() ? f.tap_row(column, f.kx, f.y_axis.output(row, f.ky), f.out_channel, f.group, image(r))
                      : f.phases(f.x_axis.cell(column, f.kx), f.x_axis.live_phase(f.kx), row, f.ky, f.out_channel,
                                 f.group, image(r));
        const Halide::Expr product = f.padded_input(column, row, f.in_channel, f.group, image(r)) * seen;
        if (!strict) return product;
        if (!by_rows()) throw std::invalid_argument("strict is true; for a GPU's constant attributes the rule is false");
        return select(in_picture(f.x_axis.output(column, f.kx), f.y_axis.output(row, f.ky)), product, 0.f);
    }

    // A schedule that stages its operands says of how many columns and rows.
    static constexpr bool chunked() { return requires(Schedule s) { s.chunk_columns; }; }
    int schedule_columns() const {
        if constexpr (chunked()) return schedule_params.chunk_columns;
        return 0;
    }
    int schedule_rows() const {
        if constexpr (chunked()) return schedule_params.chunk_rows;
        return 0;
    }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        for (int d = 0; d < 5; d++) input.dim(d).set_min(0);
        for (int d = 2; d < 5; d++) output_gradient.dim(d).set_min(0);
        for (int d = 0; d < 7; d++) partial.dim(d).set_min(0);
        if (problem.in_channels) input.dim(2).set_extent(problem.in_channels);
        if (problem.in_channels) partial.dim(3).set_extent(problem.in_channels);
        if (problem.out_channels) output_gradient.dim(2).set_extent(problem.out_channels);
        if (problem.out_channels) partial.dim(2).set_extent(problem.out_channels);
        if (!problem.run_time_attributes()) {
            partial.dim(0).set_extent(problem.kernel_w);
            partial.dim(1).set_extent(problem.kernel_h);
        }
    }
};

}  // namespace conv_transpose

#endif
