// The arguments of every input gradient kernel, in the order in which runtime/src/plan/input_gradient.cpp passes
// them: a base of generators.
#ifndef CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_ARGUMENTS_H
#define CONV_TRANSPOSE_GENERATORS_INPUT_GRADIENT_ARGUMENTS_H

#include "Halide.h"
#include "generators/problem_params.h"

namespace conv_transpose {

/// Tensors are (x, y, channel in group, group, batch). The output gradient's x and y begin at the padding.
/// The attributes are read only by kernels that were compiled without them.
struct InputGradientArguments {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using Tensor = Halide::Buffer<float>;

    ProblemParams problem;

    Input<Tensor> output_gradient{"output_gradient", 5};
    Input<Tensor> weight{"weight", 5};
    Input<int> kernel_w{"kernel_width"}, stride_w{"stride_width"}, dilation_w{"dilation_width"};
    Input<int> kernel_h{"kernel_height"}, stride_h{"stride_height"}, dilation_h{"dilation_height"};
    Halide::GeneratorOutput<Tensor> input_gradient{"input_gradient", 5};
};

}  // namespace conv_transpose

#endif
