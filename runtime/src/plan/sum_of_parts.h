// Two-pass reductions of gradients: where the first pass leaves its parts, and the second pass.
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H

#include "choice/registry.h"
#include "plan/plan_requests.h"
#include "plan/recipe.h"

namespace conv_transpose {

/// The sum of `parts` arrays of `elements` each, one after another in the workspace. The order of the sum is
/// fixed by the plan alone, so results repeat bit by bit.
class SumOfParts {
  public:
    /// Throws Unsupported where this build has no kernel for the device.
    SumOfParts(Recipe &recipe, const KernelTraits &first, int64_t elements, int64_t parts, Operand result, ElementType type)
        : kernel_(helper_kernel(KernelRole::sum_of_parts, first.device,
                                [&](const KernelTraits &k) { return k.output.type == type; })),
          elements_(elements), parts_(parts), result_(result), type_(type),
          is_result_(first.writes_result || (parts == 1 && type == ElementType::float32)),
          first_pass_(is_result_ ? result : add_region(recipe, elements, parts)) {}

    /// What the first pass writes, in float32 or as the result.
    Operand first_pass() const { return first_pass_; }
    ElementType first_pass_type() const { return is_result_ ? type_ : ElementType::float32; }

    void add_to(Recipe &recipe) const {
        if (is_result_) return;
        // Nothing is read of an empty batch, but a view needs an address.
        const Operand from = parts_ > 0 ? first_pass_ : result_;
        recipe.add_launches({elements_, most_a_launch(elements_, parts_)}, {1, 1}, [&](const LaunchRange &range) {
            View partial(from, range.first_image, {range.images, parts_});
            return std::vector{Launch<Family::sum_of_parts>(kernel_)
                                   .set("partial", partial.set_stride(1, elements_))
                                   .set("sum", View(result_, range.first_image, {range.images}, type_))
                                   .step()};
        });
    }

  private:
    const KernelTraits &kernel_;
    int64_t elements_, parts_;
    Operand result_;
    ElementType type_;
    bool is_result_;  ///< there is one part, and nothing to convert
    Operand first_pass_;

    static Operand add_region(Recipe &recipe, int64_t elements, int64_t parts) {
        require_addressable("the parts of a gradient", double(sizeof(float)) * double(elements) * double(parts));
        return recipe.add_region("partial sums", sizeof(float) * elements * parts);
    }
};

}  // namespace conv_transpose

#endif
