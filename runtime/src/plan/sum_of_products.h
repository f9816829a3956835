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
    const bool in_order = count <= 8 || p.weight_elements() / c.joined_groups >= int64_t{1} << 20;
    const KernelTraits &summing = helper_kernel(KernelRole::weight_gradient_sum, k.device, [&](const KernelTraits &helper) {
        return helper.weight.type == c.weight_format.type && helper.sums_in_order == in_order;
    });
    const int64_t all_in = p.in_channels / p.groups, all_out = p.out_channels / p.groups, part = packed_part_elements(p, k);
    const int64_t in = all_in / c.joined_groups, out = all_out / c.joined_groups;
    const bool channels_last = c.weight_format.layout == Layout::channels_last, joined = c.joined_groups > 1;
    // A step has the weights of one of joined groups, which lie along a diagonal.
    const int64_t steps = joined ? p.groups : 1, groups = joined ? c.joined_groups : p.groups;
    const int64_t next_group = joined ? in + out * all_in : part / p.groups;
    for (int64_t i = 0; i < steps; i++) {
        const int64_t first = i * (part / p.groups);
        // The slower one first.
        View partial = channels_last ? View(parts, first, {in, taps(p), out, groups, count})
                                     : View(parts, first, {in, out, taps(p), groups, count});
        partial.set_stride(channels_last ? 2 : 1, all_in).set_stride(channels_last ? 1 : 2, all_in * all_out);
        recipe.add(Launch<Family::weight_gradient_sum>(summing)
                       .set("partial", partial.set_stride(3, next_group).set_stride(4, part))
                       .set("sum", View(c.written, i * groups * in * out * taps(p), {out * taps(p), in, groups},
                                        c.weight_format.type))
                       .step());
    }
}

}  // namespace conv_transpose

#endif
