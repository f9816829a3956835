// Winograd's algorithm on GPUs as a recipe, of the forward operation and of weight gradients (algorithm/winograd.h): tiles are
// transformed, multiplied as matrices, and what they give is transformed back.
#include "choice/registry.h"
#include "choice/winograd_sizes.h"
#include "plan/builders.h"
#include "plan/epilogue_arguments.h"

namespace conv_transpose {

namespace {

class WinogradRecipe {
  public:
    WinogradRecipe(const Candidate &candidate, const Epilogue &epilogue)
        : k_(candidate.kernel), c_(candidate.computation), whole_(k_, p_), epilogue_(epilogue), recipe_(k_.device),
          left_(region("transformed tiles", whole_.left_elements())),
          product_(region("products", whole_.product_elements())) {}

    // Weights are transformed once, pictures a launch of images at a time.
    Recipe forward() && {
        recipe_.add_weight_packing(tiles(Operand::packed_weight, weights(), one_tile, {1, 1}, whole_.taps,
                                         {whole_.right_rows, whole_.terms}),
                                   sizeof(float) * whole_.right_elements());
        recipe_.add_launches({p_.batch, whole_.images}, {1, 1}, [&](const LaunchRange &range) {
            const WinogradSizes sizes = whole_.of_images(range.images);
            View input = pictures(c_.read, c_.read_format, p_.in_channels, [](const Axis &a) { return a.input; }, range);
            for (int i = 0; i < 2; i++) input.set_min(i, axis(i).kernel - 1 - axis(i).padding);
            const View output =
                pictures(c_.written, c_.written_format, p_.out_channels, [](const Axis &a) { return a.output(); }, range);
            return std::vector{tiles(left_, input, innermost(sizes.tiles), innermost(sizes.step), {}, {sizes.left_rows, sizes.terms}),
                               product(sizes, {sizes.left_rows, sizes.terms}, {sizes.right_rows, sizes.terms}, Operand::packed_weight),
                               outputs(sizes, output, innermost(sizes.tiles))};
        });
        return std::move(recipe_);
    }

    Recipe weight_gradient() && {
        const LaunchRange all{0, p_.batch, 0, 1};
        const Operand right = region("transformed input", whole_.right_elements());
        const View input = pictures(c_.read, c_.read_format, p_.in_channels, [](const Axis &a) { return a.input; }, all);
        View gradient = pictures(Operand::output_gradient, c_.written_format, p_.out_channels,
                                 [](const Axis &a) { return a.output(); }, all);
        for (int i = 0; i < 2; i++) gradient.set_min(i, axis(i).padding);
        const Extents left{whole_.terms, whole_.left_rows}, tile_terms{whole_.terms, whole_.right_rows};
        recipe_.add(tiles(left_, gradient, innermost(whole_.tiles), innermost(whole_.step), {}, left));
        recipe_.add(tiles(right, input, innermost(whole_.tiles), innermost(whole_.step), whole_.taps, tile_terms));
        recipe_.add(product(whole_, left, tile_terms, right));
        // (x, y, input channel, output channel): a tile is all positions of a kernel.
        const int64_t kernel = taps(p_);
        View weights(c_.written, 0, {p_.width().kernel, p_.height().kernel, p_.in_channels, p_.out_channels});
        weights.set_stride(2, kernel * p_.out_channels).set_stride(3, kernel);
        recipe_.add(outputs(whole_, weights, one_tile));
        return std::move(recipe_);
    }

  private:
    inline static const Extents one_tile{1, 1};

    const KernelTraits &k_;
    const Computation &c_;
    const Problem &p_ = c_.problem;
    const WinogradSizes whole_;
    const EpilogueArguments epilogue_;
    Recipe recipe_;
    const Operand left_, product_;

    static Extents innermost(Size2 size) { return {size.width, size.height}; }
    const Axis &axis(int i) const { return p_.axes[2 - i]; }
    Operand region(const char *name, int64_t floats) { return recipe_.add_region(name, sizeof(float) * floats); }

    const KernelTraits &helper(KernelRole role, Size2 taps) const {
        return helper_kernel(role, k_.device, [&](const KernelTraits &k) { return k.kernel == taps && k.winograd_points == whole_.points_of_axes; });
    }

    // (x, y, channel, image).
    template <class OfAxis>
    View pictures(Operand operand, TensorFormat format, int64_t channels, OfAxis extent, const LaunchRange &range) const {
        const int64_t width = extent(p_.width()), plane = width * extent(p_.height());
        View view(operand, range.first_image * channels * plane, {width, extent(p_.height()), channels, range.images});
        return view.set_layout(format.layout, channels, 2);
    }

    // (x, y, input channel, output channel), turned round as a gather meets them. Those of a mirrored problem are so already.
    View weights() const {
        const int64_t kernel = taps(p_), width = p_.width().kernel;
        const bool mirrored = c_.weight == WeightView::mirrored;
        const int64_t inner = kernel * (mirrored ? p_.in_channels : p_.out_channels);
        View view(Operand::weight, mirrored ? 0 : kernel - 1, {width, p_.height().kernel, p_.in_channels, p_.out_channels});
        return view.set_stride(0, mirrored ? 1 : -1).set_stride(1, mirrored ? width : -width)
            .set_stride(2, mirrored ? kernel : inner).set_stride(3, mirrored ? inner : kernel);
    }

    // `matrix`: tiles and channels, with those that fill up.
    Step tiles(Operand to, const View &from, const Extents &tiles, const Extents &step, Size2 taps, Extents matrix) const {
        matrix.push_back(whole_.points);
        return Launch<Family::winograd_tiles>(helper(KernelRole::winograd_tiles, taps))
            .set("picture", from)
            .set_axes("tiles", tiles)
            .set_axes("step", step)
            .set("points", View(to, 0, matrix))
            .step();
    }

    Step product(const WinogradSizes &sizes, Extents left, Extents right, Operand of_right) const {
        left.push_back(sizes.points), right.push_back(sizes.points);
        return Launch<Family::winograd_product>(k_)
            .set("left", View(left_, 0, left))
            .set("right", View(of_right, 0, right))
            .set("product", View(product_, 0, {sizes.left_rows, sizes.right_rows, sizes.points}))
            .step();
    }

    Step outputs(const WinogradSizes &sizes, const View &to, const Extents &tiles) const {
        // Without a bias the kernel discards what it reads there.
        const bool has_bias = epilogue_.has_bias();
        const int64_t channels = to.dimensions()[2].extent;
        return Launch<Family::winograd_outputs>(helper(KernelRole::winograd_outputs, sizes.taps))
            .set("points", View(product_, 0, {sizes.left_rows, sizes.right_rows, sizes.points}))
            .set("bias", View(has_bias ? Operand::bias : product_, 0, {channels}))
            .set("has_bias", epilogue_.bias_kind())
            .set("activation", epilogue_.activation)
            .set("slope", epilogue_.slope)
            .set_axes("tiles", tiles)
            .set("output", to)
            .step();
    }
};

}  // namespace

Recipe winograd_recipe(const Candidate &candidate, const Epilogue &epilogue) {
    WinogradRecipe recipe(candidate, epilogue);
    return candidate.kernel.operation == Operation::forward ? std::move(recipe).forward() : std::move(recipe).weight_gradient();
}

}  // namespace conv_transpose
