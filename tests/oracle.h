// The reference that everything is compared with: the definition as a scatter, in double precision. No Halide, nothing
// shared with the library but the problem.
#ifndef CONV_TRANSPOSE_TESTS_ORACLE_H
#define CONV_TRANSPOSE_TESTS_ORACLE_H

#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::testing {

/// Where a position of the input meets a kernel position: in an output's position.
struct Meeting {
    int64_t input, tap, output;
};

/// All of them, of all axes together.
inline std::vector<Meeting> meetings(const Problem &p) {
    std::vector<Meeting> all{{0, 0, 0}};
    for (const Axis &a : p.axes) {
        std::vector<Meeting> longer;
        for (const Meeting &m : all)
            for (int64_t i = 0; i < a.input; i++)
                for (int64_t k = 0; k < a.kernel; k++) {
                    const int64_t o = i * a.stride + k * a.dilation - a.padding;
                    if (o < 0 || o >= a.output()) continue;
                    longer.push_back({m.input * a.input + i, m.tap * a.kernel + k, m.output * a.output() + o});
                }
        all = std::move(longer);
    }
    return all;
}

/// Elements of one channel.
inline int64_t output_plane(const Problem &p) {
    return p.depth().output() * p.height().output() * p.width().output();
}

/// Calls visit(input element, weight element, output element) for every product of the transposed convolution.
template <class Visit>
void for_each_product(const Problem &p, Visit visit) {
    const std::vector<Meeting> meeting = meetings(p);
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const int64_t in_plane = p.depth().input * p.height().input * p.width().input, out_plane = output_plane(p);
    const int64_t taps = p.depth().kernel * p.height().kernel * p.width().kernel;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t ci = 0; ci < p.in_channels; ci++)
            for (int64_t co = 0; co < out; co++)
                for (const Meeting &m : meeting)
                    visit((n * p.in_channels + ci) * in_plane + m.input, (ci * out + co) * taps + m.tap,
                          (n * p.out_channels + ci / in * out + co) * out_plane + m.output);
}

/// `bias` may be empty.
inline std::vector<double> forward(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                                   const std::vector<float> &bias) {
    std::vector<double> output(p.output_elements(), 0.0);
    if (!bias.empty())
        for (size_t i = 0; i < output.size(); i++) output[i] = bias[i / output_plane(p) % p.out_channels];
    for_each_product(p, [&](int64_t i, int64_t w, int64_t y) { output[y] += double(input[i]) * weight[w]; });
    return output;
}

/// The gradients of a loss with respect to each tensor, where its gradient with respect to the output is given.
struct Gradients {
    std::vector<double> input, weight, bias;
};

inline std::vector<double> input_gradient(const Problem &p, const std::vector<float> &weight,
                                          const std::vector<float> &output_gradient) {
    std::vector<double> input(p.input_elements(), 0.0);
    for_each_product(p, [&](int64_t i, int64_t w, int64_t y) { input[i] += double(output_gradient[y]) * weight[w]; });
    return input;
}

inline std::vector<double> weight_gradient(const Problem &p, const std::vector<float> &input,
                                           const std::vector<float> &output_gradient) {
    std::vector<double> weight(p.weight_elements(), 0.0);
    for_each_product(p, [&](int64_t i, int64_t w, int64_t y) { weight[w] += double(output_gradient[y]) * input[i]; });
    return weight;
}

inline std::vector<double> bias_gradient(const Problem &p, const std::vector<float> &output_gradient) {
    std::vector<double> bias(p.out_channels, 0.0);
    for (size_t y = 0; y < output_gradient.size(); y++) bias[y / output_plane(p) % p.out_channels] += output_gradient[y];
    return bias;
}

inline Gradients gradients(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                           const std::vector<float> &output_gradient) {
    return {input_gradient(p, weight, output_gradient), weight_gradient(p, input, output_gradient),
            bias_gradient(p, output_gradient)};
}

}  // namespace conv_transpose::testing

#endif
