// The generator of the forward operation. Template argument: the schedule, a struct in schedules/ with what
// schedules/shared/schedule_defaults.h says, and
//   GeneratorParams for its tile sizes,
//   SumIndex sum_index: see gather.h,
//   WeightLayout weight_layout and int weight_channel_multiple() const: how the kernel reads its weights,
//   void apply(ForwardFuncs &, const Target &): loop order, staging and mapping to hardware,
//   int stages, to have its staging pipelined (compiler/passes/software_pipeline.h),
//   int in_channel_chunk() const, if it stages input channels by chunks,
//   void search_space(SearchSpace &, const SearchedProblem &) const, if it can be tuned (schedules/shared/search_space.h),
//   void describe(KernelDescription &) const: what it demands of a problem beyond the generator's own parameters.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_H

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/epilogue.h"
#include "algorithm/forward_funcs.h"
#include "algorithm/gather.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/adaptive_stores.h"
#include "generators/format_text.h"
#include "generators/forward_arguments.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

template <class Schedule>
class Forward : public Halide::Generator<Forward<Schedule>>,
      public ForwardArguments<Halide::Buffer<void, 5>>,
      public DescribedGenerator {
  public:
    Schedule schedule_params;
    /// Pictures lie so, and weights where they are read as they are given; packed ones are float32.
    Halide::GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};

    void configure() {
        const Halide::Type type = halide_type(storage);
        input.set_type(type), weight.set_type(halide_type(packed() ? Storage::f32 : storage)), output.set_type(type);
    }

    void generate() {
        funcs_.in_channels = problem.in_channels;
        funcs_.out_channels = problem.out_channels;
        funcs_.x_axis = x_axis();
        funcs_.y_axis = y_axis();
        define_padded_input();
        if constexpr (Schedule::weight_in_a_row) define_weight_in_a_row();
        else define_weight();
        define_sum();
        define_output();
    }

    void schedule() {
        declare_shapes();
        Halide::Pipeline pipeline = this->get_pipeline();
        const bool on_gpu = Halide::Target(this->target).has_gpu_feature();
        if constexpr (Schedule::autoscheduled) {
            if (on_gpu) pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
            estimate_shapes();
        } else {
            schedule_params.apply(funcs_, this->target);
            if (!on_gpu) return;
            add_cuda_core_passes(pipeline, schedule_params, {.single_floats = true});
            pipeline.add_custom_lowering_pass(new AdaptiveStores("output"));
        }
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        description.set("weight_layout", enumerator(layout));
        description.set("weight_channel_multiple", schedule_params.weight_channel_multiple());
        if (storage != Storage::f32) {
            for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(storage));
            if (!packed()) description.set("weight", format_text(storage));
        }
        schedule_params.describe(description);
        if constexpr (requires { schedule_params.tile_cells(this->target); })
            description.set("tile_places", schedule_params.tile_cells(this->target));
        // These schedules have constant strides.
        if constexpr (requires { schedule_params.block_cells(); }) {
            const auto [rows, columns] = schedule_params.block_cells();
            description.set("block_positions", rows * problem.stride_h.value(), columns * problem.stride_w.value());
        }
    }

    void search_space(SearchSpace &space) const override {
        // A search is for constant attributes.
        if constexpr (requires(SearchedProblem p) { schedule_params.search_space(space, p); })
            if (problem.kernel_w > 0) schedule_params.search_space(space, problem.searched(this->target));
    }

  private:
    ForwardFuncs funcs_;
    Halide::Var in_channel_{"in_channel"};

    static constexpr WeightLayout layout = Schedule::weight_layout;
    static constexpr bool packed() { return layout != WeightLayout::as_given; }

    static std::vector<Halide::Var> as_vars(const std::vector<Halide::Expr> &names) {
        std::vector<Halide::Var> vars;
        for (const Halide::Expr &e : names) vars.emplace_back(e.as<Halide::Internal::Variable>()->name);
        return vars;
    }

    // Whether the schedule stages a number of input channels at a time, and so may reach beyond the last.
    bool chunked() const {
        if constexpr (requires { schedule_params.in_channel_chunk(); })
            return known_in_channels() % schedule_params.in_channel_chunk() != 0;
        return false;
    }

    // Their number, or one that divides it.
    int known_in_channels() const { return problem.in_channels ? problem.in_channels : problem.in_channel_multiple; }

    // Channels of a group.
    Halide::Expr in_channels() const {
        if (problem.in_channels) return Halide::Expr(problem.in_channels);
        const Halide::Expr extent = input.dim(2).extent();
        return known_in_channels() > 1 ? extent / known_in_channels() * known_in_channels() : extent;
    }
    Halide::Expr out_channels() const {
        return problem.out_channels ? Halide::Expr(problem.out_channels) : output.dim(2).extent();
    }

    Halide::Expr real_in_channel() const {
        return chunked() ? min(in_channel_, in_channels() - 1) : Halide::Expr(in_channel_);
    }

    void define_padded_input() {
        const GatherVars &v = funcs_.v;
        funcs_.input = Halide::Func("input_channels");
        funcs_.input(v.x, v.y, in_channel_, v.group, v.batch) =
            loaded(input(v.x, v.y, real_in_channel(), v.group, v.batch), this->target);
        const Halide::Expr nowhere;
        funcs_.padded_input = Halide::BoundaryConditions::constant_exterior(
            funcs_.input, 0.f,
            {{input.dim(0).min(), input.dim(0).extent()}, {input.dim(1).min(), input.dim(1).extent()},
             {nowhere, nowhere}, {nowhere, nowhere}, {nowhere, nowhere}});
    }

    // In the layout that the schedule asks for.
    void define_weight() {
        const GatherVars &v = funcs_.v;
        Halide::Var kx{"kx"}, ky{"ky"};
        funcs_.weight = Halide::Func("weight_channels");
        funcs_.tap_weight = Halide::Func("tap_weight");
        const auto coordinates = [&](const Halide::Expr &in_channel) {
            return weight_coordinates(layout, kx, ky, v.channel, in_channel, v.group,
                                      schedule_params.weight_channel_multiple(), out_channels());
        };
        if constexpr (layout == WeightLayout::channel_tiles) {
            funcs_.weight = weight;
        } else {
            // A Func of its own, so that schedules can stage it.
            funcs_.weight(as_vars(coordinates(in_channel_))) = loaded(weight(coordinates(real_in_channel())), this->target);
        }
        funcs_.tap_weight(kx, ky, v.channel, in_channel_, v.group) = funcs_.weight(coordinates(in_channel_));
    }

    // As given, but with taps and channels in one dimension: vectors of neighbours, whatever they are for.
    void define_weight_in_a_row() {
        const GatherVars &v = funcs_.v;
        Halide::Var kx{"kx"}, ky{"ky"}, element{"element"};
        const int width = problem.kernel_w, height = problem.kernel_h;
        if (width == 0 || height == 0)
            throw std::invalid_argument("kernel is 0, a run-time value; for this schedule it is a constant");
        funcs_.weight = Halide::Func("weight_row");
        funcs_.tap_weight = Halide::Func("tap_weight");
        const Halide::Expr real_channel = min(element / (width * height), out_channels() - 1);
        funcs_.weight(element, in_channel_, v.group) =
            loaded(weight(element % width, element / width % height, real_channel, real_in_channel(), v.group), this->target);
        funcs_.tap_weight(kx, ky, v.channel, in_channel_, v.group) =
            funcs_.weight(kx + width * (ky + height * v.channel), in_channel_, v.group);
    }

    void define_sum() {
        const GatherVars &v = funcs_.v;
        funcs_.initial(v.channel, v.group) = bias_of(real_channel(), v.group);
        const Gather g = gather(v, funcs_.x_axis, funcs_.y_axis, in_channels(), funcs_.padded_input, funcs_.tap_weight,
                                funcs_.initial(v.channel, v.group), Schedule::sum_index);
        funcs_.sum = g.sum;
        funcs_.taps = g.taps;
        funcs_.phase_weight = g.phase_weight;

        const Halide::Expr sx = funcs_.x_axis.stride(), sy = funcs_.y_axis.stride();
        // Halide takes the bounds of y % s to be all of [0, s - 1], of a single y, too. That suits schedules
        // that compute all phases together; one that computes single rows needs the row's phase.
        constexpr bool single_rows = Schedule::single_rows;
        Halide::Expr phase_y = v.y % sy;
        if (single_rows) phase_y = v.y - v.y / sy * sy;
        // For many rows Halide finds no useful bounds of this.
        if (single_rows && problem.stride_h > 0) phase_y = clamp(phase_y, 0, sy - 1);
        funcs_.interleaved(v.x, v.y, v.channel, v.group, v.batch) =
            Schedule::sum_index == SumIndex::positions
                ? g.sum(v.x, v.y, v.channel, v.group, v.batch)
                : g.sum(v.x / sx, v.y / sy, v.x % sx, phase_y, v.channel, v.group, v.batch);
    }

    void define_output() {
        const GatherVars &v = funcs_.v;
        funcs_.no_smooth_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear);
        funcs_.no_activation = funcs_.no_smooth_activation && slope == 1.f;
        const Halide::Expr pixel = funcs_.interleaved(v.x, v.y, v.channel, v.group, v.batch);
        Halide::Expr activated = activate(pixel, activation, slope);
        if constexpr (Schedule::specializes_no_activation)
            activated = branch(funcs_.no_activation, pixel, activated);
        // Rounded one by one: of vectors of two LLVM 21 drops the conversion to float16 in CUDA code.
        funcs_.activated(v.x, v.y, v.channel, v.group, v.batch) = stored(activated, storage, this->target);
        output(v.x, v.y, v.channel, v.group, v.batch) = funcs_.activated(v.x, v.y, v.channel, v.group, v.batch);
        funcs_.output = output;
    }

    // Kernels with packed weights compute channels beyond the last, which have a weight (zero) but no bias.
    Halide::Expr real_channel() const {
        const bool whole =
            problem.out_channels && problem.out_channels % schedule_params.weight_channel_multiple() == 0;
        if (!packed() || whole) return funcs_.v.channel;
        return min(funcs_.v.channel, bias.dim(0).extent() - 1);
    }

    // Every vector of packed channels begins at a multiple of their number, so vector loads are aligned.
    void declare_weight_alignment() {
        const int multiple = schedule_params.weight_channel_multiple();
        weight.set_host_alignment(multiple % 4 == 0 ? 16 : 4);
        if (layout == WeightLayout::channels_innermost && problem.out_channels && !problem.run_time_attributes()) {
            const int channels = (problem.out_channels + multiple - 1) / multiple * multiple;
            weight.dim(0).set_extent(channels);
            if (problem.kernel_w > 1) weight.dim(1).set_stride(channels);
            if (problem.kernel_h > 1) weight.dim(2).set_stride(channels * problem.kernel_w);
            if (problem.in_channels > 1) weight.dim(3).set_stride(channels * problem.kernel_w * problem.kernel_h);
            weight.dim(4).set_stride(weight.dim(4).stride() / multiple * multiple);
            return;
        }
        for (int d = 1; d < 5; d++) weight.dim(d).set_stride(weight.dim(d).stride() / multiple * multiple);
    }

    // Then the taps of a tile lie at constant distances: no registers are lost to their addresses.
    void declare_dense_weight() {
        Halide::Expr stride = 1;
        for (int d = 0; d < 5; d++) {
            weight.dim(d).set_stride(stride);
            stride *= weight.dim(d).extent();
        }
    }

    // What an autoscheduler weighs schedules by. The scalars do not matter, but with has_bias 0 Mullapudi2016
    // misses the bias and fails.
    void estimate_shapes() {
        const auto &size = schedule_params;
        const auto extents = [](std::vector<int> sizes) {
            Halide::Region region;
            for (int extent : sizes) region.emplace_back(0, extent);
            return region;
        };
        const int in_channels = problem.in_channels, out_channels = problem.out_channels;
        input.set_estimates(extents({problem.input_w, problem.input_h, in_channels, size.groups, size.batch}));
        weight.set_estimates(extents({problem.kernel_w, problem.kernel_h, out_channels, in_channels, size.groups}));
        bias.set_estimates(extents({out_channels, size.groups}));
        output.set_estimates(extents({problem.output_w, problem.output_h, out_channels, size.groups, size.batch}));
        slope.set_estimate(1.f);
        for (Input<int> *argument :
             {&has_bias, &activation, &stride_w, &dilation_w, &padding_phase_w, &gcd_w, &inverse_w, &kernel_w, &stride_h,
              &dilation_h, &padding_phase_h, &gcd_h, &inverse_h, &kernel_h})
            argument->set_estimate(1);
    }

    // What the runtime promises of the buffers, so that index arithmetic and bounds fold.
    void declare_shapes() {
        declare_tensors();
        // Vector stores test the address themselves: see compiler/passes/adaptive_stores.h.
        if (Halide::Target(this->target).has_gpu_feature()) output.set_host_alignment(16);
        if (problem.in_channels) weight.dim(weight_dimensions(layout).in_channel).set_extent(problem.in_channels);
        if constexpr (requires { schedule_params.output_width_multiple(); }) {
            const int multiple = problem.output_w ? 1 : schedule_params.output_width_multiple();
            output.dim(0).set_extent(output.dim(0).extent() / multiple * multiple);
            for (int d = 1; d < 5; d++) output.dim(d).set_stride(output.dim(d).stride() / multiple * multiple);
        }
        if (layout == WeightLayout::channels_innermost) declare_weight_alignment();
        if (layout == WeightLayout::channel_tiles) weight.dim(0).set_extent(schedule_params.weight_channel_multiple());
        const WeightDimensions dims = weight_dimensions(layout);
        if (problem.kernel_w) weight.dim(dims.kx).set_extent(problem.kernel_w);
        if (problem.kernel_h) weight.dim(dims.ky).set_extent(problem.kernel_h);
        if (layout == WeightLayout::channel_tiles) declare_dense_weight();
    }
};

}  // namespace conv_transpose

#endif
