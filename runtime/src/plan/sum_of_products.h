// The last pass of weight gradients that are matrix products: their parts are added, rounded, and turned into the order of
// the weights (generators/weight_gradient_sum.cpp).
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_PRODUCTS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_PRODUCTS_H

#include "choice/computation.h"
#include "choice/registry.h"
#include "choice/weight_gradient_parts.h"
#include "plan/recipe.h"

namespace conv_transpose {

/// `parts` are (input channel, output channel, kernel position, group, part), of whole tiles of kernel positions.
inline void add_sum_of_products(Recipe &recipe, const KernelTraits &k, const Computation &c, Operand parts, int64_t count) {
    const Problem &p = c.problem;
    // Few weights of many parts are shared out among more threads.
    const bool in_order = count <= 8 || p.weight_elements() >= int64_t{1} << 20;
    const KernelTraits &summing = helper_kernel(KernelRole::weight_gradient_sum, k.device, [&](const KernelTraits &helper) {
        return helper.weight.type == c.weight_format.type && helper.sums_in_order == in_order;
    });
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups, part = packed_part_elements(p, k);
    const bool channels_last = c.weight_format.layout == Layout::channels_last;
    // The slower one first.
    View partial = channels_last ? View(parts, 0, {in, taps(p), out, p.groups, count})
                                 : View(parts, 0, {in, out, taps(p), p.groups, count});
    if (channels_last) partial.set_stride(1, in * out).set_stride(2, in);
    recipe.add(Launch<Family::weight_gradient_sum>(summing)
                   .set("partial", partial.set_stride(3, part / p.groups).set_stride(4, part))
                   .set("sum", View(c.written, 0, {out * taps(p), in, p.groups}, c.weight_format.type))
                   .step());
}

}  // namespace conv_transpose

#endif
