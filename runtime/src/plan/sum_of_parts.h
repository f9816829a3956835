// Two-pass reductions of gradients: where the first pass leaves its parts, and the second pass.
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_PARTS_H

#include "choice/registry.h"
#include "plan/recipe.h"

namespace conv_transpose {

/// The sum of `parts` arrays of `elements` each, one after another in the workspace. The order of the sum is
/// fixed by the plan alone, so results repeat bit by bit.
class SumOfParts {
  public:
    /// Throws Unsupported where this build has no kernel for the device.
    SumOfParts(Recipe &recipe, Device device, int64_t elements, int64_t parts, Operand result)
        : kernel_(helper_kernel(KernelRole::sum_of_parts, device)), elements_(elements), parts_(parts), result_(result),
          first_pass_(parts == 1 ? result : recipe.add_region("partial sums", sizeof(float) * elements * parts)) {}

    /// What the first pass writes. A single part needs no second one: it is the result.
    Operand first_pass() const { return first_pass_; }

    void add_to(Recipe &recipe) const {
        if (parts_ == 1) return;
        // Nothing is read of an empty batch, but a view needs an address.
        const Operand from = parts_ > 0 ? first_pass_ : result_;
        recipe.add_launches({elements_, most_a_launch(elements_, parts_)}, {1, 1}, [&](const LaunchRange &range) {
            View partial(from, range.first_image, {range.images, parts_});
            return std::vector{Launch<Family::sum_of_parts>(kernel_)
                                   .set("partial", partial.set_stride(1, elements_))
                                   .set("sum", View(result_, range.first_image, {range.images}))
                                   .step()};
        });
    }

  private:
    const KernelTraits &kernel_;
    int64_t elements_, parts_;
    Operand result_, first_pass_;
};

}  // namespace conv_transpose

#endif
