// The weight gradient as a recipe, for implicit products: of pictures in channels_first as they lie, or of pictures with
// channels innermost, where what does not lie so is packed before.
#include "choice/kernel_properties.h"
#include "choice/registry.h"
#include "choice/weight_gradient_parts.h"
#include "plan/builders.h"
#include "plan/packed_rows.h"
#include "plan/row_packing.h"
#include "plan/strided_axes.h"
#include "plan/sum_of_products.h"
#include "plan/turned_pictures.h"

namespace conv_transpose {

namespace {

class ImplicitGemmRecipe {
  public:
    explicit ImplicitGemmRecipe(const Candidate &candidate)
        : k_(candidate.kernel),
          recipe_(k_.device),
          turned_(recipe_, k_.device, candidate.computation),
          cut_(c_, k_),
          rows_(k_, c_),
          input_(tensor(c_.read, c_.read_format, p_.in_channels, cut_.input_channels, cut_.packs_input,
                        cut_.input_elements, [](const Axis &a) { return a.input; }, p_)),
          output_(tensor(c_.gradient, c_.written_format, seen_.out_channels, cut_.output_channels, cut_.packs_output,
                         cut_.output_elements, [](const Axis &a) { return a.output(); }, seen_)),
          parts_(turns_result(k_, c_)
                     ? recipe_.add_region("weights by rows", bytes_of(c_.weight_format.type) * p_.weight_elements())
                 : k_.writes_result ? c_.written
                                    : recipe_.add_region("partial sums", sizeof(float) * cut_.count() * part_elements_)) {}

    Recipe make() && {
        recipe_.add_launches({p_.batch, cut_.images}, {1, 1}, [&](const LaunchRange &range) {
            std::vector<Step> steps;
            const View input = view(input_, range, steps);
            View output = view(output_, range, steps);
            for (int i = 0; i < max_rank; i++) output.set_min(i + 1, p_.axes[2 - i].padding);
            steps.push_back(product(range, input, output));
            return steps;
        });
        if (turns_result(k_, c_)) recipe_.add(turned_weights());
        if (!k_.writes_result) SumOfProducts(recipe_, k_, c_, parts_, cut_.count()).add();
        return std::move(recipe_);
    }

  private:
    // A tensor of the caller's, and how it is read.
    struct Tensor {
        Operand given, read;
        TensorFormat format;
        int64_t channels, read_channels;  ///< of a group, as given and as read
        bool packed;
        Extents size;
    };

    const KernelTraits &k_;
    Recipe recipe_;
    const TurnedPictures turned_;
    const Computation &c_ = turned_.seen();
    const Problem p_ = sums_runs(k_) ? *in_one_row(c_.problem) : c_.problem;
    const Problem seen_ = c_.by_lines.value_or(p_);  ///< of which the output gradient is
    const ChannelsLastParts cut_;
    const PackedRows rows_;
    const int64_t part_elements_ = part_stride(c_, k_);
    const Tensor input_, output_;
    const Operand parts_;

    template <class OfAxis>
    Tensor tensor(Operand given, TensorFormat format, int64_t channels, int64_t read_channels, bool packed, int64_t elements,
                  OfAxis size, const Problem &of) {
        const char *name = given == c_.read ? "packed input" : "packed output gradient";
        const Operand read = packed ? recipe_.add_region(name, bytes_of(format.type) * cut_.images * elements) : given;
        return {given, read, format, channels / p_.groups, read_channels, packed, innermost_first(of, max_rank, size)};
    }

    // (channel, x, y, z, group, image); adds the step that packs it.
    View view(const Tensor &t, const LaunchRange &range, std::vector<Step> &steps) const {
        if (sums_as_it_lies(k_)) return view_as_it_lies(t, range, steps);
        const int64_t positions = t.size[0] * t.size[1] * t.size[2];
        const int64_t channels = t.read_channels, pixel = channels * p_.groups;
        if (t.given == c_.gradient && rows_.needed()) {
            rows_.add_packing(steps, t.given, t.read, range);
        } else if (t.packed) {
            const int64_t given_pixel = t.channels * p_.groups;
            // Where nothing is filled up, the channels of all groups are those of one.
            const int64_t groups = t.channels == channels ? 1 : p_.groups, given = given_pixel / groups, filled = pixel / groups;
            const LaunchRange all_groups{range.first_image, range.images, 0, groups};
            View to(t.read, 0, {positions, filled, groups, range.images}, t.format.type);
            to.set_stride(0, pixel).set_stride(1, 1).set_stride(2, filled).set_stride(3, pixel * positions);
            steps.push_back(RowPacking(k_.device, t.format, filled, positions)
                                .step(pictures(t.given, {positions}, given, given_pixel, all_groups, t.format), to));
        }
        View read(t.read, t.packed ? 0 : range.first_image * pixel * positions,
                  {channels, t.size[0], t.size[1], t.size[2], p_.groups, range.images}, t.format.type);
        for (int64_t i = 0, stride = pixel; i < max_rank; stride *= t.size[i++]) read.set_stride(i + 1, stride);
        return read.set_stride(4, channels).set_stride(5, pixel * positions);
    }

    // Where what taps see is packed, the images of a row follow each other.
    View view_as_it_lies(const Tensor &t, const LaunchRange &range, std::vector<Step> &steps) const {
        const int64_t positions = t.size[0] * t.size[1] * t.size[2], all_channels = t.channels * p_.groups;
        if (t.packed) rows_.add_packing(steps, t.given, t.read, range);
        View read(t.read, t.packed ? 0 : range.first_image * all_channels * positions,
                  {t.channels, t.size[0], t.size[1], t.size[2], p_.groups, range.images}, t.format.type);
        for (int64_t i = 0, stride = 1; i < max_rank; stride *= t.size[i++]) read.set_stride(i + 1, stride);
        const int64_t channel = positions * (t.packed ? range.images : 1), image = t.packed ? 1 : all_channels;
        return read.set_stride(0, channel).set_stride(4, t.channels * channel).set_stride(5, image * positions);
    }

    Step turned_weights() const {
        const int64_t in = p_.in_channels / p_.groups, out = p_.out_channels / p_.groups, channels = turned_channels(p_);
        const int64_t of_input = out * taps(p_), of_tile = channels * taps(p_);
        View rows(parts_, 0, {taps(p_), out, p_.groups, in}, c_.weight_format.type);
        View weights(c_.written, 0, {of_tile, out / channels, p_.groups, in}, c_.weight_format.type);
        rows.set_stride(0, out).set_stride(1, 1).set_stride(2, in * of_input).set_stride(3, of_input);
        weights.set_stride(2, in * of_input).set_stride(3, of_input);
        const KernelTraits &turning = helper_kernel(KernelRole::channels_first_packing, k_.device, [&](const KernelTraits &k) {
            return moves_elements_of(k, c_.weight_format.type);
        });
        return Launch<Family::channel_packing>(turning).set("picture", rows).set("packed", weights).step();
    }

    Step product(const LaunchRange &range, const View &input, const View &output) const {
        const int64_t in = p_.in_channels / p_.groups, out = p_.out_channels / p_.groups;
        const int64_t slice = range.first_image / cut_.images;
        const ElementType type = k_.writes_result ? c_.weight_format.type : ElementType::float32;
        View to(parts_, slice * cut_.bands * part_elements_,
                {in, out, k_.tile_taps, ceil_divide(taps(p_), k_.tile_taps), p_.groups, cut_.bands}, type);
        to.set_stride(5, part_elements_);
        // Output channels are innermost in a result, kernel positions next.
        if (k_.writes_result)
            to.set_stride(0, out * taps(p_))
                .set_stride(1, 1)
                .set_stride(2, out)
                .set_stride(3, out * k_.tile_taps)
                .set_stride(5, 0);  // all parts are one
        auto launch = launch_with_axes<Family::weight_gradient_implicit_gemm>(k_, seen_);
        launch.set("input", input)
            .set("output_gradient", output)
            .set("band_positions", cut_.band_positions)
            .set("partial", to);
        if (k_.box_positions > 0)
            launch.add_map("input", input_map(k_, input)).add_map("output_gradient", output_gradient_map(k_, seen_, output));
        return launch.step();
    }
};

}  // namespace

Recipe weight_gradient_implicit_gemm_recipe(const Candidate &candidate) { return ImplicitGemmRecipe(candidate).make(); }

}  // namespace conv_transpose
