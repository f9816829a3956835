// The weight gradient as a recipe that multiplies packed pictures.
#include <numeric>

#include "choice/registry.h"
#include "choice/weight_gradient_parts.h"
#include "plan/builders.h"
#include "plan/sum_of_products.h"

namespace conv_transpose {

namespace {

// A tensor, how it is packed, and where to.
struct Picture {
    Operand tensor, region;
    TensorFormat format;
    int64_t channels;
    std::array<int64_t, 3> size, padding;  ///< of the problem's axes
    Extent packed;
    int64_t strip_planes;
    const KernelTraits &packing;
};

template <class OfAxis>
std::array<int64_t, 3> of_axes(const Problem &p, OfAxis of_axis) {
    return {of_axis(p.axes[0]), of_axis(p.axes[1]), of_axis(p.axes[2])};
}

class ProductRecipe {
  public:
    explicit ProductRecipe(const Candidate &candidate)
        : k_(candidate.kernel),
          c_(candidate.computation),
          packed_(p_),
          cut_(p_, k_, packed_),
          recipe_(k_.device),
          input_{Operand::input, recipe_.add_region("packed input", bytes(cut_.fours * packed_.input_elements(p_, k_))),
                 c_.read_format, p_.in_channels, of_axes(p_, [](const Axis &a) { return a.input; }), {},
                 packed_.input, packed_.input.z, packing_kernel(c_.read_format, p_.in_channels)},
          output_{Operand::output_gradient,
                  recipe_.add_region("packed output gradient", bytes(cut_.fours * packed_.output_elements(p_, k_))),
                  c_.written_format, p_.out_channels, of_axes(p_, [](const Axis &a) { return a.output(); }),
                  of_axes(p_, [](const Axis &a) { return a.padding; }), packed_.output,
                  packed_.input.z * packed_.axis(p_, 2).stride, packing_kernel(c_.written_format, p_.out_channels)},
          parts_(recipe_.add_region("partial sums", bytes(cut_.count() * part_elements_))) {}

    // Pictures are packed and multiplied a slice at a time, so that the workspace stays small. Rounds of slices begin with
    // an image; up to the last ones they differ in places alone.
    Recipe make() && {
        const int64_t round = packed_.strips() / std::gcd(packed_.strips(), 4 * cut_.fours);
        int64_t rounds = (cut_.slices - 1) / round;
        while (rounds > 0 && !is_whole(rounds * round - 1)) rounds--;
        recipe_.add_launches({rounds, 1}, {1, 1}, [&](const LaunchRange &range) {
            std::vector<Step> steps;
            for (int64_t i = 0; i < round; i++)
                for (Step &step : slice(range.first_image * round + i)) steps.push_back(std::move(step));
            return steps;
        });
        for (int64_t i = rounds * round; i < cut_.slices; i++)
            for (Step &step : slice(i)) recipe_.add(std::move(step), i > 0);
        SumOfProducts(recipe_, k_, c_, parts_, cut_.count()).add();
        return std::move(recipe_);
    }

  private:
    const KernelTraits &k_;
    const Computation &c_;
    const Problem &p_ = c_.problem;
    const PackedPictures packed_;
    const PackedPictureParts cut_;
    const int64_t part_elements_ = packed_part_elements(p_, k_);
    Recipe recipe_;
    const Picture input_, output_;
    const Operand parts_;

    // Lanes go along the channels where these are innermost, or where there are few: others would stand idle.
    const KernelTraits &packing_kernel(TensorFormat format, int64_t channels) const {
        constexpr int64_t few = 8;
        const bool along_channels = channels_innermost(format) || channels <= few;
        return helper_kernel(KernelRole::picture_packing, k_.device, [&](const KernelTraits &k) {
            return k.precision == k_.precision && k.packs_along_channels == along_channels;
        });
    }

    static int64_t bytes(int64_t floats) { return sizeof(float) * floats; }

    int64_t terms() const { return k_.precision == Precision::tf32x3 ? 2 : 1; }
    int64_t in() const { return p_.in_channels / p_.groups; }
    int64_t out() const { return p_.out_channels / p_.groups; }

    int64_t first_image(int64_t slice) const { return 4 * slice * cut_.fours / packed_.strips(); }
    // Whether it has as many images as a slice may have.
    bool is_whole(int64_t slice) const { return first_image(slice) + packed_.images(cut_.fours) <= p_.batch; }

    std::vector<Step> slice(int64_t i) const {
        const int64_t fours = std::min(cut_.fours, packed_.fours - i * cut_.fours);
        return {packing(input_, i, fours), packing(output_, i, fours), product(i, fours)};
    }

    Step packing(const Picture &t, int64_t slice, int64_t fours) const {
        const int64_t image = first_image(slice), images = std::min(packed_.images(fours), p_.batch - image);
        const int64_t positions = t.size[0] * t.size[1] * t.size[2];
        const LayoutStrides layout(t.format.layout, t.channels, positions);
        View from(t.tensor, image * t.channels * positions, {t.size[packed_.axes[0]], t.size[packed_.axes[1]],
                                                             t.size[packed_.axes[2]], t.channels, images});
        int64_t stride = layout.position;
        std::array<int64_t, 3> strides;
        for (int axis = 2; axis >= 0; stride *= t.size[axis--]) strides[axis] = stride;
        for (int i = 0; i < 3; i++) from.set_stride(i, strides[packed_.axes[i]]).set_min(i, t.padding[packed_.axes[i]]);
        from.set_stride(3, layout.channel).set_stride(4, t.channels * positions);
        return Launch<Family::picture_packing>(t.packing)
            .set("images", from)
            .set("positions", t.packed.positions())
            .set("columns", t.packed.x)
            .set("rows", t.packed.y)
            .set("first_picture", 4 * slice * cut_.fours % packed_.strips())
            .set("strip_bits", int64_t{packed_.strip_bits})
            .set("strip_planes", t.strip_planes)
            .set("packed", View(t.region, 0, {4, t.channels, t.packed.positions() * fours, terms()}))
            .step();
    }

    Step product(int64_t slice, int64_t fours) const {
        const int64_t tap_tiles = ceil_divide(taps(p_), k_.tile_taps);
        const std::array<int64_t, 3> places{1, packed_.output.x, packed_.output.x * packed_.output.y};
        Extents kernel(3), tap_step(3);  // of the problem's axes, innermost first
        for (int i = 0; i < 3; i++) {
            const Axis &a = packed_.axis(p_, i);
            kernel[2 - packed_.axes[i]] = a.kernel, tap_step[2 - packed_.axes[i]] = a.dilation * places[i];
        }
        return Launch<Family::weight_gradient_product>(k_)
            .set_axes("kernel", kernel)
            .set_axes("tap_step", tap_step)
            .set("input", View(input_.region, 0, {4, in(), p_.groups, packed_.input.positions() * fours, terms()}))
            .set("output_gradient",
                 View(output_.region, 0, {4, out(), p_.groups, packed_.output.positions(), fours, terms()}))
            .set("input_columns", packed_.input.x)
            .set("input_rows", packed_.input.y)
            .set("input_planes", packed_.input.z)
            .set("column_step", packed_.axis(p_, 0).stride * places[0])
            .set("row_step", packed_.axis(p_, 1).stride * places[1])
            .set("plane_step", packed_.axis(p_, 2).stride * places[2])
            .set("band_steps", cut_.band_positions)
            .set("partial", View(parts_, slice * cut_.bands * part_elements_,
                                 {in(), out(), k_.tile_taps, tap_tiles, p_.groups, cut_.bands}))
            .step();
    }
};

}  // namespace

Recipe weight_gradient_product_recipe(const Candidate &candidate) { return ProductRecipe(candidate).make(); }

}  // namespace conv_transpose
