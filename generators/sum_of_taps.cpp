// The second pass of outputs whose first is a matrix product of the input with all taps of the weight (Computation::of_taps): adds
// up what each output sees of those products, known as col2im, then what follows a sum (epilogue.h).
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/per_axis.h"
#include "algorithm/tap_walk.h"
#include "generators/axis_inputs.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// output(x, y, z, channel, image) = activation(bias(channel) + sum over taps of partial(input x, y, z, tap, channel, image)).
/// Taps count through the kernel, x fastest. Coordinates of the input begin at -(padding / stride).
class SumOfTaps : public Halide::Generator<SumOfTaps>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> partial{"partial", rank + 3};
    Input<Halide::Buffer<float>> bias{"bias", 1};
    Input<int> has_bias{"has_bias"}, activation{"activation"};
    Input<float> slope{"slope"};

    void configure() {
        attributes_ = add_axis_inputs(*this, rank, gather_attributes);
        output_ = add_output<Halide::Buffer<float>>("output", rank + 2);
    }

    void generate() {
        using namespace Halide;
        const auto extent = [&](int d) { return Expr(output_->dim(d).extent()); };
        const PerAxis place = digits(element_, {extent(0), extent(1)});
        std::vector<TapWalk> axes;
        for (int d = 0; d < rank; d++) {
            walks_.emplace_back("walk_" + std::to_string(d));
            axes.push_back(tap_walk(place[d], gather_arguments(attributes_, d), true).kept_in(walks_[d], {element_}));
        }
        const auto rounds = [&](int d, int at_once) { return (axes[d].most() + at_once - 1) / at_once; };
        taps_ = RDom({{0, columns}, {0, rows}, {0, rounds(0, columns)}, {0, rounds(1, rows)}, {0, axes[2].most()}}, "taps");
        const Expr taps[] = {taps_[0] + taps_[2] * columns, taps_[1] + taps_[3] * rows, taps_[4]};
        std::vector<Expr> seen;
        Expr tap = 0, inside = Internal::const_true();
        for (int d = 0; d < rank; d++) {
            const Expr at = axes[d].input_of(taps[d]), min = partial.dim(d).min(), inputs = partial.dim(d).extent();
            inside = inside && axes[d].live(taps[d]) && is_inside(at, min, inputs);
            seen.push_back(unsafe_promise_clamped(at, min, min + inputs - 1));
        }
        for (int d = rank - 1; d >= 0; d--) tap = tap * axes[d].kernel + axes[d].tap(taps[d]);
        seen.insert(seen.end(), {unsafe_promise_clamped(tap, 0, partial.dim(rank).extent() - 1), channel_, image_});
        total_(element_, channel_, image_) = select(has_bias != 0, bias(channel_), 0.f);
        total_(element_, channel_, image_) += branch(inside, partial(seen), 0.f);

        stored_ = RDom(0, rounded_up(extent(0) * extent(1) * extent(2), threads) * threads, "stored");
        std::vector<Expr> at = digits(stored_, {extent(0), extent(1)});
        stored_.where(at[2] < extent(2));
        for (int d = 0; d < rank; d++) at[d] = unsafe_promise_clamped(at[d], 0, extent(d) - 1);
        at.insert(at.end(), {channel_, image_});
        (*output_)(std::vector<Var>{Var(), Var(), Var(), channel_, image_}) = undef<float>();
        (*output_)(at) = activate(total_(stored_, channel_, image_), activation, slope_of(channel_));
    }

    // A thread has one output, whose neighbours in a row see the same taps as many strides further on. Loads of some taps are
    // under way together.
    void schedule() {
        using namespace Halide;
        add_passes_of_any_kernel(get_pipeline());
        for (int d = rank; d < rank + 3; d++) partial.dim(d).set_min(0);
        for (int d = 0; d < rank + 2; d++) output_->dim(d).set_min(0);
        partial.dim(0).set_stride(Expr()), output_->dim(0).set_stride(Expr());
        bias.dim(0).set_min(0);
        Func output(*output_);
        output.gpu_single_thread();  // defines nothing, but must not seem to be on the host
        RVar block{"block"}, thread{"thread"};
        output.update().allow_race_conditions().split(stored_, block, thread, threads)
            .reorder({thread, block, channel_, image_})
            .gpu_blocks(block, channel_, image_).gpu_threads(thread).never_partition_all();
        total_.update().unroll(taps_[0]).unroll(taps_[1]);
        const auto keep = [&](Func &f) { f.compute_at(output, thread).store_in(MemoryType::Register).bound_extent(element_, 1); };
        keep(total_);
        for (Func &walk : walks_) keep(walk);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::sum_of_taps, get_target());
        description.set("rank", rank);
    }

  private:
    static constexpr int rank = max_rank, threads = 128;
    static constexpr int columns = 3, rows = 2;  // of taps at once

    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<float>> *output_ = nullptr;
    Halide::Var element_{"element"}, channel_{"channel"}, image_{"image"};
    Halide::RDom taps_, stored_;
    std::vector<Halide::Func> walks_;
    Halide::Func total_{"total"};

    Halide::Expr slope_of(const Halide::Expr &channel) const {
        return slope_of_channel(has_bias, slope, channel, partial.dim(rank + 1).extent(), bias.dim(0).extent(),
                                [&](const Halide::Expr &place) -> Halide::Expr { return bias(place); });
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::SumOfTaps, sum_of_taps)
