// The reference that everything is compared with: the definition as a scatter, in double precision. No Halide, nothing
// shared with the library but the problem.
#ifndef CONV_TRANSPOSE_TESTS_ORACLE_H
#define CONV_TRANSPOSE_TESTS_ORACLE_H

#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::testing {

/// Calls visit(input element, weight element, output element) for every product of the transposed convolution.
template <class Visit>
void for_each_product(const Problem &p, Visit visit) {
    const Size2 o = p.output();
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t ci = 0; ci < p.in_channels; ci++)
            for (int64_t co = 0; co < out; co++)
                for (int64_t iy = 0; iy < p.input.height; iy++)
                    for (int64_t ix = 0; ix < p.input.width; ix++)
                        for (int64_t ky = 0; ky < p.kernel.height; ky++)
                            for (int64_t kx = 0; kx < p.kernel.width; kx++) {
                                const int64_t oy = iy * p.stride.height + ky * p.dilation.height - p.padding.height;
                                const int64_t ox = ix * p.stride.width + kx * p.dilation.width - p.padding.width;
                                if (oy < 0 || oy >= o.height || ox < 0 || ox >= o.width) continue;
                                const int64_t channel = ci / in * out + co;
                                visit(((n * p.in_channels + ci) * p.input.height + iy) * p.input.width + ix,
                                      ((ci * out + co) * p.kernel.height + ky) * p.kernel.width + kx,
                                      ((n * p.out_channels + channel) * o.height + oy) * o.width + ox);
                            }
}

/// `bias` may be empty.
inline std::vector<double> forward(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                                   const std::vector<float> &bias) {
    const Size2 o = p.output();
    std::vector<double> output(p.output_elements(), 0.0);
    if (!bias.empty())
        for (size_t i = 0; i < output.size(); i++) output[i] = bias[i / (o.height * o.width) % p.out_channels];
    for_each_product(p, [&](int64_t i, int64_t w, int64_t y) { output[y] += double(input[i]) * weight[w]; });
    return output;
}

/// The gradients of a loss with respect to each tensor, where its gradient with respect to the output is given.
struct Gradients {
    std::vector<double> input, weight, bias;
};

inline Gradients gradients(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                           const std::vector<float> &output_gradient) {
    Gradients g{std::vector<double>(p.input_elements(), 0.0), std::vector<double>(p.weight_elements(), 0.0),
                std::vector<double>(p.out_channels, 0.0)};
    for_each_product(p, [&](int64_t i, int64_t w, int64_t y) {
        g.input[i] += double(output_gradient[y]) * weight[w];
        g.weight[w] += double(output_gradient[y]) * input[i];
    });
    const Size2 o = p.output();
    for (size_t y = 0; y < output_gradient.size(); y++)
        g.bias[y / (o.height * o.width) % p.out_channels] += output_gradient[y];
    return g;
}

}  // namespace conv_transpose::testing

#endif
