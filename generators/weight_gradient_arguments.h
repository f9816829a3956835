// The arguments of every weight gradient kernel, in the order in which runtime/src/plan/weight_gradient.cpp passes
// them: a base of generators.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_ARGUMENTS_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_ARGUMENTS_H

#include "Halide.h"
#include "generators/problem_params.h"

namespace conv_transpose {

/// Tensors are (x, y, channel in group, group, batch). The output gradient's x and y begin at the padding.
/// `batch` may be 0, where tensors have one image that is never read. The attributes are read only by kernels
/// that were compiled without them.
struct WeightGradientArguments {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using Tensor = Halide::Buffer<float>;

    ProblemParams problem;

    Input<Tensor> input{"input", 5};
    Input<Tensor> output_gradient{"output_gradient", 5};
    Input<int> batch{"batch"}, band_rows{"band_rows"}, part_images{"part_images"};
    Input<int> kernel_w{"kernel_width"}, stride_w{"stride_width"}, dilation_w{"dilation_width"};
    Input<int> kernel_h{"kernel_height"}, stride_h{"stride_height"}, dilation_h{"dilation_height"};
    Halide::GeneratorOutput<Tensor> partial{"partial", 7};
};

}  // namespace conv_transpose

#endif
