// The generator of the bias gradient: the sum of the output gradient over batch and space. Like the weight
// gradient's it is cut into parts, here slices of some images; sum_of_parts.cpp adds them in a fixed order.
#include "Halide.h"
#include "algorithm/fast_division.h"
#include "generators/any_tensors.h"

namespace conv_transpose {

/// partial(channel, slice, part) = sum of output_gradient(position, channel, image) over a slice of the positions of the part's
/// images. The whole plane of a channel is one dimension, whatever the rank.
class BiasGradient : public Halide::Generator<BiasGradient>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};
    GeneratorParam<bool> channels_last{"channels_last", false};

    Input<Halide::Buffer<>> output_gradient{"output_gradient"};
    Input<int> slice_positions{"slice_positions"}, part_images{"part_images"};
    Output<Halide::Buffer<float>> partial{"partial", 3};

    void configure() { output_gradient.set_type(halide_type(storage)), output_gradient.set_dimensions(3); }

    void generate() {
        using namespace Halide;
        if (channels_last) add_rows();
        else if (on_gpu()) add_elements();
        else add_vectors();
        partial(channel, slice, part) = sum(channel, slice, part);
    }

    // Memory-bound: every thread or vector lane adds neighbouring positions to a sum of its own; those are
    // added at the end.
    void schedule() {
        using namespace Halide;
        for (int d = 0; d < 3; d++) output_gradient.dim(d).set_min(0), partial.dim(d).set_min(0);
        if (channels_last) return schedule_channels_last();
        RVar outer{"outer"}, inner{"inner"}, some{"some"};
        Var thread{"thread"}, work{"work"};
        if (on_gpu()) {
            // 256 lanes' sums become 32, and those one.
            constexpr int columns = 32;
            RVar column_of{"column_of"}, row{"row"};
            Var column{"column"};
            sum.update().split(r.x, outer, inner, threads);
            lane_sum = sum.update().rfactor(inner, lane_);
            sum.update().split(inner, row, column_of, columns);
            Func column_sum = sum.update().rfactor(column_of, column);
            Func lane_sums = lane_sum.in(column_sum), column_sums = column_sum.in(sum);
            Func(partial).split(channel, channel, thread, 1).gpu_blocks(channel, slice, part).gpu_threads(thread);
            sum.compute_at(partial, thread);
            column_sums.compute_at(partial, channel).store_in(MemoryType::GPUShared).gpu_threads(column);
            column_sum.compute_at(column_sums, column);
            lane_sums.compute_at(partial, channel).store_in(MemoryType::GPUShared).gpu_threads(lane_);
            lane_sum.compute_at(lane_sums, lane_);
            Stage adding = lane_sum.update();
            adding.split(outer, outer, some, loads).unroll(some);
            adding.specialize(part_images == 1);  // divides nothing
        } else {
            Func(partial).fuse(channel, slice, work).fuse(work, part, work).parallel(work);
            sum.compute_at(partial, work).update(0).atomic().vectorize(lanes_.x);
            sum.update(1).unscheduled();
            lane_sum.compute_at(partial, work).vectorize(lane_).update().reorder(lane_, r.x, r.y).vectorize(lane_);
        }
    }

    // Lanes are neighbouring channels, and the rows of threads neighbouring positions.
    void schedule_channels_last() {
        using namespace Halide;
        output_gradient.dim(0).set_stride(Expr());
        output_gradient.dim(1).set_stride(1);
        RVar outer{"outer"}, inner{"inner"}, some{"some"};
        Var row{"row"}, lane{"lane"}, block{"block"}, work{"work"};
        Func result(partial);
        if (on_gpu()) {
            constexpr int lanes = 32;
            result.split(channel, block, lane, lanes, TailStrategy::GuardWithIf).gpu_blocks(block, slice, part).gpu_threads(lane);
            sum.update().split(r.x, outer, inner, rows);
            Func row_sum = sum.update().rfactor(inner, row), row_sums = row_sum.in(sum);
            sum.compute_at(partial, lane);
            row_sums.compute_at(partial, block).store_in(MemoryType::GPUShared).bound_extent(channel, lanes)
                .gpu_threads(channel, row);
            row_sum.compute_at(row_sums, channel);
            row_sum.update().reorder(outer, r.y).split(outer, outer, some, loads).unroll(some);
            return;
        }
        const int width = natural_vector_size<float>();
        const auto by_lanes = [&](Stage stage, TailStrategy tail) {
            stage.split(channel, block, lane, cpu_lanes(), tail).reorder(lane, block, slice, part).fuse(block, slice, work)
                .fuse(work, part, work).parallel(work).vectorize(lane, width);
        };
        by_lanes(result.specialize(has_whole_lanes()), TailStrategy::ShiftInwards);
        by_lanes(result, TailStrategy::GuardWithIf);
        sum.compute_at(partial, work).bound_extent(channel, cpu_lanes()).vectorize(channel, width).unroll(channel);
        const auto add = [&](Stage stage) { stage.reorder(channel, r.x, r.y).vectorize(channel, width).unroll(channel); };
        add(sum.update().specialize(has_whole_lanes()));
        add(sum.update());
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
    Halide::Var channel{"channel"}, slice{"slice"}, part{"part"}, lane_{"lane"};
    Halide::RDom r, lanes_;
    Halide::Func sum{"sum"}, lane_sum{"lane_sum"};

    bool on_gpu() const { return get_target().has_gpu_feature(); }
    int cpu_lanes() const { return 4 * natural_vector_size<float>(); }
    Halide::Expr last_position() const { return output_gradient.dim(0).extent() - 1; }
    Halide::Expr last_image() const { return output_gradient.dim(2).extent() - 1; }
    Halide::Expr image(const Halide::Expr &of_part) const { return part * part_images + of_part; }

    /// The element, which exists where the sum needs it; a GPU loads another one else.
    Halide::Expr element(const Halide::Expr &at, const Halide::Expr &of_channel, const Halide::Expr &of_image) const {
        const auto existing = [&](const Halide::Expr &i, const Halide::Expr &last) -> Halide::Expr {
            return on_gpu() ? clamp(i, 0, last) : unsafe_promise_clamped(i, 0, last);
        };
        return loaded(output_gradient(existing(at, last_position()), of_channel, existing(of_image, last_image())), get_target());
    }

    // Of a GPU: loads that no condition guards are on their way at the same time, so there are whole rounds of them.
    static constexpr int threads = 256, rows = 16, loads = 8;

    static Halide::Expr in_rounds(const Halide::Expr &count, int of_round) { return (count + of_round - 1) / of_round * of_round; }

    // Threads count through all elements of a part, whose positions may be few.
    void add_elements() {
        const Halide::Expr all = slice_positions * part_images;
        r = Halide::RDom(0, in_rounds(all, threads * loads), "r");
        const Division of_part = divide(r.x, slice_positions);
        const auto unless_one = [&](const Halide::Expr &one, const Halide::Expr &many) {
            return select(part_images == 1, one, many);
        };
        add_if(r.x < all, slice * slice_positions + unless_one(r.x, of_part.rest), channel, image(unless_one(0, of_part.quotient)));
    }

    void add_if(const Halide::Expr &counts, const Halide::Expr &at, const Halide::Expr &of_channel, const Halide::Expr &of_image) {
        const Halide::Expr inside = counts && at <= last_position() && of_image <= last_image();
        if (!on_gpu()) r.where(inside);
        const Halide::Expr value = element(at, of_channel, of_image);
        sum(channel, slice, part) += on_gpu() ? select(inside, value, 0.f) : value;
    }

    // Whole vectors, without a condition for their lanes; what is left of a plane is added one by one. Slices have whole vectors.
    void add_vectors() {
        using namespace Halide;
        constexpr int lanes = 16;  // of any processor, so that all have the same bits
        const Expr begin = slice * slice_positions, whole = output_gradient.dim(0).extent() / lanes * lanes;
        r = RDom({{0, slice_positions / lanes}, {0, part_images}}, "r");
        r.where(begin + r.x * lanes < whole && image(r.y) <= last_image());
        lane_sum(lane_, channel, slice, part) += element(begin + r.x * lanes + lane_, channel, image(r.y));
        lanes_ = RDom(0, lanes, "lanes");
        sum(channel, slice, part) += lane_sum(lanes_, channel, slice, part);
        RDom rest({{0, lanes - 1}, {0, part_images}}, "rest");
        rest.where(whole + rest.x <= last_position() && whole >= begin && whole < begin + slice_positions &&
                   image(rest.y) <= last_image());
        sum(channel, slice, part) += element(whole + rest.x, channel, image(rest.y));
    }

    // Channels are innermost: lanes are some of them.
    void add_rows() {
        using namespace Halide;
        r = RDom({{0, on_gpu() ? in_rounds(slice_positions, rows * loads) : Expr(slice_positions)}, {0, part_images}}, "r");
        const Expr last = output_gradient.dim(1).extent() - 1, clamped = min(channel, last);
        const Expr existing = on_gpu() ? clamped : select(has_whole_lanes(), unsafe_promise_clamped(channel, 0, last), clamped);
        add_if(r.x < slice_positions, slice * slice_positions + r.x, existing, image(r.y));
    }

    /// Then the last lanes begin early, and channels follow each other in memory.
    Halide::Expr has_whole_lanes() const { return output_gradient.dim(1).extent() >= cpu_lanes(); }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::BiasGradient, bias_gradient)
