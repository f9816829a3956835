// The reference that everything is compared with: the definition as a scatter, in double precision. No Halide, nothing
// shared with the library but the problem.
#ifndef CONV_TRANSPOSE_TESTS_ORACLE_H
#define CONV_TRANSPOSE_TESTS_ORACLE_H

#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::testing {

/// Elements of one channel.
inline int64_t output_plane(const Problem &p) {
    return p.depth().output() * p.height().output() * p.width().output();
}

/// `bias` may be empty.
std::vector<double> forward(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                            const std::vector<float> &bias);

/// The gradients of a loss with respect to each tensor, where its gradient with respect to the output is given.
struct Gradients {
    std::vector<double> input, weight, bias;
};

std::vector<double> input_gradient(const Problem &p, const std::vector<float> &weight, const std::vector<float> &output_gradient);
std::vector<double> weight_gradient(const Problem &p, const std::vector<float> &input, const std::vector<float> &output_gradient);
std::vector<double> bias_gradient(const Problem &p, const std::vector<float> &output_gradient);
Gradients gradients(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                    const std::vector<float> &output_gradient);

}  // namespace conv_transpose::testing

#endif
