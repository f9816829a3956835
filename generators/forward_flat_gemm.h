// The generator of the forward operation as a flat matrix product, every attribute a run-time value
// (algorithm/flat_gemm.h). Arguments as in forward.h and the shape of
// a tile. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_FLAT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_FLAT_GEMM_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/flat_entries.h"
#include "algorithm/flat_phases.h"
#include "generators/axis_inputs.h"
#include "generators/flat_gemm_generator.h"
#include "generators/forward_arguments.h"

namespace conv_transpose {

template <class Schedule>
class ForwardFlatGemm : public Halide::Generator<ForwardFlatGemm<Schedule>>,
      public FlatGemmGenerator<Schedule>,
      public ForwardInputs<Halide::Buffer<>> {
  public:
    void configure() {
        FlatGemmGenerator<Schedule>::configure(*this, this->get_target(), input, weight, gather_attributes, "output");
    }

    void generate() {
        using namespace flat_gemm;
        FlatGemmFuncs &f = this->funcs_;
        f.size = this->schedule_params.sizes(this->target);
        const int rank = this->rank;
        const bool joins_phases = f.size.phase_lanes > 0;
        auto &output = *this->result_;
        std::vector<GatherAxis> gather;
        std::vector<FlatAxis> axes;
        PerAxis kernel, most;
        Expr apart = Halide::Internal::const_false(), results = 1;
        for (int d = 0; d < rank; d++) {
            AxisArguments arguments = gather_arguments(this->attributes_, d);
            const auto axis = joins_phases ? whole_cells_axis : forward_axis;
            axes.push_back(axis(arguments, input.dim(d).min(), input.dim(d).extent(), output.dim(d).extent(), apart));
            if (joins_phases) arguments.padding_phase = 0;  // of whole cells
            kernel.push_back(arguments.kernel);
            gather.push_back(GatherAxis::run_time(arguments));
            results = results * output.dim(d).extent(), apart = results >= f.size.vector;
            most.push_back(gather[d].taps());
        }
        const Expr summed = f.size.depthwise ? Expr(1) : input.dim(rank).extent(), channels = output.dim(rank).extent();
        const Places places(axes, output.dim(rank + 2).extent(), output.dim(0).extent(), this->tile_shape(), f.size);
        if (!joins_phases) define_taps(f, places, gather);
        if (f.size.only_cells) define_cells(f, places);
        const auto initial = [&](const Expr &channel, const Expr &group) {
            return bias_of(channel, group);
        };
        const Load load = this->load(this->get_target());
        if (f.size.entries > 0) {
            SumOfEntries(f, places, input, kernel, load).define(weight, channels, initial);
        } else if (joins_phases) {
            define_staged(f, places, input, load);
            SumOfPhases(f, places, gather, summed, channels).define(weight, initial);
        } else {
            define_staged(f, places, input, load);
            Sum(f, places, weight, product(most), summed, channels).define(initial);
        }
        const Finish finish = [&](const Expr &sum) { return this->rounded(activate(sum, activation, slope), this->get_target()); };
        f.empty = Halide::Func("empty");
        f.empty(f.v.lane, f.v.group) = finish(initial(promised(min(f.v.lane, channels - 1), channels), f.v.group));
        define_stores(f, output, places, finish);
    }

    void schedule() {
        this->declare_shapes(input, weight);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        this->schedule_params.apply(this->funcs_, this->target);
        this->add_passes(*this, this->target);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward, Ranks::parameter); }

    void search_space(SearchSpace &space) const override {
        if constexpr (!Schedule::is_depthwise) this->search_product(space, this->problem.out_channels, this->target, false);
    }

    void describe(KernelDescription &description) override {
        this->describe_product(description, Family::forward, Family::flat_forward, this->target);
    }

  private:
    static void define_taps(FlatGemmFuncs &f, const flat_gemm::Places &places, const std::vector<GatherAxis> &gather) {
        using namespace flat_gemm;
        const std::vector<GatherAxis::Phase> of_phase = phase_of_axes(places, gather, f.v.phase);
        PerAxis live, divisors;
        for (const GatherAxis::Phase &phase : of_phase) {
            live.push_back(phase.taps);
            divisors.push_back(max(phase.taps, 1));
        }
        const PerAxis t = digits(f.v.tap, divisors, divide_plainly);
        Tap tap;
        for (std::size_t d = 0; d < gather.size(); d++) {
            tap.shift.push_back(of_phase[d].shift - t[d] * gather[d].input_step() - places.axes()[d].low);
            tap.plane.push_back(0);
            tap.kernel.push_back(of_phase[d].first + t[d] * gather[d].tap_step());
        }
        flat_gemm::define_taps(f, places, tap, product(live));
    }
};

}  // namespace conv_transpose

#endif
