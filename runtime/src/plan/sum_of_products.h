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
    const int64_t shares = c.joined_positions;  // of what a part adds
    // Few weights of many parts are shared out among more threads. As measured, both ways take about as long for four parts of
    // each weight in order as, on all that an H200 runs at a time, for 64 parts of 128 weights a block.
    const int64_t added = count * shares, weights = p.weight_elements() / (c.joined_groups * shares * shares);
    const bool in_order = ceil_divide(added, 4) <= ceil_divide(weights, 264 * 128) * ceil_divide(added, 64);
    const KernelTraits &summing = helper_kernel(KernelRole::weight_gradient_sum, k.device, [&](const KernelTraits &helper) {
        return helper.weight.type == c.weight_format.type && helper.sums_in_order == in_order;
    });
    const int64_t all_in = p.in_channels / p.groups, all_out = p.out_channels / p.groups, part = part_stride(c, k);
    const bool channels_last = channels_innermost(c.weight_format);
    // Dimensions of the parts, and what one of its own is among others; weights are rows of columns.
    struct Dimension {
        int64_t extent, stride;
    };
    const auto add = [&](int64_t in, int64_t first, Dimension row, Dimension column, Dimension group, View to) {
        View from(parts, first, {in, row.extent, column.extent, group.extent, count * shares});
        from.set_stride(1, row.stride).set_stride(2, column.stride).set_stride(3, group.stride).set_stride(4, part / shares);
        recipe.add(Launch<Family::weight_gradient_sum>(summing).set("partial", from).set("sum", to).step());
    };
    if (c.by_taps) {
        // Rows are whole strides of the kernel, then what is left of it.
        const int64_t cell = product_of_axes(*c.by_taps, [](const Axis &a) { return a.kernel; });
        const int64_t channels = all_out / cell, positions = c.kernel_positions, of_channel = positions * channels;
        const auto add_rows = [&](int64_t first, int64_t rows, int64_t in_row) {
            if (rows * in_row == 0) return;
            const Dimension row{rows, all_in * all_out};
            const int64_t place = first * cell;
            if (channels_last) {
                View to(c.written, place * channels, {rows * in_row * channels, all_in, 1}, c.weight_format.type);
                return add(all_in, first * all_in * all_out, row, {in_row * channels, all_in}, {1, part}, to.set_stride(1, of_channel));
            }
            View to(c.written, place, {rows * in_row, all_in, channels}, c.weight_format.type);
            add(all_in, first * all_in * all_out, row, {in_row, all_in}, {channels, cell * all_in},
                to.set_stride(1, of_channel).set_stride(2, positions));
        };
        add_rows(0, positions / cell, cell);
        add_rows(positions / cell, 1, positions % cell);
        return;
    }
    const int64_t in = all_in / (c.joined_groups * shares), out = all_out / (c.joined_groups * shares);
    const bool joined = c.joined_groups > 1;
    // A step has the weights of one of joined groups, which lie along a diagonal.
    const int64_t steps = joined ? p.groups : 1, groups = joined ? c.joined_groups : p.groups;
    const Dimension channels{out, all_in}, positions{taps(p), all_in * all_out};
    const Dimension group{groups, joined ? in + out * all_in : part / p.groups};
    for (int64_t i = 0; i < steps; i++)
        add(in, i * (part / p.groups), channels_last ? positions : channels, channels_last ? channels : positions, group,
            View(c.written, i * groups * in * out * taps(p), {out * taps(p), in, groups}, c.weight_format.type));
}

}  // namespace conv_transpose

#endif
