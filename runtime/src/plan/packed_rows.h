// Pictures are packed as rows of their channels, for kernels that read tensor maps (Computation::packed_rows): channels
// are innermost, each group's filled up with zeros. With by_taps the channels are what taps see.
#ifndef CONV_TRANSPOSE_RUNTIME_PACKED_ROWS_H
#define CONV_TRANSPOSE_RUNTIME_PACKED_ROWS_H

#include <optional>
#include <vector>

#include "choice/computation.h"
#include "choice/kernel_properties.h"
#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "plan/recipe.h"
#include "plan/row_packing.h"
#include "plan/strided_axes.h"

namespace conv_transpose {

class PackedRows {
  public:
    /// It packs the picture that is summed over; for weight gradients, the output gradient.
    PackedRows(const KernelTraits &kernel, const Computation &c)
        : c_(c),
          p_(c.problem_without_cells()),
          inputs_(c.cells ? c.cells->inputs : 1),
          format_(c.operation == Operation::weight_gradient ? c.written_format : c.read_format),
          rank_(kernel.rank),
          positions_innermost_(sums_as_it_lies(kernel)),
          given_channels_(c.operation == Operation::forward ? p_.in_channels : p_.out_channels),
          size_(innermost_first(p_, kernel.rank, [&](const Axis &a) {
              return c.operation == Operation::forward ? a.input : a.output();
          })) {
        if (!c.packed_rows) return;
        channels_ = positions_innermost_ ? p_.out_channels : packed_row_channels(kernel, c) / inputs_;
        if (!c.by_taps) {
            rows_.emplace(kernel.device, format_, channels_, positions());
            return;
        }
        tap_packing_ = &helper_kernel(KernelRole::tap_packing, kernel.device, [&](const KernelTraits &k) {
            return moves_elements_of(k, format_.type) && c.by_taps->rank <= k.rank &&
                   k.positions_innermost == positions_innermost_ &&
                   (k.max_out_channels == 0 || channels_ <= k.max_out_channels);
        });
    }

    bool needed() const { return rows_ || tap_packing_; }
    /// One group of an image has so many.
    int64_t elements() const { return channels_ * positions(); }

    /// As (x, y, z, channel, group, image), of cells where inputs are.
    View add_packing(std::vector<Step> &steps, Operand read, Operand packed, const LaunchRange &range) const {
        const int64_t pixel = channels_ * range.groups;
        steps.push_back(c_.by_taps ? packing_of_taps(read, packed, range) : packing_of_channels(read, packed, range));

        Extents extents = size_;
        extents[0] /= inputs_;
        extents.insert(extents.end(), {inputs_ * channels_, range.groups, range.images});
        View all(packed, 0, extents, format_.type);
        for (int64_t i = 0, stride = inputs_ * pixel; i < rank_; stride *= extents[i++]) all.set_stride(i, stride);
        return all.set_stride(rank_, 1).set_stride(rank_ + 1, channels_).set_stride(rank_ + 2, pixel * positions());
    }

  private:
    const Computation &c_;
    const Problem &p_;
    const int64_t inputs_;  // of a cell
    const TensorFormat format_;
    const int rank_;
    const bool positions_innermost_;
    const int64_t given_channels_;  // of all groups
    const Extents size_;  // innermost first
    std::optional<RowPacking> rows_;
    const KernelTraits *tap_packing_ = nullptr;
    int64_t channels_ = 0;  // of a group

    int64_t positions() const { return product(size_); }

    Step packing_of_channels(Operand read, Operand packed, const LaunchRange &range) const {
        const int64_t given = given_channels_ / p_.groups, pixel = channels_ * range.groups;
        View to(packed, 0, {positions(), channels_, range.groups, range.images}, format_.type);
        to.set_stride(0, pixel).set_stride(1, 1).set_stride(2, channels_).set_stride(3, pixel * positions());
        return rows_->step(pictures(read, {positions()}, given, given_channels_, range, format_), to);
    }

    // Groups that are parts of a sum are runs of one row.
    Step packing_of_taps(Operand read, Operand packed, const LaunchRange &range) const {
        const Problem seen = *c_.by_taps;
        LaunchRange seen_range = range;
        const bool parts = c_.parts_in_groups() > 1;
        if (parts) seen_range.first_group = 0, seen_range.groups = 1;
        const int64_t pixel = channels_ * range.groups, row = parts ? pixel : channels_;
        View rows(packed, 0, {positions() * range.images, row, seen_range.groups}, format_.type);
        if (!positions_innermost_) rows.set_stride(0, pixel).set_stride(1, 1).set_stride(2, row);
        return launch_with_axes<Family::tap_packing>(*tap_packing_, seen)
            .set("picture", padded_output_pictures(read, seen, tap_packing_->rank, seen_range, format_))
            .set_axes("cells", seen, [](const Axis &a) { return a.input; })
            .set("channels_fastest", int64_t{channels_innermost(c_.weight_format)})
            .set("packed", rows)
            .step();
    }
};

}  // namespace conv_transpose

#endif
