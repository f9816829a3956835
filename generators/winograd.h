// Winograd's algorithm F(2x2, 3x3) for transposed convolutions of stride 1: another way to the same sums.
//
// A tile of 2 outputs an axis reaches 4 inputs. The inputs d and weights g of every pair of channels are transformed,
// multiplied element by element and summed over input channels; the sum is transformed back, once for all of them:
//     output = A^T [ (G g G^T) . (B^T d B) ] A
// That is 16 products for 4 outputs in place of 36. A transposed convolution of stride 1 is such a correlation with mirrored
// taps: output o is the sum of input[o - k] * weight[k].
//
// The matrices hold 0, 1, -1 and 1/2 alone, so on small integers results are as exact as the gather's, and on real numbers
// as near (tests/accuracy_test.cpp). Larger tiles save more products, but divide by 3 somewhere (five points cannot all
// differ modulo 3) and have larger coefficients: F(4x4, 3x3) was tried, 1.2 times as fast at 128 channels.
#ifndef CONV_TRANSPOSE_GENERATORS_WINOGRAD_H
#define CONV_TRANSPOSE_GENERATORS_WINOGRAD_H

#include <vector>

#include "Halide.h"

namespace conv_transpose::winograd {

/// Outputs of a tile on each axis, and points: the inputs that it reaches, which is also the products.
constexpr int outputs = 2, points = 4;

using Matrix = std::vector<std::vector<float>>;
inline const Matrix input_matrix{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};  ///< B^T
inline const Matrix weight_matrix{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};     ///< G
inline const Matrix output_matrix{{1, 1, 1, 0}, {0, 1, -1, -1}};                                ///< A^T

/// Element `row` of the product of the matrix and the vector that element(i) gives. Where `row` is a constant, only its
/// terms that are not zero are left.
template <class Element>
Halide::Expr transformed(const Matrix &matrix, const Halide::Expr &row, Element element) {
    std::vector<Halide::Expr> rows;
    for (const std::vector<float> &coefficients : matrix) {
        Halide::Expr sum = 0.f;
        for (int i = 0; i < static_cast<int>(coefficients.size()); i++)
            if (coefficients[i] != 0) sum += element(i) * coefficients[i];
        rows.push_back(sum);
    }
    return Halide::mux(row, rows);
}

}  // namespace conv_transpose::winograd

#endif
