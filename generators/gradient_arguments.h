// The arguments of every kernel of a gradient of pictures in float32, in the order in which runtime/src/plan/input_gradient.cpp and
// weight_gradient.cpp pass them: bases of generators.
#ifndef CONV_TRANSPOSE_GENERATORS_GRADIENT_ARGUMENTS_H
#define CONV_TRANSPOSE_GENERATORS_GRADIENT_ARGUMENTS_H

#include "Halide.h"
#include "generators/problem_params.h"

namespace conv_transpose {

using GradientTensor = Halide::Buffer<float, 5>;

/// Tensors are (x, y, channel in group, group, batch). The output gradient's x and y begin at the padding.
struct InputGradientTensors {
    Halide::GeneratorInput<GradientTensor> output_gradient{"output_gradient"}, weight{"weight"};
};
struct InputGradientResult {
    Halide::GeneratorOutput<GradientTensor> input_gradient{"input_gradient"};
};

/// Tensors are likewise. `batch` may be 0, where they have one image that is never read.
struct WeightGradientTensors {
    Halide::GeneratorInput<GradientTensor> input{"input"}, output_gradient{"output_gradient"};
    Halide::GeneratorInput<int> batch{"batch"}, band_rows{"band_rows"}, part_images{"part_images"};
};
struct WeightGradientResult {
    Halide::GeneratorOutput<Halide::Buffer<float, 7>> partial{"partial"};
};

/// Only kernels that were compiled without attributes read them.
struct GradientAttributes {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    Input<int> kernel_w{"kernel_width"}, stride_w{"stride_width"}, dilation_w{"dilation_width"};
    Input<int> kernel_h{"kernel_height"}, stride_h{"stride_height"}, dilation_h{"dilation_height"};
};

/// Bases are in the order of arguments: Halide wants all inputs before outputs.
template <class Tensors, class Result>
struct GradientArguments : Tensors, GradientAttributes, Result {
    ProblemParams problem;

    GradientFacts gradient_facts() const {
        GradientFacts facts = problem.gradient_facts();
        if (problem.run_time_attributes())
            facts.x_axis = {kernel_w, stride_w, dilation_w}, facts.y_axis = {kernel_h, stride_h, dilation_h};
        return facts;
    }

    /// A search is for constant attributes.
    template <class Schedule>
    void search_schedule(const Schedule &schedule, SearchSpace &space) const {
        const GradientFacts facts = problem.gradient_facts();
        if constexpr (requires { schedule.search_space(space, facts); })
            if (!problem.run_time_attributes()) schedule.search_space(space, facts);
    }
};

using InputGradientArguments = GradientArguments<InputGradientTensors, InputGradientResult>;
using WeightGradientArguments = GradientArguments<WeightGradientTensors, WeightGradientResult>;

}  // namespace conv_transpose

#endif
