// The second pass of outputs that are reduced in parts: adds the parts of every element, first to last, then
// what follows a sum (epilogue.h).
#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/epilogue.h"
#include "generators/format_text.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// output(position, channel, image) = activation(bias(channel) + sum over parts of partial(position, channel,
/// image, part)).
class SumOfOutputParts : public Halide::Generator<SumOfOutputParts>, public DescribedGenerator {
  public:
    /// Of the output.
    GeneratorParam<Storage> stored{"stored", Storage::f32, storage_names()};

    Input<Halide::Buffer<float>> partial{"partial", 4};
    Input<Halide::Buffer<float>> bias{"bias", 1};
    Input<int> has_bias{"has_bias"}, activation{"activation"};
    Input<float> slope{"slope"};

    void configure() { output_ = add_output<Halide::Buffer<>>("output", halide_type(stored), 3); }

    void generate() {
        using namespace Halide;
        const Expr parts = partial.dim(3).extent();
        r = RDom({{0, batch}, {0, (parts + batch - 1) / batch}}, "part");
        const Expr part = r[0] + batch * r[1];
        const Expr there = unsafe_promise_clamped(min(part, parts - 1), 0, parts - 1);
        total(position, channel, image) = select(has_bias != 0, bias(channel), 0.f);
        total(position, channel, image) += select(part < parts, partial(position, channel, image, there), 0.f);
        (*output_)(position, channel, image) =
            store(activate(total(position, channel, image), activation, slope_of(channel)), stored);
    }

    // A thread has one element: there are few outputs where a sum is cut, and planes may be smaller than a warp. Lanes run over
    // what are neighbours in memory: with channels innermost over those.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 4; d++) partial.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) output_->dim(d).set_min(0);
        partial.dim(0).set_stride(Expr()), output_->dim(0).set_stride(Expr());
        bias.dim(0).set_min(0);
        Var block{"block"}, thread{"thread"}, element{"element"};
        const auto by_lanes = [&](Stage stage, const Var &inner, const Var &outer) {
            stage.fuse(inner, outer, element).split(element, block, thread, 128, TailStrategy::GuardWithIf)
                .gpu_blocks(block, image).gpu_threads(thread).never_partition_all();
        };
        Func output(*output_);
        output.reorder(position, channel, image);
        by_lanes(output.specialize(partial.dim(1).stride() == 1 && output_->dim(1).stride() == 1).reorder(channel, position, image),
                 channel, position);
        by_lanes(output, position, channel);
        total.compute_at(Func(*output_), thread).update().unroll(r[0]);
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::sum_of_output_parts);
        description.set("role", "KernelRole::sum_of_output_parts");
        description.set("output", format_text(stored));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var position{"position"}, channel{"channel"}, image{"image"};
    static constexpr int batch = 8;  // of parts that are loaded at once: one after the other takes a fourth of a microsecond each
    Halide::RDom r;
    Halide::Func total{"total"};
    Halide::GeneratorOutput<Halide::Buffer<>> *output_ = nullptr;

    Halide::Expr slope_of(const Halide::Expr &channel) const {
        const Halide::Expr of_channel = has_bias == static_cast<int>(BiasKind::biases_and_slopes);
        const Halide::Expr place = channel + select(of_channel, partial.dim(1).extent(), 0);
        return select(of_channel, bias(Halide::unsafe_promise_clamped(place, 0, bias.dim(0).extent() - 1)), slope);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::SumOfOutputParts, sum_of_output_parts)
