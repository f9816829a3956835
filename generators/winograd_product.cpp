// The products of Winograd's algorithm on GPUs (algorithm/winograd.h): of what tiles of pictures and of weights became
// (winograd_tiles.cpp), or of two pictures, whose product are gradients of weights.
#include "Halide.h"
#include "algorithm/epilogue.h"
#include "generators/lowering_passes.h"
#include "schedules/cuda_winograd_product.h"

namespace conv_transpose {

/// product(row of the left, row of the right, point) = sum over terms of left(row, term, point) * right(row, term, point), and of
/// gradients of weights, where `adds` is not 0, what other terms gave before.
/// Both have whole tiles of rows, and whole steps of terms.
class WinogradProduct : public Halide::Generator<WinogradProduct>, public DescribedGenerator {
  public:
    /// For gradients of weights: (term, row, point). There tiles are the terms.
    GeneratorParam<bool> terms_innermost{"terms_innermost", false};
    /// Channels that are worth transforms, of input and output.
    GeneratorParam<int> min_channels{"min_channels", 32};
    CudaWinogradProduct schedule_params;

    Input<Halide::Buffer<float>> left{"left", 3}, right{"right", 3};
    Input<int> adds{"adds"};
    Input<Halide::Buffer<float>> before{"before", 3};
    Output<Halide::Buffer<float>> product{"product", 3};

    void generate() {
        using namespace Halide;
        WinogradProductFuncs &f = f_;
        f.terms_innermost = terms_innermost;
        const int chunk = schedule_params.chunk;
        f.terms = RDom(0, left.dim(terms_innermost ? 0 : 1).extent() / chunk * chunk, "terms");
        f.left = Func("left_rows"), f.right = Func("right_rows"), f.sum = Func("sum");
        f.left(f.i, f.k, f.point) = terms_innermost ? left(f.k, f.i, f.point) : left(f.i, f.k, f.point);
        f.right(f.j, f.k, f.point) = terms_innermost ? right(f.k, f.j, f.point) : right(f.j, f.k, f.point);
        f.sum(f.i, f.j, f.point) = 0.f;
        f.sum(f.i, f.j, f.point) += f.left(f.i, f.terms.x, f.point) * f.right(f.j, f.terms.x, f.point);
        const Expr earlier = terms_innermost ? branch(adds != 0, before(f.i, f.j, f.point), 0.f) : Expr(0.f);
        product(f.i, f.j, f.point) = f.sum(f.i, f.j, f.point) + earlier;
        f.product = product;
    }

    void schedule() {
        const int left_rows = schedule_params.left_rows(), right_rows = schedule_params.right_rows();
        const int rows = terms_innermost ? 1 : 0;
        declare(left, rows, left_rows), declare(right, rows, right_rows);
        declare(product, 0, left_rows);
        if (terms_innermost) {
            declare(before, 0, left_rows);
            before.dim(1).set_extent(before.dim(1).extent() / right_rows * right_rows);
        }
        product.dim(1).set_extent(product.dim(1).extent() / right_rows * right_rows);
        schedule_params.apply(f_);
        add_cuda_core_passes(get_pipeline(), schedule_params,
                             {.single_floats = terms_innermost, .load_offsets = true});
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::winograd_product);
        description.set("operation", terms_innermost ? "Operation::weight_gradient" : "Operation::forward");
        describe_target(get_target(), description);
        description.set("dilation", 1, 1);
        description.set("min_in_channels", min_channels);
        description.set("min_out_channels", min_channels);
        description.set("strict_propagation", "false");
        schedule_params.describe(description);
    }

  private:
    WinogradProductFuncs f_;

    // What the runtime promises, so that nothing is asked for, and vectors are copied.
    template <class Matrix>
    void declare(Matrix &matrix, int row_dimension, int rows) const {
        const int chunk = schedule_params.chunk;
        for (int d = 0; d < 3; d++) matrix.dim(d).set_min(0);
        for (int d = 0; d < 2; d++) {
            const int multiple = d == row_dimension ? rows : chunk;
            matrix.dim(d).set_extent(matrix.dim(d).extent() / multiple * multiple);
        }
        for (int d = 1; d < 3; d++) matrix.dim(d).set_stride(matrix.dim(d).stride() / chunk * chunk);
        matrix.set_host_alignment(16);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WinogradProduct, winograd_product)
