// Where the products of all taps lie (Computation::of_taps), and the step that adds what each output sees of them.
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_TAPS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_TAPS_H

#include "choice/computation.h"
#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "plan/epilogue_arguments.h"
#include "plan/gather_axes.h"
#include "plan/recipe.h"
#include "problem/counting.h"

namespace conv_transpose {

class SumOfTaps {
  public:
    /// Adds the region of the products, if there are any.
    SumOfTaps(Recipe &recipe, Device device, const Computation &c) : given_(c), seen_(c) {
        if (!c.of_taps) return;
        kernel_ = &helper_kernel(KernelRole::sum_of_taps, device, [](const KernelTraits &) { return true; });
        seen_.written = recipe.add_region("products of taps", sizeof(float) * c.problem.output_elements());
    }

    /// The computation of the products.
    const Computation &seen() const { return seen_; }

    void add_sum(Recipe &recipe, const EpilogueArguments &epilogue) const {
        if (!kernel_) return;
        const Problem &p = given_.of_taps->given;
        // Without a bias the kernel discards what it reads there.
        const View bias(epilogue.has_bias() ? Operand::bias : seen_.written, 0, {epilogue.bias_elements(p.out_channels)});
        Launch<Family::sum_of_taps> launch(*kernel_);
        launch.set("partial", products())
            .set("bias", bias)
            .set("has_bias", epilogue.bias_kind())
            .set("activation", epilogue.activation)
            .set("slope", epilogue.slope);
        Extents extents = innermost_first(p, rank(), [](const Axis &a) { return a.output(); });
        extents.insert(extents.end(), {p.out_channels, p.batch});
        View output(given_.written, 0, extents);
        output.set_layout(given_.of_taps->written, p.out_channels, rank());
        recipe.add(set_gather_axes(launch, p).set("output", output).step());
    }

  private:
    const Computation given_;
    Computation seen_;
    const KernelTraits *kernel_ = nullptr;

    int rank() const { return kernel_->rank; }

    // As (x, y, z, tap, channel, image), in the order of the weight.
    View products() const {
        const Problem &p = given_.of_taps->given;
        Extents extents = innermost_first(p, rank(), [](const Axis &a) { return a.input; });
        const int64_t plane = product(extents);
        extents.insert(extents.end(), {taps(p), p.out_channels, p.batch});
        View products(seen_.written, 0, extents);
        if (channels_innermost(given_.weight_format))
            products.set_stride(rank(), plane * p.out_channels).set_stride(rank() + 1, plane);
        for (int i = 0; i < rank(); i++) {
            const Axis &a = p.axes[2 - i];
            products.set_min(i, -(a.padding / a.stride));
        }
        return products;
    }
};

}  // namespace conv_transpose

#endif
