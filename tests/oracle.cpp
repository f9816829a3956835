// See oracle.h. Sums run over output channels, which lie side by side, so that the compiler makes vectors of them: tests of kernels
// spend much of their time here.
#include "oracle.h"

#include <utility>

namespace conv_transpose::testing {
namespace {

/// Where a position of the input meets a kernel position: in an output's position.
struct Meeting {
    int64_t input, tap, output;
};

/// All of them, of all axes together.
std::vector<Meeting> meetings(const Problem &p) {
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

int64_t taps(const Problem &p) { return p.depth().kernel * p.height().kernel * p.width().kernel; }

/// Matrices of so many rows and columns, each transposed.
template <class T>
std::vector<T> transposed(const std::vector<T> &matrices, int64_t rows, int64_t columns) {
    std::vector<T> to(matrices.size());
    for (int64_t first = 0; first < static_cast<int64_t>(to.size()); first += rows * columns)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++) to[first + c * rows + r] = matrices[first + r * columns + c];
    return to;
}

/// Weights, or an output, with the output channels of a group innermost, and back.
template <class T>
std::vector<T> weight_rows(const Problem &p, const std::vector<T> &weight) {
    return transposed(weight, p.out_channels / p.groups, taps(p));
}
template <class T>
std::vector<T> output_rows(const Problem &p, const std::vector<T> &output) {
    return transposed(output, p.out_channels / p.groups, output_plane(p));
}
std::vector<double> from_weight_rows(const Problem &p, const std::vector<double> &rows) {
    return transposed(rows, taps(p), p.out_channels / p.groups);
}
std::vector<double> from_output_rows(const Problem &p, const std::vector<double> &rows) {
    return transposed(rows, output_plane(p), p.out_channels / p.groups);
}

/// Calls visit(input element, where a row of weights begins, where one of outputs does) for all products of the transposed
/// convolution: of the input element with each weight of the row, for the output beside it.
template <class Visit>
void for_each_row(const Problem &p, Visit visit) {
    const std::vector<Meeting> meeting = meetings(p);
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const int64_t in_plane = p.depth().input * p.height().input * p.width().input, out_plane = output_plane(p);
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t ci = 0; ci < p.in_channels; ci++)
            for (const Meeting &m : meeting)
                visit((n * p.in_channels + ci) * in_plane + m.input, (ci * taps(p) + m.tap) * out,
                      ((n * p.groups + ci / in) * out_plane + m.output) * out);
}

}  // namespace

std::vector<double> forward(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                            const std::vector<float> &bias) {
    const int64_t out = p.out_channels / p.groups;
    const std::vector<float> weights = weight_rows(p, weight);
    std::vector<double> rows(p.output_elements(), 0.0);
    for_each_row(p, [&](int64_t i, int64_t w, int64_t y) {
        for (int64_t c = 0; c < out; c++) rows[y + c] += double(input[i]) * weights[w + c];
    });
    std::vector<double> output = from_output_rows(p, rows);
    if (!bias.empty())
        for (size_t i = 0; i < output.size(); i++) output[i] += bias[i / output_plane(p) % p.out_channels];
    return output;
}

std::vector<double> input_gradient(const Problem &p, const std::vector<float> &weight, const std::vector<float> &output_gradient) {
    const int64_t out = p.out_channels / p.groups;
    const std::vector<float> weights = weight_rows(p, weight), gradient = output_rows(p, output_gradient);
    std::vector<double> input(p.input_elements(), 0.0);
    for_each_row(p, [&](int64_t i, int64_t w, int64_t y) {
        for (int64_t c = 0; c < out; c++) input[i] += double(gradient[y + c]) * weights[w + c];
    });
    return input;
}

std::vector<double> weight_gradient(const Problem &p, const std::vector<float> &input, const std::vector<float> &output_gradient) {
    const int64_t out = p.out_channels / p.groups;
    const std::vector<float> gradient = output_rows(p, output_gradient);
    std::vector<double> rows(p.weight_elements(), 0.0);
    for_each_row(p, [&](int64_t i, int64_t w, int64_t y) {
        for (int64_t c = 0; c < out; c++) rows[w + c] += double(gradient[y + c]) * input[i];
    });
    return from_weight_rows(p, rows);
}

std::vector<double> bias_gradient(const Problem &p, const std::vector<float> &output_gradient) {
    std::vector<double> bias(p.out_channels, 0.0);
    for (size_t y = 0; y < output_gradient.size(); y++) bias[y / output_plane(p) % p.out_channels] += output_gradient[y];
    return bias;
}

Gradients gradients(const Problem &p, const std::vector<float> &input, const std::vector<float> &weight,
                    const std::vector<float> &output_gradient) {
    return {input_gradient(p, weight, output_gradient), weight_gradient(p, input, output_gradient),
            bias_gradient(p, output_gradient)};
}

}  // namespace conv_transpose::testing
