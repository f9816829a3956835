// The generator of the weight gradient as a flat matrix product (algorithm/flat_weight_gradient.h), every attribute a run-time
// value, for pictures of any rank, element type and layout. The sum is cut into parts of some tiles, which are float32. Template
// argument: the schedule.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_FLAT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_FLAT_GEMM_H

#include "Halide.h"
#include "algorithm/flat_gradient_cells.h"
#include "algorithm/flat_gradient_columns.h"
#include "algorithm/flat_gradient_tiles.h"
#include "algorithm/flat_weight_gradient.h"
#include "compiler/passes/matrix_tiles.h"
#include "compiler/passes/strided_loads.h"
#include "compiler/passes/vector_transpositions.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientFlatGemm : public Halide::Generator<WeightGradientFlatGemm<Schedule>>, public AnyTensors {
  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    Schedule schedule_params;

    /// The output gradient's coordinates begin at the padding.
    Input<Halide::Buffer<>> input{"input"}, output_gradient{"output_gradient"};

    void configure() {
        set_format(input);
        set_format(output_gradient);
        attributes_ = add_axis_inputs(*this, rank, strided_attributes);
        for (const char *name :
             {"segment_cells", "tile_rows", "part_segments", "part_tiles", "block_inputs", "block_outputs", "tap_entries",
              "channel_entries"})
            sizes_.push_back(this->template add_input<int>(name));
        partial_ = this->template add_output<Halide::Buffer<float>>("partial", 4);  // entry, input channel, group, part
    }

    void generate() {
        using namespace flat_gemm;
        FlatWeightGradientFuncs &f = funcs_;
        schedule_params.set_sizes(f, this->get_target());
        std::vector<FlatAxis> axes;
        PerAxis kernel;
        for (int d = 0; d < rank; d++) {
            axes.push_back(strided_axis(attribute(d, 0), attribute(d, 1), attribute(d, 2), output_gradient.dim(d).min(),
                                        output_gradient.dim(d).extent(), input.dim(d).extent(), d == 0 && !f.taps_see_runs()));
            kernel.push_back(attribute(d, 0));
        }
        const Places places(axes, input.dim(rank + 2).extent(), input.dim(0).extent(), {*sizes_[0], *sizes_[1], 1}, f.size);
        Tap tap{.shift = {}, .plane = {}, .kernel = digits(f.v.tap, kernel, divide_plainly)};
        tap.kernel.pop_back();
        for (int d = 0; d < rank; d++) add_strided(tap, axes[d], attribute(d, 1), attribute(d, 2));
        const Load load = [target = this->get_target()](const Expr &element) { return loaded(element, target); };
        define_taps(f, places, tap, product(kernel));
        define_staged(f, places, output_gradient, load, !f.size.depthwise);
        const GradientBlock block{.inputs = *sizes_[4], .outputs = *sizes_[5], .segments = *sizes_[2], .tiles = *sizes_[3]};
        const EntryOrder order{.tap = *sizes_[6], .channel = *sizes_[7]};
        if (f.cells_in_vectors)
            WeightGradientOfCells(f, places, input, output_gradient, *partial_, kernel, block, order, load).define();
        else if (f.size.joins_rows())
            WeightGradientOfColumns(f, places, input, output_gradient, *partial_, kernel, block, order, load).define();
        else if (f.size.tile_pairs > 0)
            WeightGradientOfTiles(f, places, input, output_gradient, *partial_, kernel, block, order, load).define();
        else WeightGradientSum(f, places, input, output_gradient, *partial_, kernel, block, order, load).define();
    }

    void schedule() {
        declare_strides(input, true);
        declare_strides(output_gradient, false);
        if (funcs_.cells_in_vectors) input.dim(0).set_stride(1), output_gradient.dim(0).set_stride(1);
        for (int d = 0; d < 4; d++) partial_->dim(d).set_min(0);
        schedule_params.apply(funcs_, this->target);
        this->get_pipeline().add_custom_lowering_pass(new StridedLoads);
        this->get_pipeline().add_custom_lowering_pass(new VectorTranspositions);
        if (funcs_.size.tile_pairs > 0) this->get_pipeline().add_custom_lowering_pass(new MatrixTiles);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient, Ranks::any); }

    /// A search is for one size of picture, in float32.
    void search_space(SearchSpace &space) const override {
        const int registers = ProblemParams::vector_registers(this->target);
        if (problem.input_w == 0 || storage != Storage::f32) return;
        if constexpr (requires { schedule_params.search_space(space, problem.in_channels, registers); })
            if (!Schedule::is_depthwise) schedule_params.search_space(space, problem.in_channels, registers);
    }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, this->target, description);
        description.set_family(Family::flat_weight_gradient);
        describe_tensors({"input", "output"}, description);
        if (funcs_.cells_in_vectors) {
            description.set("any_layout", "false");
            description.set("sum_lanes", funcs_.size.vector);
        }
        if (funcs_.size.joined_terms) {
            description.set("any_layout", "false");
            if (funcs_.size.joins_rows()) description.set("joins_row_taps", "true");
            // What cells of pictures of one pixel see is an image apart, often in one set of the cache: 2.7 times as slow.
            description.set("min_input_positions", 2);
            for (const char *picture : {"input", "output"}) description.set(picture, format_text(storage, true));
        }
        description.set("any_result", "true");
        description.set("strict_propagation", "false");
        description.set("min_in_channels", schedule_params.min_in_channels);
        description.set("max_in_channels", schedule_params.max_in_channels);
        if constexpr (requires { schedule_params.min_channels_of_place; })
            description.set("min_channels_of_place", schedule_params.min_channels_of_place);
        if (funcs_.size.depthwise) description.set("packs_groups", "true");
        description.set("tile_in_channels", funcs_.lanes);
        description.set("tile_out_channels", funcs_.outputs);
    }

  private:
    FlatWeightGradientFuncs funcs_;
    AxisInputs attributes_;
    std::vector<Halide::GeneratorInput<int> *> sizes_;
    Halide::GeneratorOutput<Halide::Buffer<float>> *partial_ = nullptr;

    Halide::Expr attribute(int d, int i) const { return *attributes_[3 * d + i]; }
};

}  // namespace conv_transpose

#endif
