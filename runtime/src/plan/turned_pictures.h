// Pictures that lie in another layout than a kernel reads and writes: the steps that turn them, and the regions between.
#ifndef CONV_TRANSPOSE_RUNTIME_TURNED_PICTURES_H
#define CONV_TRANSPOSE_RUNTIME_TURNED_PICTURES_H

#include "choice/computation.h"
#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "plan/recipe.h"
#include "plan/row_packing.h"

namespace conv_transpose {

/// The step that turns some images: (inner, outer, 1, image) of both; what is innermost in `to` is outermost in `from`.
inline Step turning_step(Device device, View from, View to) {
    const int64_t inner = to.dimensions()[0].extent, outer = to.dimensions()[1].extent;
    Launch<Family::channel_packing> launch(helper_kernel(
        KernelRole::picture_turning, device, [&](const KernelTraits &k) { return moves_elements_of(k, to.type()); }));
    const KernelTraits &aligned = aligned_packing(device, to.type());
    if (inner % aligned.aligned_positions == 0 && outer % aligned.aligned_positions == 0) launch.set_where_aligned(aligned);
    from.set_stride(0, outer).set_stride(1, 1);
    return launch.set("picture", from.exchange(0, 1)).set("packed", to.exchange(0, 1)).step();
}

class TurnedPictures {
  public:
    /// Adds the steps that turn what is read.
    TurnedPictures(Recipe &recipe, Device device, const Computation &c) : device_(device), given_(c), seen_(c) {
        const bool reads_both = c.operation == Operation::weight_gradient;
        if (is_turned(c.read_turned)) seen_.read = turned(recipe, *c.read_turned, c.read, c.read_format);
        if (!is_turned(c.written_turned)) return;
        if (reads_both) seen_.gradient = turned(recipe, *c.written_turned, c.gradient, c.written_format);
        else seen_.written = region(recipe, *c.written_turned, c.written_format);
    }

    /// The computation on these regions.
    const Computation &seen() const { return seen_; }

    void turn_result(Recipe &recipe) const {
        if (seen_.written == given_.written) return;
        turn(recipe, *given_.written_turned, seen_.written, given_.written, in_other_layout(given_.written_format));
    }

  private:
    const Device device_;
    const Computation given_;
    Computation seen_;

    static bool is_turned(const std::optional<TurnedPicture> &picture) { return picture && picture->lies_otherwise(); }

    static Operand region(Recipe &recipe, const TurnedPicture &picture, TensorFormat format) {
        return recipe.add_region("turned picture", bytes_of(format.type) * picture.elements());
    }

    Operand turned(Recipe &recipe, const TurnedPicture &picture, Operand from, TensorFormat wanted) const {
        const Operand to = region(recipe, picture, wanted);
        turn(recipe, picture, from, to, wanted);
        return to;
    }

    // What is innermost on one side is not on the other. Groups are channels of one picture.
    void turn(Recipe &recipe, const TurnedPicture &picture, Operand from, Operand to, TensorFormat wanted) const {
        const int64_t inner = channels_innermost(wanted) ? picture.channels : picture.positions;
        const int64_t of_image = picture.channels * picture.positions;
        const int64_t most = std::min(most_a_launch(picture.images, of_image), max_grid());
        recipe.add_launches({picture.images, most}, {1, 1}, [&](const LaunchRange &range) {
            const Extents extents{inner, of_image / inner, 1, range.images};
            const int64_t first = range.first_image * of_image;
            const View read(from, first, extents, wanted.type), written(to, first, extents, wanted.type);
            return std::vector{turning_step(device_, read, written)};
        });
    }
};

}  // namespace conv_transpose

#endif
