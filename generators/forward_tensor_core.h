// The generator of the forward operation on tensor cores: the same gather, over operands that are rounded to TF32 and
// staged with four input channels innermost. Arguments as in forward.h. Template argument: the schedule.
//
// Within a phase the gather is a matrix product: rows are channels, columns are cells, and each tap reads the same
// staged pixels from another place. The horizontal phases of a channel lie 64 rows apart in one tile, so that whoever
// stores it holds neighbouring elements of the output; every vertical phase has tiles of its own.
//
// `sub_pixel` is another form of the same sum, for strides of any size (W. Shi et al., "Real-Time Single
// Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network", 2016): phases
// are like further channels. Positions are counted from the beginning of a cell, x + padding phase, so that
// all phases have the same taps, and the rows of a tile are the phases, of both axes, of some channels: it is
// a problem of stride 1 with ceil(kernel / stride) taps, whose outputs are shuffled. The runtime passes an
// output that begins padding-phase elements early; those are not stored.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_TENSOR_CORE_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_TENSOR_CORE_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/gather.h"
#include "algorithm/tensor_core_funcs.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "algorithm/weight_layouts.h"
#include "generators/forward_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class ForwardTensorCore : public Halide::Generator<ForwardTensorCore<Schedule>>,
      public ForwardArguments<>,
      public DescribedGenerator {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

  public:
    /// 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    GeneratorParam<int> parts{"parts", 1};
    /// Rows of the picture that share one tile of 64 rows: 2 for up to 32 channels.
    GeneratorParam<int> picture_rows{"picture_rows", 1};
    GeneratorParam<bool> sub_pixel{"sub_pixel", false};
    Schedule schedule_params;

    void generate() {
        describe_problem(f_);
        define_operands();
        sum_products();
        define_output();
    }

    void schedule() {
        declare_shapes();
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        description.set("precision", tensor_core_precision(parts));
        description.set("weight_layout", enumerator(tensor_core_layout(parts, picture_rows, sub_pixel)));
        if (sub_pixel) description.set("whole_cells", "true");
        // Rows of a tile and vertical phases that lack a tap multiply by a weight of zero.
        const bool zero_weights = sub_pixel || picture_rows > 1 || !f_.y_axis.always_live();
        if (zero_weights) description.set("strict_propagation", "false");
        description.set("weight_channel_multiple", f_.tile_channels());
        description.set("weight_tile", 64 * f_.phases_x * f_.taps_x * f_.phases_y * f_.taps_y * parts);
        description.set("weight_in_channel_multiple", schedule_params.chunk());
        description.set("min_in_channels", std::min(schedule_params.chunk(), 8));
        description.set("min_out_channels", (16 + f_.row_phases() - 1) / f_.row_phases());
        schedule_params.describe(description, f_);
    }

    void search_space(SearchSpace &space) const override {
        if (problem.kernel_w == 0) return;  // a search is for constant attributes
        space.choose(picture_rows, {1, 2});
        space.choose(sub_pixel, {false, true});
        const bool valid = reason_against().empty();
        space.require("see reason_against()", valid);
        if (!valid) return;
        space.require("only few channels leave room in a tile, for neighbouring rows",
                      picture_rows == 1 || problem.out_channels <= 32);
        TensorCoreFuncs f;
        describe_problem(f);
        space.require("channels fill enough of a tile",
                      problem.in_channels >= 8 && problem.out_channels * f.row_phases() >= 16);
        const int positions = problem.kernel_w.value() * problem.kernel_h.value();
        const int computed = f.taps_x * f.taps_y * f.row_phases();
        space.require("phases of sub-pixels have about as many taps", !sub_pixel || computed * 2 <= positions * 3);
        schedule_params.search_space(space, f);
    }

  private:
    TensorCoreFuncs f_;

    // Why the parameters do not go together, or an empty string.
    std::string reason_against() const {
        const bool dilated = problem.dilation_w > 1 || problem.dilation_h > 1;
        if (problem.kernel_w == 0 || problem.kernel_h == 0 || problem.stride_w == 0 || problem.stride_h == 0)
            return "kernel or stride is 0, a run-time value; for tensor cores they are constants";
        if ((problem.stride_w > 1 && problem.dilation_w != 1) || (problem.stride_h > 1 && problem.dilation_h != 1))
            return "dilation on an axis with a stride; for tensor cores the rule is 1";
        if (picture_rows > 1 && (problem.stride_h != 1 || problem.dilation_h != 1 || sub_pixel))
            return "picture_rows is " + std::to_string(picture_rows) +
                   "; with a vertical stride or dilation, or sub_pixel, the rule is 1";
        const int phases = problem.stride_w.value() * problem.stride_h.value();
        if (sub_pixel && (problem.stride_w < 2 || phases > 64 || dilated))
            return "sub_pixel with " + std::to_string(phases) +
                   " phases; the rule is up to 64, two or more along x, and no dilation";
        return {};
    }

    void describe_problem(TensorCoreFuncs &f) const {
        if (const std::string reason = reason_against(); !reason.empty()) throw std::invalid_argument(reason);
        f.parts = parts, f.picture_rows = picture_rows;
        if (sub_pixel) {
            f.row_phases_x = problem.stride_w, f.row_phases_y = problem.stride_h;
            f.x_axis = cells_axis(problem.kernel_w, problem.stride_w);
            f.y_axis = cells_axis(problem.kernel_h, problem.stride_h);
        } else {
            f.phases_x = problem.stride_w, f.phases_y = problem.stride_h;
            f.x_axis = problem.x_axis({}), f.y_axis = problem.y_axis({});
        }
        f.taps_x = constant(f.x_axis.taps()), f.taps_y = constant(f.y_axis.taps()) + picture_rows - 1;
        if (problem.output_w == 0) return;
        const int early_x = sub_pixel ? problem.padding_phase_w.value() : 0,
                  early_y = sub_pixel ? problem.padding_phase_h.value() : 0;
        const int rows = problem.stride_h.value() * picture_rows.value();
        f.cells_x = (problem.output_w + early_x + problem.stride_w - 1) / problem.stride_w;
        f.cells_y = (problem.output_h + early_y + rows - 1) / rows, f.channels = problem.out_channels;
    }

    void define_operands() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const TensorCoreVars &t = f_.t;
        const Halide::Func padded = padded_picture(input, v, problem.in_channels, schedule_params.chunk());
        f_.staged_input = Halide::Func("staged_input");
        f_.staged_input(t.value, v.x, v.y, t.k4, t.part, v.group, v.batch) =
            tf32_part(padded(v.x, v.y, t.k4 * 4 + t.value, v.group, v.batch), t.part, this->target);
        f_.weights = Halide::Func("weights");
        const int channels = f_.tile_channels();
        const Expr row_blocks = (output.dim(2).extent() + channels - 1) / channels;
        const Expr ks = groups_of_four() * parts;
        const Expr row_block = existing_row_block(t.row_block, row_blocks, schedule_params.channel_sets);
        const Expr slice = t.phase_y + f_.phases_y * (t.k4 * parts + t.part + ks * (row_block + row_blocks * v.group));
        f_.weights(t.value, t.row, v.x, v.y, t.phase_y, t.k4, t.part, t.row_block, v.group) = weight(
            t.value + 4 * (t.row + 64 * f_.phases_x * (v.x + f_.taps_x * (v.y + f_.taps_y * slice))), 0, 0, 0, 0);
    }

    // A tile of several picture rows has so many more taps in y; the packed weights have zeros where a row's own taps end.
    void sum_products() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const TensorCoreVars &t = f_.t;
        f_.sum_over(groups_of_four());
        const TensorCoreReduction &r = f_.r;
        const Expr phase_x = t.row / 64, phase_y = v.y % f_.phases_y;
        // Where a phase has fewer taps: none is computed. The vertical phase is not known when taps are unrolled; there
        // the packed weights are zero.
        if (!f_.x_axis.always_live()) f_.r.domain.where(f_.x_axis.live(phase_x, r.tap_x));
        f_.sum = Halide::Func("sum");
        f_.sum(v.x, t.row, t.row_block, v.y, v.group, v.batch) = 0.f;
        const Expr cell_y = picture_rows > 1 ? v.y * picture_rows + (picture_rows - 1) : v.y / f_.phases_y;
        f_.sum(v.x, t.row, t.row_block, v.y, v.group, v.batch) +=
            f_.staged_input(r.value, f_.x_axis.input(v.x, phase_x, r.tap_x), f_.y_axis.input(cell_y, phase_y, r.tap_y), r.k4,
                      f_.part_of(r.product, 1), v.group, v.batch) *
            f_.weights(r.value, t.row, r.tap_x, r.tap_y, phase_y, r.k4, f_.part_of(r.product, 0), t.row_block, v.group);
    }

    void define_output() {
        using Halide::Expr;
        const GatherVars &v = f_.v;
        const Expr sum = (sub_pixel ? shuffled_sum() : sum_of_row()) + select(has_bias != 0, bias(v.channel, v.group), 0.f);
        // Without an activation nothing is computed; the pass makes a version of the store for that.
        const Expr no_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear) && slope == 1.f;
        output(v.x, v.y, v.channel, v.group, v.batch) =
            unless_before_picture(branch(no_activation, sum, activate(sum, activation, slope)));
        f_.output = output;
    }

    Halide::Expr sum_of_row() const {
        const GatherVars &v = f_.v;
        const int channels = f_.tile_channels(), rows = picture_rows;
        const Halide::Expr row = v.channel % channels + channels * (v.y % rows) + 64 * (v.x % f_.phases_x);
        return f_.sum(v.x / f_.phases_x, row, v.channel / channels, v.y / rows, v.group, v.batch);
    }

    // An axis of cells that all phases share.
    static GatherAxis cells_axis(int kernel, int stride) {
        return GatherAxis::fixed((kernel + stride - 1) / stride, 1, 1, 0);
    }

    Halide::Expr shuffled_sum() const {
        const GatherVars &v = f_.v;
        const int channels = f_.tile_channels(), phases_x = f_.row_phases_x, phases_y = f_.row_phases_y;
        const Halide::Expr row = v.x % phases_x + phases_x * (v.y % phases_y + phases_y * (v.channel % channels));
        return f_.sum(v.x / phases_x, row, v.channel / channels, v.y / phases_y, v.group, v.batch);
    }

    // Whole cells may begin before the picture. Kernels for any size are for any padding, too.
    Halide::Expr unless_before_picture(const Halide::Expr &value) const {
        const GatherVars &v = f_.v;
        const bool any = problem.output_w == 0;
        if (!sub_pixel || (!any && problem.padding_phase_w == 0 && problem.padding_phase_h == 0)) return value;
        const Halide::Expr early_x = any ? Halide::Expr(padding_phase_w) : Halide::Expr(problem.padding_phase_w);
        const Halide::Expr early_y = any ? Halide::Expr(padding_phase_h) : Halide::Expr(problem.padding_phase_h);
        return select(is_natural(v.x - early_x) && is_natural(v.y - early_y), value, Halide::undef<float>());
    }

    // Not `>= 0`, by which Halide would trim the loops over a tile at their beginning.
    static Halide::Expr is_natural(const Halide::Expr &e) {
        return Halide::cast<uint32_t>(e) < Halide::Internal::UIntImm::make(Halide::UInt(32), uint64_t{1} << 31);
    }

    static int constant(const Halide::Expr &e) {
        return static_cast<int>(*Halide::Internal::as_const_int(Halide::Internal::simplify(e)));
    }

    Halide::Expr groups_of_four() const {
        return conv_transpose::groups_of_four(input, problem.in_channels, schedule_params.chunk());
    }

    void declare_shapes() {
        declare_tensors();
        if (sub_pixel && problem.output_w > 0) {
            output.dim(0).set_extent(problem.output_w.value() + problem.padding_phase_w.value());
            output.dim(1).set_extent(problem.output_h.value() + problem.padding_phase_h.value());
        }
        // Rows of 16 bytes, at multiples of 16 bytes: they are copied asynchronously.
        weight.set_host_alignment(16);
    }
};

}  // namespace conv_transpose

#endif
