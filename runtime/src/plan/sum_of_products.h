// The last pass of weight gradients that are matrix products: their parts are added, rounded, and turned into the order of
// the weights (generators/weight_gradient_sum.cpp).
#ifndef CONV_TRANSPOSE_RUNTIME_SUM_OF_PRODUCTS_H
#define CONV_TRANSPOSE_RUNTIME_SUM_OF_PRODUCTS_H

#include "choice/computation.h"
#include "choice/registry.h"
#include "choice/weight_gradient_parts.h"
#include "plan/recipe.h"

namespace conv_transpose {

class SumOfProducts {
  public:
    /// `parts` are `count` of (input channel, output channel, kernel position, group), of whole tiles of kernel positions.
    SumOfProducts(Recipe &recipe, const KernelTraits &k, const Computation &c, Operand parts, int64_t count)
        : recipe_(recipe), c_(c), parts_(parts), added_(count * shares_), part_(part_stride(c, k)),
          kernel_(helper_kernel(KernelRole::weight_gradient_sum, k.device, [&](const KernelTraits &helper) {
              return helper.weight.type == c.weight_format.type && helper.sums_in_order == in_order();
          })) {}

    void add() const { c_.by_taps ? add_taps() : add_channels(); }

  private:
    // A dimension of the parts, and what one of its own is among others; weights are rows of columns.
    struct Dimension {
        int64_t extent, stride;
    };

    Recipe &recipe_;
    const Computation &c_;
    const Problem &p_ = c_.problem;
    const Operand parts_;
    const int64_t shares_ = c_.joined_positions;  // of what a part adds
    const int64_t added_, part_;
    const KernelTraits &kernel_;
    const int64_t all_in_ = p_.in_channels / p_.groups, all_out_ = p_.out_channels / p_.groups;
    const bool channels_last_ = channels_innermost(c_.weight_format);

    // Few weights of many parts are shared out among more threads. As measured, both ways take about as long for four parts of
    // each weight in order as, on all that an H200 runs at a time, for 64 parts of 128 weights a block.
    bool in_order() const {
        const int64_t weights = p_.weight_elements() / (c_.joined_groups * shares_ * shares_);
        return ceil_divide(added_, 4) <= ceil_divide(weights, 264 * 128) * ceil_divide(added_, 64);
    }

    void add_step(int64_t in, int64_t first, Dimension row, Dimension column, Dimension group, const View &to) const {
        View from(parts_, first, {in, row.extent, column.extent, group.extent, added_});
        from.set_stride(1, row.stride).set_stride(2, column.stride).set_stride(3, group.stride).set_stride(4, part_ / shares_);
        recipe_.add(Launch<Family::weight_gradient_sum>(kernel_).set("partial", from).set("sum", to).step());
    }

    // Rows are whole strides of the kernel, then what is left of it.
    void add_taps() const {
        const int64_t cell = product_of_axes(*c_.by_taps, [](const Axis &a) { return a.kernel; });
        add_rows(cell, 0, c_.kernel_positions / cell, cell);
        add_rows(cell, c_.kernel_positions / cell, 1, c_.kernel_positions % cell);
    }
    void add_rows(int64_t cell, int64_t first, int64_t rows, int64_t in_row) const {
        if (rows * in_row == 0) return;
        const int64_t channels = all_out_ / cell, positions = c_.kernel_positions, place = first * cell;
        const int64_t first_part = first * all_in_ * all_out_;
        const Dimension row{rows, all_in_ * all_out_};
        if (channels_last_) {
            View to(c_.written, place * channels, {rows * in_row * channels, all_in_, 1}, c_.weight_format.type);
            return add_step(all_in_, first_part, row, {in_row * channels, all_in_}, {1, part_},
                            to.set_stride(1, positions * channels));
        }
        View to(c_.written, place, {rows * in_row, all_in_, channels}, c_.weight_format.type);
        add_step(all_in_, first_part, row, {in_row, all_in_}, {channels, cell * all_in_},
                 to.set_stride(1, positions * channels).set_stride(2, positions));
    }

    void add_channels() const {
        const int64_t in = all_in_ / (c_.joined_groups * shares_), out = all_out_ / (c_.joined_groups * shares_);
        const bool joined = c_.joined_groups > 1;
        // A step has the weights of one of joined groups, which lie along a diagonal.
        const int64_t steps = joined ? p_.groups : 1, groups = joined ? c_.joined_groups : p_.groups;
        const Dimension channels{out, all_in_}, positions{taps(p_), all_in_ * all_out_};
        const Dimension group{groups, joined ? in + out * all_in_ : part_ / p_.groups};
        for (int64_t i = 0; i < steps; i++)
            add_step(in, i * (part_ / p_.groups), channels_last_ ? positions : channels,
                     channels_last_ ? channels : positions, group,
                     View(c_.written, i * groups * in * out * taps(p_), {out * taps(p_), in, groups}, c_.weight_format.type));
    }
};

}  // namespace conv_transpose

#endif
