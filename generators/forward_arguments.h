// The arguments of every forward kernel, in the order in which runtime/src/plan/forward.cpp passes them: a base of
// generators.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_ARGUMENTS_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_ARGUMENTS_H

#include "Halide.h"
#include "generators/problem_params.h"

namespace conv_transpose {

/// What comes before the attributes: `Tensor` may leave element type and dimensions to configure(). The input's coordinates begin
/// at -(padding / stride).
template <class Tensor>
struct ForwardInputs {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;

    Input<Tensor> input{"input"}, weight{"weight"};
    Input<Halide::Buffer<float, 2>> bias{"bias"};  // channel in group, group
    Input<int> has_bias{"has_bias"};
    Input<int> activation{"activation"};
    Input<float> slope{"slope"};

    Halide::Expr bias_of(const Halide::Expr &channel, const Halide::Expr &group) const {
        return select(has_bias != 0, bias(channel, group), 0.f);
    }
};

/// Tensors are (x, y, channel in group, group, batch). The attributes are read only by kernels that were compiled without them.
template <class Tensor = Halide::Buffer<float, 5>>
struct ForwardArguments : ForwardInputs<Tensor> {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using ForwardInputs<Tensor>::input, ForwardInputs<Tensor>::weight, ForwardInputs<Tensor>::bias;

    ProblemParams problem;

    Input<int> stride_w{"stride_width"}, dilation_w{"dilation_width"}, padding_phase_w{"padding_phase_width"};
    Input<int> gcd_w{"gcd_width"}, inverse_w{"inverse_width"}, kernel_w{"kernel_width"};
    Input<int> stride_h{"stride_height"}, dilation_h{"dilation_height"}, padding_phase_h{"padding_phase_height"};
    Input<int> gcd_h{"gcd_height"}, inverse_h{"inverse_height"}, kernel_h{"kernel_height"};
    Halide::GeneratorOutput<Tensor> output{"output"};

    GatherAxis x_axis() const {
        return problem.x_axis({kernel_w, stride_w, dilation_w, padding_phase_w, gcd_w, inverse_w});
    }
    GatherAxis y_axis() const {
        return problem.y_axis({kernel_h, stride_h, dilation_h, padding_phase_h, gcd_h, inverse_h});
    }

    /// What the runtime promises of every tensor, so that index arithmetic and bounds fold.
    void declare_tensors() {
        for (int d = 2; d < 5; d++) input.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) output.dim(d).set_min(0), weight.dim(d).set_min(0);
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        if (problem.in_channels) input.dim(2).set_extent(problem.in_channels);
        if (problem.out_channels) output.dim(2).set_extent(problem.out_channels);
        if (problem.input_w) declare_pictures(input, problem.input_w, problem.input_h);
        if (problem.output_w) declare_pictures(output, problem.output_w, problem.output_h);
    }

  private:
    // Dense pictures of one size.
    template <class TensorArgument>
    static void declare_pictures(TensorArgument &tensor, int width, int height) {
        tensor.dim(0).set_extent(width);
        tensor.dim(1).set_extent(height).set_stride(width);
        tensor.dim(2).set_stride(width * height);
        for (int d = 3; d < 5; d++)
            tensor.dim(d).set_stride(tensor.dim(d).stride() / (width * height) * (width * height));
    }
};

}  // namespace conv_transpose

#endif
