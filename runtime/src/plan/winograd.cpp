// Winograd's algorithm on GPUs as a recipe, of the forward operation and of weight gradients (algorithm/winograd.h): tiles are
// transformed, multiplied as matrices, and what they give is transformed back.
#include "choice/registry.h"
#include "choice/winograd_sizes.h"
#include "plan/builders.h"
#include "plan/epilogue_arguments.h"
#include "plan/turned_pictures.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// Position i of a tile is that of tile * step + phase + stride * i, of each axis, innermost first. What has no phases of its
// channels has tiles of phases, or none.
struct Positions {
    Extents tiles, step, phases, stride;
};

class WinogradRecipe {
  public:
    WinogradRecipe(const Candidate &candidate, const Epilogue &epilogue)
        : k_(candidate.kernel), recipe_(k_.device), turned_(recipe_, k_.device, candidate.computation), whole_(k_, c_.problem),
          epilogue_(epilogue), left_(region("transformed tiles", whole_.left_elements())),
          product_(region("products", whole_.product_elements())) {}

    // Weights are transformed once, pictures a launch of images at a time. An input gradient sums over phases, and sees taps as
    // they are; the forward operation computes them, and sees taps turned round.
    Recipe forward() && {
        const bool gradient = c_.by_phases.has_value();
        const Extents one{1, 1}, last = innermost([&](const Axis &a) { return a.stride * (ceil_divide(a.kernel, a.stride) - 1); });
        View weight = weights(Operand::weight);
        for (int i = 0; i < 2 && !gradient; i++) weight.set_min(i, -last[i]);
        recipe_.add_weight_packing(
            {tiles(KernelRole::winograd_taps, Operand::packed_weight, weight,
                   gradient ? Positions{one, one, strides(1), strides(1)} : Positions{strides(1), one, one, strides(-1)},
                   {whole_.right_rows, whole_.terms})},
            sizeof(float) * whole_.right_elements());
        recipe_.add_launches({p_.batch, whole_.images}, {1, 1}, [&](const LaunchRange &range) {
            const WinogradSizes sizes = whole_.of_images(range.images);
            View input = inputs(gradient ? c_.written : c_.read, range), output = outputs(gradient ? c_.read : c_.written, range);
            for (int i = 0; i < 2 && !gradient; i++) {
                input.set_min(i, ceil_divide(axis(i).kernel, axis(i).stride) - 1 - axis(i).padding / axis(i).stride);
                output.set_min(i, axis(i).padding % axis(i).stride);
            }
            return std::vector{
                tiles(KernelRole::winograd_tiles, left_, gradient ? output : input, gradient ? of_cells() : of_inputs(),
                      {sizes.left_rows, sizes.terms}),
                product(sizes, {sizes.left_rows, sizes.terms}, {sizes.right_rows, sizes.terms}, Operand::packed_weight),
                results(sizes, gradient ? input : output, gradient ? of_inputs() : of_cells())};
        });
        turned_.turn_result(recipe_);
        return std::move(recipe_);
    }

    // The sum is over all images: a launch of some adds to what those before gave.
    Recipe weight_gradient() && {
        const Operand right = region("transformed input", whole_.right_elements());
        const auto of_images = [&](const LaunchRange &range, int64_t adds) {
            const WinogradSizes sizes = whole_.of_images(range.images);
            const Extents left{sizes.terms, sizes.left_rows}, tile_terms{sizes.terms, sizes.right_rows};
            return std::vector{tiles(KernelRole::winograd_tiles, left_, outputs(c_.gradient, range), of_cells(), left),
                               tiles(KernelRole::winograd_taps, right, inputs(c_.read, range), of_inputs(), tile_terms),
                               product(sizes, left, tile_terms, right, adds)};
        };
        for (const Step &step : of_images({0, whole_.images, 0, 1}, 0)) recipe_.add(step);
        recipe_.add_launches({p_.batch - whole_.images, whole_.images}, {1, 1}, [&](LaunchRange range) {
            range.first_image += whole_.images;
            return of_images(range, 1);
        });
        // A tile is all taps of a phase.
        recipe_.add(results(whole_, weights(c_.written), {strides(1), {1, 1}, {1, 1}, strides(1)}));
        return std::move(recipe_);
    }

  private:
    const KernelTraits &k_;
    Recipe recipe_;
    const TurnedPictures turned_;
    const Computation &c_ = turned_.seen();
    const Problem &p_ = c_.by_phases ? *c_.by_phases : c_.problem;
    const WinogradSizes whole_;
    const EpilogueArguments epilogue_;
    const Operand left_, product_;

    const Axis &axis(int i) const { return p_.axes[2 - i]; }
    template <class OfAxis>
    Extents innermost(OfAxis of_axis) const { return innermost_first(p_, 2, of_axis); }
    static Extents innermost(Size2 size) { return {size.width, size.height}; }
    Extents strides(int64_t sign) const { return innermost([&](const Axis &a) { return sign * a.stride; }); }
    Operand region(const char *name, int64_t floats) { return recipe_.add_region(name, sizeof(float) * floats); }

    Positions of_inputs() const { return {innermost(whole_.tiles), innermost(whole_.step), {1, 1}, {1, 1}}; }
    Positions of_cells() const {
        const Extents stride = strides(1);
        return {innermost(whole_.tiles), {stride[0] * whole_.step.width, stride[1] * whole_.step.height}, stride, stride};
    }

    const KernelTraits &helper(KernelRole role) const {
        return helper_kernel(role, k_.device, [&](const KernelTraits &k) { return k.winograd_points == whole_.points_of_axes; });
    }

    // (x, y, channel, image).
    template <class OfAxis>
    View pictures(Operand operand, int64_t channels, OfAxis extent, const LaunchRange &range) const {
        const int64_t width = extent(p_.width()), plane = width * extent(p_.height());
        return {operand, range.first_image * channels * plane, {width, extent(p_.height()), channels, range.images}};
    }
    View inputs(Operand operand, const LaunchRange &range) const {
        return pictures(operand, p_.in_channels, [](const Axis &a) { return a.input; }, range);
    }
    // From the first cell's first position on.
    View outputs(Operand operand, const LaunchRange &range) const {
        View view = pictures(operand, p_.out_channels, [](const Axis &a) { return a.output(); }, range);
        for (int i = 0; i < 2; i++) view.set_min(i, axis(i).padding);
        return view;
    }

    // (x, y, input channel, output channel); where an input gradient sums over output channels those change places.
    View weights(Operand operand) const {
        const int64_t kernel = taps(p_);
        const auto [tap, channel] = LayoutStrides(c_.weight_format.layout, p_.out_channels, kernel);
        View view(operand, 0, {p_.width().kernel, p_.height().kernel, p_.in_channels, p_.out_channels});
        view.set_stride(0, tap).set_stride(1, p_.width().kernel * tap);
        view.set_stride(2, kernel * p_.out_channels).set_stride(3, channel);
        return c_.by_phases ? view.exchange(2, 3) : view;
    }

    template <Family family>
    Launch<family> of_positions(KernelRole role, const Positions &at) const {
        Launch<family> launch(helper(role));
        return launch.set_axes("tiles", at.tiles)
            .set_axes("step", at.step)
            .set_axes("phases", at.phases)
            .set_axes("stride", at.stride);
    }

    // `matrix`: tiles and channels, with those that fill up.
    Step tiles(KernelRole role, Operand to, const View &from, const Positions &at, Extents matrix) const {
        matrix.push_back(whole_.points);
        return of_positions<Family::winograd_tiles>(role, at)
            .set("picture", from)
            .set_axes("taps", innermost(whole_.taps))
            .set("points", View(to, 0, matrix))
            .step();
    }

    Step product(const WinogradSizes &sizes, Extents left, Extents right, Operand of_right, int64_t adds = 0) const {
        left.push_back(sizes.points), right.push_back(sizes.points);
        const View sums(product_, 0, {sizes.left_rows, sizes.right_rows, sizes.points});
        return Launch<Family::winograd_product>(k_)
            .set("left", View(left_, 0, left))
            .set("right", View(of_right, 0, right))
            .set("adds", adds)
            .set("before", sums)
            .set("product", sums)
            .step();
    }

    Step results(const WinogradSizes &sizes, const View &to, const Positions &at) const {
        // Without a bias the kernel discards what it reads there.
        const bool has_bias = epilogue_.has_bias();
        const int64_t channels = to.dimensions()[2].extent;
        return of_positions<Family::winograd_outputs>(KernelRole::winograd_outputs, at)
            .set("points", View(product_, 0, {sizes.left_rows, sizes.right_rows, sizes.points}))
            .set("bias", View(has_bias ? Operand::bias : product_, 0, {channels}))
            .set("has_bias", epilogue_.bias_kind())
            .set("activation", epilogue_.activation)
            .set("slope", epilogue_.slope)
            .set_axes("outputs", innermost(sizes.outputs))
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
