// The generator of the bias gradient: the sum of the output gradient over batch and space. Like the weight
// gradient's it is cut into parts, here slices of an image; sum_of_parts.cpp adds them in a fixed order.
#include "Halide.h"
#include "generators/any_tensors.h"

namespace conv_transpose {

/// partial(channel, slice, image) = sum of output_gradient(position, channel, image) over a slice of its positions. The
/// whole plane of a channel is one dimension, whatever the rank.
class BiasGradient : public Halide::Generator<BiasGradient>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};
    GeneratorParam<bool> channels_last{"channels_last", false};

    Input<Halide::Buffer<>> output_gradient{"output_gradient"};
    Input<int> slice_positions{"slice_positions"};
    Output<Halide::Buffer<float>> partial{"partial", 3};

    void configure() { output_gradient.set_type(halide_type(storage)), output_gradient.set_dimensions(3); }

    void generate() {
        const auto position = output_gradient.dim(0);
        positions = Halide::RDom(0, slice_positions, "positions");
        const Halide::Expr at = slice * slice_positions + positions;
        positions.where(at < position.extent());
        const Expr real_channel = channels_last ? min(channel, output_gradient.dim(1).extent() - 1) : Expr(channel);
        sum(channel, slice, image) +=
            loaded(output_gradient(clamp(at, 0, position.extent() - 1), real_channel, image), get_target());
        partial(channel, slice, image) = sum(channel, slice, image);
    }

    // Memory-bound: every thread or vector lane adds neighbouring positions to a sum of its own; those are
    // added at the end.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 3; d++) output_gradient.dim(d).set_min(0), partial.dim(d).set_min(0);
        if (channels_last) return schedule_channels_last();
        RVar outer{"outer"}, inner{"inner"}, lane_sum_outer{"lane_sum_outer"};
        Var lane{"lane"}, thread{"thread"}, work{"work"};
        const bool gpu = get_target().has_gpu_feature();
        const int lanes = gpu ? 256 : 4 * natural_vector_size<float>();
        sum.update().split(positions, outer, inner, lanes, TailStrategy::GuardWithIf);
        Func lane_sum = sum.update().rfactor(inner, lane);
        if (gpu) {
            Func lane_sums = lane_sum.in(sum);
            Func(partial).split(channel, channel, thread, 1).gpu_blocks(channel, slice, image).gpu_threads(thread);
            sum.compute_at(partial, thread);
            lane_sums.compute_at(partial, channel).store_in(MemoryType::GPUShared).gpu_threads(lane);
            lane_sum.compute_at(lane_sums, lane);
        } else {
            Func(partial).fuse(channel, slice, work).fuse(work, image, work).parallel(work);
            sum.compute_at(partial, work);
            lane_sum.compute_at(partial, work).vectorize(lane, natural_vector_size<float>()).unroll(lane);
            lane_sum.update().reorder(lane, outer).vectorize(lane, natural_vector_size<float>()).unroll(lane);
        }
    }

    // Lanes are neighbouring channels, and the rows of threads neighbouring positions.
    void schedule_channels_last() {
        using namespace Halide;
        output_gradient.dim(0).set_stride(Expr());
        output_gradient.dim(1).set_stride(1);
        RVar outer{"outer"}, inner{"inner"};
        Var row{"row"}, lane{"lane"}, block{"block"}, work{"work"};
        const bool gpu = get_target().has_gpu_feature();
        const int lanes = gpu ? 32 : 4 * natural_vector_size<float>(), rows = 16;
        Func(partial).split(channel, block, lane, lanes, TailStrategy::GuardWithIf);
        if (gpu) {
            sum.update().split(positions, outer, inner, rows, TailStrategy::GuardWithIf);
            Func row_sum = sum.update().rfactor(inner, row), row_sums = row_sum.in(sum);
            Func(partial).gpu_blocks(block, slice, image).gpu_threads(lane);
            sum.compute_at(partial, lane);
            row_sums.compute_at(partial, block).store_in(MemoryType::GPUShared).bound_extent(channel, lanes)
                .gpu_threads(channel, row);
            row_sum.compute_at(row_sums, channel);
        } else {
            const int width = natural_vector_size<float>();
            Func(partial).reorder(lane, block, slice, image).fuse(block, slice, work).fuse(work, image, work).parallel(work);
            sum.compute_at(partial, work).bound_extent(channel, lanes).vectorize(channel, width).unroll(channel)
                .update().reorder(channel, positions).vectorize(channel, width).unroll(channel);
        }
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::bias_gradient);
        description.set("operation", "Operation::bias_gradient");
        description.set("rank", max_rank);
        description.set("input", format_text(storage));  // by which rows are named
        description.set("output", format_text(storage, channels_last));
        description.set("any_result", "true");
        describe_target(get_target(), description);
    }

  private:
    Halide::Var channel{"channel"}, slice{"slice"}, image{"image"};
    Halide::RDom positions;
    Halide::Func sum{"sum"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::BiasGradient, bias_gradient)
