// The weight gradient as a recipe that multiplies packed pictures.
#include <numeric>

#include "choice/registry.h"
#include "plan/builders.h"
#include "plan/strided_axes.h"
#include "choice/weight_gradient_parts.h"

namespace conv_transpose {

namespace {

// A tensor, how it is packed, and where to.
struct Picture {
    Operand tensor, region;
    int64_t channels;
    Size2 size, padding, packed;
    int64_t strip_rows;
};

class ProductRecipe {
  public:
    explicit ProductRecipe(const Candidate &candidate)
        : k_(candidate.kernel),
          c_(candidate.computation),
          packing_(helper_kernel(KernelRole::picture_packing, k_.device,
                                 [&](const KernelTraits &k) { return k.precision == k_.precision; })),
          summing_(helper_kernel(KernelRole::weight_gradient_sum, k_.device)),
          packed_(p_),
          cut_(p_, k_, packed_),
          recipe_(k_.device),
          input_{Operand::input, recipe_.add_region("packed input", bytes(cut_.fours * packed_.input_elements(p_, k_))),
                 p_.in_channels, plane_of(p_, &Axis::input), {0, 0}, packed_.input, packed_.input.height},
          output_{Operand::output_gradient,
                  recipe_.add_region("packed output gradient", bytes(cut_.fours * packed_.output_elements(p_, k_))),
                  p_.out_channels, output_plane(p_), plane_of(p_, &Axis::padding), packed_.output,
                  packed_.input.height * p_.height().stride},
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
        add_sum();
        return std::move(recipe_);
    }

  private:
    const KernelTraits &k_;
    const Computation &c_;
    const Problem &p_ = c_.problem;
    const KernelTraits &packing_, &summing_;
    const PackedPictures packed_;
    const PackedPictureParts cut_;
    const int64_t part_elements_ = packed_part_elements(p_, k_);
    Recipe recipe_;
    const Picture input_, output_;
    const Operand parts_;

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
        View from(t.tensor, image * t.channels * area(t.size), {t.size.width, t.size.height, t.channels, images});
        return Launch<Family::picture_packing>(packing_)
            .set("images", from.set_min(0, t.padding.width).set_min(1, t.padding.height))
            .set("positions", area(t.packed))
            .set("columns", t.packed.width)
            .set("first_picture", 4 * slice * cut_.fours % packed_.strips())
            .set("strip_bits", int64_t{packed_.strip_bits})
            .set("strip_rows", t.strip_rows)
            .set("packed", View(t.region, 0, {4, t.channels, area(t.packed) * fours, terms()}))
            .step();
    }

    Step product(int64_t slice, int64_t fours) const {
        const int64_t tap_tiles = ceil_divide(taps(p_), k_.tile_taps);
        return launch_with_axes<Family::weight_gradient_product>(k_, p_)
            .set("input", View(input_.region, 0, {4, in(), p_.groups, area(packed_.input) * fours, terms()}))
            .set("output_gradient",
                 View(output_.region, 0, {4, out(), p_.groups, area(packed_.output), fours, terms()}))
            .set("input_columns", packed_.input.width)
            .set("input_rows", packed_.input.height)
            .set("output_columns", packed_.output.width)
            .set("band_steps", cut_.band_positions)
            .set("partial", View(parts_, slice * cut_.bands * part_elements_,
                                 {in(), out(), k_.tile_taps, tap_tiles, p_.groups, cut_.bands}))
            .step();
    }

    void add_sum() {
        View partial(parts_, 0, {in(), out(), taps(p_), p_.groups, cut_.count()});
        recipe_.add(Launch<Family::weight_gradient_sum>(summing_)
                        .set("partial", partial.set_stride(3, part_elements_ / p_.groups).set_stride(4, part_elements_))
                        .set("sum", View(c_.written, 0, {out() * taps(p_), in(), p_.groups}))
                        .step());
    }
};

}  // namespace

Recipe weight_gradient_product_recipe(const Candidate &candidate) { return ProductRecipe(candidate).make(); }

}  // namespace conv_transpose
