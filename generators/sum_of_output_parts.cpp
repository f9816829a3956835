// The second pass of outputs that are reduced in parts: adds the parts of every element, first to last, then
// what follows a sum (epilogue.h).
#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/epilogue.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// output(position, channel, image) = activation(bias(channel) + sum over parts of partial(position, channel,
/// image, part)).
class SumOfOutputParts : public Halide::Generator<SumOfOutputParts>, public DescribedGenerator {
  public:
    /// The output is stored so.
    GeneratorParam<Storage> stored{"stored", Storage::f32, storage_names()};

    /// Parts have channels innermost, the output has them outside: blocks turn what they have added.
    GeneratorParam<bool> turned{"turned", false};

    Input<Halide::Buffer<float>> partial{"partial", 4};
    Input<Halide::Buffer<float>> bias{"bias", 1};
    Input<int> has_bias{"has_bias"}, activation{"activation"};
    Input<float> slope{"slope"};

    void configure() { output_ = add_output<Halide::Buffer<>>("output", halide_type(stored), 3); }

    void generate() {
        using namespace Halide;
        // Loads of neighbours are under way together; what is beyond the last is the last's.
        const Expr parts = partial.dim(3).extent();
        part = RDom(0, at_once, 0, (parts + at_once - 1) / at_once, "part");
        const Expr number = part.x + part.y * at_once;
        const Expr at = turned ? min(position, partial.dim(0).extent() - 1) : Expr(position),
                   of = turned ? min(channel, partial.dim(1).extent() - 1) : Expr(channel);
        total(position, channel, image) = select(has_bias != 0, bias(of), 0.f);
        total(position, channel, image) += select(number < parts, partial(at, of, image, min(number, parts - 1)), 0.f);
        staged(position, channel, image) = total(position, channel, image);
        const Func added = turned ? staged : total;
        (*output_)(position, channel, image) =
            store(activate(added(position, channel, image), activation, slope_of(channel)), stored);
    }

    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 4; d++) partial.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) output_->dim(d).set_min(0);
        partial.dim(0).set_stride(Expr()), output_->dim(0).set_stride(Expr());
        bias.dim(0).set_min(0);
        total.update().unroll(part.x);
        turned ? schedule_turned() : schedule_in_order();
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::sum_of_output_parts, get_target());
        description.set("input", format_text(Storage::f32, turned));
        description.set("output", format_text(stored));
    }

  private:
    Halide::Var position{"position"}, channel{"channel"}, image{"image"};
    Halide::Var block{"block"}, thread{"thread"}, element{"element"};
    static constexpr int at_once = 8, few = 6;
    Halide::RDom part;
    Halide::Func total{"total"}, staged{"staged"};
    Halide::GeneratorOutput<Halide::Buffer<>> *output_ = nullptr;

    // Of few parts none is loaded in vain.
    template <class Schedule>
    void in_versions(Halide::Stage stage, Schedule schedule) {
        for (int parts = 2; parts <= few; parts++) schedule(stage.specialize(partial.dim(3).extent() == parts));
        schedule(stage);
    }

    // A thread has one element: there are few outputs where a sum is cut, and planes may be smaller than a warp. Lanes run over
    // neighbours of a part, of which there are several to an output: with channels innermost over those.
    void schedule_in_order() {
        using namespace Halide;
        const auto by_lanes = [&](const Var &inner, const Var &outer) {
            return [&](Stage stage) {
                stage.reorder(inner, outer, image).fuse(inner, outer, element)
                    .split(element, block, thread, 128, TailStrategy::GuardWithIf)
                    .gpu_blocks(block, image).gpu_threads(thread).never_partition_all();
            };
        };
        Func output(*output_);
        in_versions(output.specialize(partial.dim(1).stride() == 1), by_lanes(channel, position));
        in_versions(output, by_lanes(position, channel));
        total.compute_at(output, thread);
    }

    // Lanes read neighbouring channels, and write neighbouring positions. The pitch keeps what they read in different banks.
    void schedule_turned() {
        using namespace Halide;
        constexpr int tile = 32, warps = 8;
        constexpr auto guard = TailStrategy::GuardWithIf;
        Var warp{"warp"}, channels{"channels"};
        Func output(*output_);
        output.split(position, block, thread, tile, guard).split(channel, channels, channel, tile, guard)
            .split(channel, channel, warp, warps).reorder(channel, thread, warp, block, channels, image).unroll(channel)
            .fuse(block, channels, block).gpu_blocks(block, image).gpu_threads(thread, warp).never_partition_all();
        staged.compute_at(output, block).store_in(MemoryType::GPUShared).reorder_storage(channel, position, image)
            .bound_extent(position, tile).bound_extent(channel, tile).align_storage(channel, tile + 1);
        in_versions(staged, [&](Stage stage) {
            stage.split(position, warp, position, tile / warps).rename(channel, thread).reorder(position, thread, warp)
                .unroll(position).gpu_threads(thread, warp).never_partition_all();
        });
        total.compute_at(staged, thread).store_in(MemoryType::Register).bound_extent(position, tile / warps).unroll(position);
        total.update().reorder(part.x, position, part.y).unroll(position);
    }

    Halide::Expr slope_of(const Halide::Expr &channel) const {
        return slope_of_channel(has_bias, slope, channel, partial.dim(1).extent(), bias.dim(0).extent(),
                                [&](const Halide::Expr &place) -> Halide::Expr { return bias(place); });
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::SumOfOutputParts, sum_of_output_parts)
