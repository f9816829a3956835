// Where the parts of a split sum lie (partial_sums.h), and the step that adds them.
#ifndef CONV_TRANSPOSE_RUNTIME_PARTIAL_OUTPUTS_H
#define CONV_TRANSPOSE_RUNTIME_PARTIAL_OUTPUTS_H

#include "choice/computation.h"
#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "plan/epilogue_arguments.h"
#include "plan/recipe.h"
#include "problem/counting.h"

namespace conv_transpose {

class PartialOutputs {
  public:
    /// Adds the region of the parts, if the sum is split.
    PartialOutputs(Recipe &recipe, const Computation &c, const KernelTraits &kernel)
        : c_(c), layout_((kernel.operation == Operation::forward ? kernel.output : kernel.input).layout),
          channels_(c.result_channels()), in_clusters_(kernel.adds_in_clusters) {
        if (!needed()) return;
        // With few outputs, blocks that turn them would leave a machine idle, with few channels most of their lanes: lanes store
        // them one by one.
        constexpr int64_t fills_machine = 1 << 17, least_channels = 16;
        const bool turned = channels_innermost(layout_) && !channels_innermost(c.written_format) && channels_ >= least_channels &&
                            c.problem.batch * plane() * channels_ >= fills_machine;
        sum_ = &helper_kernel(KernelRole::sum_of_output_parts, kernel.device, [&](const KernelTraits &k) {
            return k.output.type == c.written_format.type && channels_innermost(k.input) == turned;
        });
        // Whole rows of 16 bytes are stored, whatever the number of channels is.
        if (kernel.box_positions > 0 && channels_innermost(layout_) && !kernel.stores_single_channels)
            channels_ = round_up(channels_, 16 / bytes_of(c.read_format.type));
        region_ = recipe.add_region("partial sums", sizeof(float) * c.problem.batch * image());
    }

    bool needed() const { return c_.partial_sums > 1 && !in_clusters_; }

    /// What a kernel takes whose clusters add the parts: the same tensor for all of them, as groups.
    View same_for_all_parts(View view, int dimension) const {
        return in_clusters_ ? view.repeat(dimension, c_.partial_sums) : view;
    }

    /// The kernel's result: a part for each of the problem's groups, or after the other so many times all of them. Images are
    /// outside.
    template <class OfAxis>
    View view(const Problem &p, int rank, OfAxis extent, const LaunchRange &range) const {
        const int64_t groups = c_.parts_of_steps ? p.groups : 1, channels = channels_ / groups;
        const int64_t of_group = plane() * channels;
        Extents extents = innermost_first(p, rank, extent);
        extents.insert(extents.end(), {channels, range.groups * (c_.parts_of_steps ? c_.partial_sums : 1), range.images});
        View part(region_, range.first_image * image() + range.first_group * of_group, extents);
        return part.set_layout(layout_, channels, rank).set_stride(rank + 1, of_group).set_stride(rank + 2, image());
    }

    /// `float32_bias` where the epilogue has one.
    void add_sum(Recipe &recipe, const EpilogueArguments &epilogue, Operand float32_bias = Operand::bias) const {
        if (!needed()) return;
        const int64_t channels = c_.result_channels(), images = c_.problem.batch;
        // Without a bias the kernel discards what it reads there; a part has at least as many elements.
        const View bias(epilogue.has_bias() ? float32_bias : region_, 0, {epilogue.bias_elements(channels)});
        View partial(region_, 0, {plane(), channels, images, c_.partial_sums});
        partial.set_layout(layout_, channels_).set_stride(2, image()).set_stride(3, plane() * channels_);
        View output(c_.written, 0, {plane(), channels, images}, c_.written_format.type);
        output.set_layout(c_.written_format.layout, channels);
        recipe.add(Launch<Family::sum_of_output_parts>(*sum_)
                       .set("partial", partial)
                       .set("bias", bias)
                       .set("has_bias", epilogue.bias_kind())
                       .set("activation", epilogue.activation)
                       .set("slope", epilogue.slope)
                       .set("output", output)
                       .step());
    }

  private:
    const Computation &c_;
    const KernelTraits *sum_ = nullptr;
    Operand region_{};

    Layout layout_;  // of parts
    int64_t channels_;  // likewise
    bool in_clusters_;
    int64_t plane() const {
        return c_.operation == Operation::forward ? output_positions(c_.problem) : input_positions(c_.problem);
    }
    /// Elements of an image's parts.
    int64_t image() const { return plane() * channels_ * c_.partial_sums; }
};

}  // namespace conv_transpose

#endif
