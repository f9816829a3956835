// Winograd's algorithm F(2, 3) for transposed convolutions of stride 1: another way to the same sums. Those of other strides are
// such convolutions of cells.
//
// On an axis where kernels have 3 taps, a tile of 2 outputs reaches 4 inputs. Inputs d and weights g of every
// pair of channels are transformed to 4 points, multiplied point by point and summed over input channels; the
// sum is transformed back, once for all of them:
//     output = A^T [ (G g) . (B^T d) ]
// That is 4 products for 2 outputs in place of 6; on both axes, F(2x2, 3x3), 16 for 4 in place of 36. A
// transposed convolution of stride 1 is such a correlation with mirrored taps: output o is the sum of input[o
// - k] * weight[k]. An axis that is not transformed is F(1, 1), whose matrices are 1: there the taps are
// summed as the gather does.
//
// The matrices of F(2, 3) and F(3, 2) hold 0, 1, -1 and 1/2 alone, so on small integers results are as exact as the gather's, and
// on real numbers as near (tests/accuracy_test.cpp). Larger tiles save more products, but divide by 3 somewhere (five points cannot
// all differ modulo 3) and have larger coefficients: on a CPU F(4x4, 3x3) was tried, 1.2 times as fast at 128 channels. On GPUs six
// points make F(5, 2) to F(2, 5), eight F(4, 5): at 0, 1, -1, 2, -1/2 and infinity, whose errors are two thirds of those at 0, 1,
// -1, 2, -2, and at all of these. What they divide by is left to the end, where the quotients of integers are integers: so those
// stay exact here, too, as long as sums have few enough bits.
//
// At a stride, output o and kernel position k are of cells and taps of a phase: o + padding = stride * cell + phase and k = stride
// * tap + phase. Then a phase is the sum over taps of input[cell - tap] * weight[tap of the phase], a transposed convolution of
// stride 1, and all phases see the same tiles of inputs: they are channels (runtime/src/choice/winograd_sizes.h).
#ifndef CONV_TRANSPOSE_ALGORITHM_WINOGRAD_H
#define CONV_TRANSPOSE_ALGORITHM_WINOGRAD_H

#include <algorithm>
#include <cstddef>
#include <vector>

#include "Halide.h"

namespace conv_transpose::winograd {

using Matrix = std::vector<std::vector<float>>;

/// F(outputs, taps) on one axis.
struct Transform {
    Matrix input;   ///< B^T
    Matrix weight;  ///< G
    Matrix output;  ///< A^T
    float divisor = 1;  ///< of the outputs, which weights were multiplied by

    int outputs() const { return static_cast<int>(output.size()); }
    int taps() const { return static_cast<int>(weight[0].size()); }
    /// The inputs that a tile reaches, which is also the products.
    int points() const { return static_cast<int>(input.size()); }
    bool is_identity() const { return points() == 1; }
};

inline const Transform identity{{{1}}, {{1}}, {{1}}};

/// F(points + 1 - taps, taps): output i and weight j of a point p are p^i and p^j, the last point's, at infinity, the highest
/// power alone; an input's coefficients are those of the polynomial that is zero at all other points. Weights are multiplied
/// by `divisor`, so that they are no fractions but of powers of two.
inline Transform at_points(const std::vector<float> &finite, float divisor, int taps) {
    const int points = static_cast<int>(finite.size()) + 1, last = points - 1, outputs = points + 1 - taps;
    Transform t;
    t.divisor = divisor;
    const auto powers = [&](int point, int count, float factor) {
        std::vector<float> row(count, 0);
        if (point == last) row.back() = factor;
        for (int i = 0; point < last && i < count; i++, factor *= finite[point]) row[i] = factor;
        return row;
    };
    t.output.assign(outputs, std::vector<float>(points));
    for (int p = 0; p < points; p++) {
        std::vector<float> polynomial{1};
        float distances = 1;
        for (int other = 0; other < last; other++) {
            if (other == p) continue;
            if (p < last) distances *= finite[p] - finite[other];
            polynomial.insert(polynomial.begin(), 0);  // times (x - finite[other])
            for (std::size_t i = 0; i + 1 < polynomial.size(); i++) polynomial[i] -= finite[other] * polynomial[i + 1];
        }
        polynomial.resize(points, 0);
        t.input.push_back(polynomial);
        t.weight.push_back(powers(p, taps, divisor / distances));
        const std::vector<float> outputs_of_point = powers(p, outputs, 1);
        for (int i = 0; i < outputs; i++) t.output[i][p] = outputs_of_point[i];
    }
    return t;
}

/// The transform with inputs and outputs in the reverse order: taps are then those of the mirrored kernel. So gradients of inputs,
/// which read forwards what convolutions read backwards, have their weights as those have them.
inline Transform mirrored(Transform t) {
    for (std::vector<float> &row : t.input) std::reverse(row.begin(), row.end());
    std::reverse(t.output.begin(), t.output.end());
    return t;
}

/// On a CPU: of four points, exact on integers with additions alone; an axis of one tap is not transformed.
inline Transform of_taps(int taps) { return taps == 1 ? identity : at_points({0, 1, -1}, 1, taps); }

/// On a GPU: of six points or eight, beside an axis of as many as `beside`, or one, where nothing is transformed. Six have the
/// smallest errors with -1/2, eight leave fewer bits of a sum to the other axis.
inline Transform of_points(int points, int beside, int taps) {
    if (points == 1) return identity;
    if (points == 8) return at_points({0, 1, -1, 2, -2, 0.5f, -0.5f}, 45, taps);
    return beside == 8 ? at_points({0, 1, -1, 2, -2}, 3, taps) : at_points({0, 1, -1, 2, -0.5f}, 15, taps);
}

/// Element `row` of the product of the matrix and the vector that element(i) gives. Where `row` is a
/// constant, only its terms that are not zero are left.
template <class Element>
Halide::Expr transformed(const Matrix &matrix, const Halide::Expr &row, Element element) {
    std::vector<Halide::Expr> rows;
    for (const std::vector<float> &coefficients : matrix) {
        Halide::Expr sum = 0.f;
        for (int i = 0; i < static_cast<int>(coefficients.size()); i++)
            if (coefficients[i] != 0) sum += element(i) * coefficients[i];
        rows.push_back(sum);
    }
    return rows.size() == 1 ? rows[0] : Halide::mux(row, rows);
}

/// Taps, or outputs, of so many points: F(points + 1 - taps, taps) may have any number of them, up to this.
inline int most_taps(int points) { return points > 1 ? points - 1 : 1; }
/// Eight points are for taps that leave those of six few outputs (runtime/src/choice/winograd_sizes.cpp).
inline int least_taps(int points) { return points > 6 ? 5 : points > 1 ? 2 : 1; }

/// Kernels are for any number of taps. The first columns of these matrices are the same for all of them: only the last point,
/// at infinity, is of the last tap, or the last output, alone.
template <class Element>
Halide::Expr transformed_taps(const Transform &of_most, const Halide::Expr &taps, const Halide::Expr &point, Element element) {
    const int last = of_most.points() - 1;
    std::vector<Halide::Expr> rows;
    for (int p = 0; p < last; p++) rows.push_back(transformed({of_most.weight[p]}, 0, element));
    Halide::Expr at_infinity = 0.f;
    for (int i = 0; i < of_most.taps(); i++) at_infinity = Halide::select(taps == i + 1, element(i), at_infinity);
    rows.push_back(at_infinity * of_most.divisor);
    return rows.size() == 1 ? rows[0] : Halide::mux(point, rows);
}

/// There are so many `outputs`: those beyond lack what is at infinity. `element` gives the points.
template <class Element>
Halide::Expr transformed_outputs(const Transform &of_most, const Halide::Expr &outputs, const Halide::Expr &output,
                                 Element element) {
    const int last = of_most.points() - 1;
    Matrix finite = of_most.output;
    for (std::vector<float> &row : finite) row[last] = 0;
    return transformed(finite, output, element) + Halide::select(outputs == output + 1, element(last), 0.f);
}

}  // namespace conv_transpose::winograd

#endif
