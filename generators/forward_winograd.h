// The generator of the forward operation by Winograd's algorithm on CPUs (algorithm/flat_winograd.h), for kernels of so many
// strides: stride and kernel size are run-time values. Arguments as in forward_flat_gemm.h. Template argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_WINOGRAD_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/flat_winograd.h"
#include "generators/axis_inputs.h"
#include "generators/flat_gemm_generator.h"
#include "generators/forward_arguments.h"

namespace conv_transpose {

template <class Schedule>
class ForwardWinograd : public Halide::Generator<ForwardWinograd<Schedule>>,
      public FlatGemmGenerator<Schedule>,
      public ForwardInputs<Halide::Buffer<>> {
  public:
    /// A kernel has more than taps - 1 strides, and no more than taps; an axis of one tap is not transformed.
    Halide::GeneratorParam<int> taps_h{"taps_h", 2}, taps_w{"taps_w", 2};

    void configure() {
        FlatGemmGenerator<Schedule>::configure(*this, this->get_target(), input, weight, gather_attributes, "output");
    }

    void generate() {
        using namespace flat_gemm;
        f_.size = this->schedule_params.sizes(this->target);
        f_.across = winograd::of_taps(taps_w), f_.down = winograd::of_taps(taps_h);
        const int rank = this->rank;
        auto &output = *this->result_;
        std::vector<WinogradTaps> taps;
        std::vector<FlatAxis> axes;
        for (int d = 0; d < rank; d++) {
            const AxisArguments a = gather_arguments(this->attributes_, d);
            taps.push_back({a.kernel, a.stride});
            axes.push_back(winograd_axis(d == 0 ? f_.across : f_.down, a, input.dim(d).min(), input.dim(d).extent(),
                                         output.dim(d).extent()));
        }
        const Places places(axes, output.dim(rank + 2).extent(), output.dim(0).extent(), this->tile_shape(), f_.size);
        define_staged(f_, places, input, this->load(this->get_target()));
        define_transforms(f_, places);
        define_products(f_, places, weight, taps, input.dim(rank).extent(), output.dim(rank).extent(),
                        [&](const Expr &channel, const Expr &group) { return bias_of(channel, group); });
        define_stores(f_, output, places, [&](const Expr &sum) { return activate(sum, activation, slope); });
    }

    void schedule() {
        this->funcs_.size = f_.size;
        this->declare_shapes(input, weight);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        this->schedule_params.apply(f_);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        this->describe_product(description, Family::forward, Family::flat_forward, this->target);
        this->schedule_params.describe(f_, description, true);
    }

  private:
    WinogradFuncs f_;
};

}  // namespace conv_transpose

#endif
