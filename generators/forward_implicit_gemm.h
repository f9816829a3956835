// The generator of the forward operation as an implicit matrix product, every attribute a run-time value
// (algorithm/implicit_gemm.h). Arguments as in forward.h, of any rank. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_IMPLICIT_GEMM_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/machine_facts.h"
#include "generators/axis_inputs.h"
#include "generators/forward_arguments.h"
#include "generators/implicit_gemm_generator.h"

namespace conv_transpose {

template <class Schedule>
class ForwardImplicitGemm : public Halide::Generator<ForwardImplicitGemm<Schedule>>,
      public ImplicitGemmGenerator<Schedule>,
      public ForwardInputs<Halide::Buffer<>> {
  public:
    /// A group must have so many: fewer would leave most of a tile unused.
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", Schedule::least_summed};
    Halide::GeneratorParam<int> min_out_channels{"min_out_channels", Schedule::least_computed};

    /// Phases are channels of the product (gather_geometry): few output channels fill a tile, and the picture is read
    /// once for all phases. The output begins with a whole cell (CalledWith::whole_cells). Those of the width alone multiply
    /// fewer zeros; then cells of neighbouring inputs may be channels, too (runtime/src/choice/input_cells.h).
    Halide::GeneratorParam<bool> phases_as_channels{"phases_as_channels", false};
    Halide::GeneratorParam<bool> phases_along_width{"phases_along_width", false};
    /// Weights that a map reads are those of the operation whose input gradient this is, of one kernel position: a row of the
    /// channels that are summed over for each computed one.
    Halide::GeneratorParam<bool> weight_rows{"weight_rows", false};

    /// They may be read as they are given, by threads that read pictures in channels_first as they are given, too: small problems
    /// are spared launches that pack.
    Halide::GeneratorParam<bool> weights_as_given{"weights_as_given", false};

    void configure() {
        this->configure_format();
        const bool as_it_lies = this->funcs_.position_run > 0;
        this->funcs_.longest_phases_first = !Schedule::on_tensor_cores;
        if (this->weight_map && !as_it_lies && (this->funcs_.format.multiply == Multiply::tf32 || phases_as_channels))
            throw std::invalid_argument("weight_map in TF32, or with phases_as_channels, of packed pictures; the rule is 16 bits");
        if (weight_rows && !(this->weight_map && as_it_lies && !phases_as_channels))
            throw std::invalid_argument("weight_rows without weight_map, of other pictures than those that lie as they do in "
                                        "channels_first, or with phases_as_channels; the rule is none of these");
        const bool of_channels_last = this->input_layout != PictureLayout::channels_first || this->channels_last_output;
        if (weights_as_given && (Schedule::tensor_maps || of_channels_last || this->funcs_.window > 1 ||
                                 this->storage != Storage::f32 || this->funcs_.format.terms > 1))
            throw std::invalid_argument("weights_as_given with tensor maps, with channels innermost, with a window, converted or "
                                        "in parts; the rule is none of these");
        this->funcs_.weights_as_given = this->funcs_.computes_neighbours = weights_as_given;
        if (this->weight_map && !weight_rows) this->funcs_.weight_run = this->elements_of_line();
        if (this->funcs_.row_taps > 1 && phases_as_channels)
            throw std::invalid_argument("row_taps with phases_as_channels; the rule is one of them");
        if (as_it_lies && this->funcs_.computes_whole_rows)
            this->funcs_.position_unit =
                phases_as_channels ? values_of_16_bytes() / this->schedule_params.tile(this->funcs_).neighbours
                                   : this->funcs_.position_run;
        const int dimensions = this->rank + 3;
        input.set_type(this->stored_type()), input.set_dimensions(dimensions);
        weight.set_type(this->weight_type()), weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(*this, this->rank, gather_attributes);
        output_ = this->template add_output<Halide::Buffer<>>("output", this->computed_type(), dimensions);
    }

    void generate() {
        using namespace implicit_gemm;
        GemmFuncs &f = this->funcs_;
        std::vector<GatherAxis> axes;
        PerAxis kernel_size, padding_phase;
        for (int d = 0; d < this->rank; d++) {
            AxisArguments axis = gather_arguments(attributes_, d);
            // A stride of 1; windows have neighbouring taps along x.
            if ((f.window > 1 || f.position_run > 0) && !phases_as_channels)
                axis.stride = axis.gcd = 1, axis.padding_phase = axis.inverse = 0;
            if (f.position_run > 0 && phases_as_channels) axis.padding_phase = 0;  // cells are inputs
            if (f.position_unit > 1 && phases_as_channels && d == 0) axis.stride = this->schedule_params.tile(f).neighbours;
            if ((f.window > 1 || f.row_taps > 1) && d == 0) axis.dilation = axis.gcd = 1;
            if (f.row_taps > 1 && d == 0) axis.kernel = f.row_taps;
            if (this->one_position || weight_rows) axis = {1, 1, 1, 0, 1, 0};
            axes.push_back(GatherAxis::run_time(axis));
            kernel_size.push_back(axis.kernel);
            padding_phase.push_back(axis.padding_phase);
        }
        const Expr summed = this->summed_channels(input), channels = output_->dim(this->rank).extent();
        const int chunk = this->schedule_params.chunk(f);
        if (phases_as_channels && !phases_along_width && f.window > 1 && Schedule::on_tensor_cores)
            throw std::invalid_argument("phases_as_channels with a window; the rule is those along the width");
        const int channel_axes = !phases_as_channels ? 0 : phases_along_width ? 1 : this->rank.value();
        for (int d = 0; d < channel_axes; d++) kernel_size[d] = rounded_up(kernel_size[d], axes[d].stride());  // of a phase
        const Expr cut = may_cut_steps() ? Expr(input.dim(this->rank + 1).extent()) : Expr();
        // Where it can be, a run's positions are outputs at multiples of what a lane stores.
        Expr run_lead = 0;
        if (f.row_taps > 1) {
            const Expr padding = -Expr(input.dim(0).min()), rest = padding % 4;
            f.centre = select(rest < f.row_taps, rest, 0);
            run_lead = rounded_up_to(f.run_margin, values_of_16_bytes()) - f.run_margin +
                       (padding - f.centre) % values_of_16_bytes();
        }
        const Geometry g = gather_geometry(f, axes, padding_phase, channel_axes, *output_, summed, chunk, cut, run_lead);
        this->define_operands(g, input, weight, kernel_size, g.computed_channels(channels), this->problem.in_channel_multiple,
                              this->target);
        define_sum(f, g, 0.f);
        define_stores(f, *output_, this->schedule_params.tile(f), g,
                      [&](const Expr &sum, const Expr &channel, const Expr &group) {
                          return Schedule::on_tensor_cores ? finished(sum, channel, group)
                                                           : finished_in_versions(sum, channel, group);
                      },
                      [&](const Expr &value, const StoredElement &at) { return this->boxes().stored(g, *output_, value, at); });
    }

    void schedule() {
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        this->schedule_product(this->get_pipeline(), input, weight, *output_, this->target);
    }

    std::optional<GeneratorFacts> facts() const override { return this->facts_of_product(Family::forward); }

    void describe(KernelDescription &description) override {
        this->problem.describe(Family::forward, this->target, description);
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        if (knows_channel_slopes()) description.set("channel_slopes", "true");
        this->describe_product("input", "output", description);
        if (may_cut_steps()) {
            description.set("splits_steps", "true");
            if (!Schedule::on_tensor_cores)
                description.set("split_target_blocks", machines::H200::multiprocessors * this->schedule_params.blocks);
        }
        if (this->funcs_.position_run > 0 && this->funcs_.computes_whole_rows)
            description.set("output_width_multiple", values_of_16_bytes());
        if (!phases_as_channels) return;
        description.set("phases_as_channels", "true");
        if (phases_along_width) description.set("phases_along_width", "true");
        description.set("whole_cells", "true");
        const bool channels_last = this->channels_last_output;
        if (channels_last) description.set("phases_outermost", "true");
        if (const int n = this->schedule_params.tile(this->funcs_).neighbours; n > 1)
            description.set(channels_last ? "out_channel_multiple" : "stride_width_multiple", n);
    }

  private:
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *output_ = nullptr;

    static int rounded_up_to(int number, int multiple) { return (number + multiple - 1) / multiple * multiple; }
    int values_of_16_bytes() const { return 16 / this->stored_type().bytes(); }
    // Tensor cores' kernels that store float32 in any case know nothing of parts: these are groups to them.
    // A second pass, which adds parts, would be a launch more where weights are not packed to spare one.
    bool may_cut_steps() const { return (!Schedule::on_tensor_cores && !weights_as_given) || this->cuts_steps(); }
    // TF32's kernels have no registers left for them: those of 256 x 128 spilled, and took 9 % longer without an activation.
    bool knows_channel_slopes() const { return Schedule::tensor_maps && this->funcs_.format.multiply != Multiply::tf32; }
    // A lane reads it once for all rows that it stores.
    Halide::Expr slope_of(const Halide::Expr &channel, const Halide::Expr &group) const {
        if (!knows_channel_slopes()) return slope;
        return slope_of_channel(has_bias, slope, channel, output_->dim(this->rank).extent(), bias.dim(0).extent(),
                                [&](const Halide::Expr &place) -> Halide::Expr { return bias(place, group); });
    }
    // For each of these choices there is a loop of its own (compiler/passes/uniform_choices.h). Parts of sums are groups that have
    // no bias.
    Halide::Expr finished_in_versions(const Halide::Expr &sum, const Halide::Expr &channel, const Halide::Expr &group) const {
        const Halide::Expr of_group = Halide::unsafe_promise_clamped(group, 0, bias.dim(1).extent() - 1);
        const Halide::Expr of_channel = bias(channel, of_group), no_bias = has_bias == 0,
                           linear = activation == static_cast<int>(EpilogueKind::piecewise_linear);
        return branch(linear, branch(no_bias, piecewise_linear(sum, slope), piecewise_linear(sum + of_channel, slope)),
                      activate(sum + branch(no_bias, 0.f, of_channel), activation, slope));
    }
    // Without an activation nothing is computed; the pass makes a version of the store for that. Parts are left to the second
    // pass, and an input gradient has neither biases nor activations.
    Halide::Expr finished(const Halide::Expr &product, const Halide::Expr &channel, const Halide::Expr &group) const {
        if (this->makes_parts || weight_rows) return product;
        const Halide::Expr no_activation =
            activation == static_cast<int>(EpilogueKind::piecewise_linear) && slope == 1.f;
        // Weights that are read for none need not lie at multiples of its elements.
        const Halide::Expr added = weights_as_given ? branch(has_bias == 0, 0.f, bias(channel, group)) : bias_of(channel, group);
        const Halide::Expr sum = product + added,
                           all = branch(no_activation, sum, activate(sum, activation, slope_of(channel, group)));
        // There no load of a bias is waited for.
        const bool moves_sums = this->funcs_.spares_conditions || this->funcs_.row_taps > 1 || this->one_position;
        return moves_sums ? branch(no_activation && has_bias == 0, product, all) : all;
    }
};

}  // namespace conv_transpose

#endif
