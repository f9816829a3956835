// The weight gradient as a matrix product: how its operands are packed, and how its kernels are called.
#include "plan/launch_chunks.h"
#include "plan/planned_operation.h"
#include "choice/registry.h"
#include "plan/tensor_view.h"
#include "plan/weight_gradient_parts.h"

namespace conv_transpose {

namespace {

// Where operands and parts of the sum lie in the workspace, in floats.
constexpr int64_t alignment = 64;
int64_t aligned(int64_t elements) { return round_up(elements, alignment); }

const KernelTraits &needed(const KernelTraits *kernel, const char *what) {
    if (!kernel) throw Unsupported(std::string("this build has no kernel that ") + what);
    return *kernel;
}

class WeightGradientProductOperation : public PlannedOperation {
  public:
    WeightGradientProductOperation(const Problem &problem, const KernelTraits &kernel)
        : p_(problem),
          kernel_(kernel),
          packing_(needed(picture_packing_kernel(kernel.precision, kernel.device), "packs pictures")),
          summing_(needed(kernel_of_role(KernelRole::weight_gradient_sum, kernel.device), "adds the parts of a weight gradient")),
          packed_(problem),
          cut_(problem, kernel, packed_),
          part_elements_(packed_part_elements(problem, kernel)),
          output_at_(aligned(cut_.fours * packed_.input_elements(problem, kernel))),
          parts_at_(output_at_ + aligned(cut_.fours * packed_.output_elements(problem, kernel))) {}

    size_t workspace_bytes(bool) const noexcept override {
        return sizeof(float) * (parts_at_ + cut_.count() * part_elements_);
    }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.input) return "input";
        if (!a.output_gradient) return "output_gradient";
        return a.weight_gradient ? nullptr : "weight_gradient";
    }

    Status run(const Arguments &a, void *workspace, RunContext &context) const noexcept override {
        float *input = static_cast<float *>(workspace);
        float *output = input + output_at_, *parts = input + parts_at_;
        for (int64_t slice = 0; slice < cut_.slices; slice++) {
            const int64_t first = slice * cut_.fours, fours = std::min(cut_.fours, packed_.fours - first);
            const Picture in{p_.in_channels, plane_of(p_, &Axis::input), {0, 0}, packed_.input, packed_.input.height};
            const Picture out{p_.out_channels, output_plane(p_), plane_of(p_, &Axis::padding), packed_.output,
                              packed_.input.height * p_.height().stride};
            float *to = parts + slice * cut_.bands * part_elements_;
            if (Status s = pack(in, floats(a.input), input, first, fours, context); !s.ok()) return s;
            if (Status s = pack(out, floats(a.output_gradient), output, first, fours, context); !s.ok()) return s;
            if (Status s = multiply(input, output, to, fours, context); !s.ok()) return s;
            if (context.rehearsal) break;
        }
        return sum(parts, floats(a.weight_gradient), context);
    }

  private:
    const Problem p_;
    const KernelTraits &kernel_, &packing_, &summing_;
    const PackedPictures packed_;
    const PackedPictureParts cut_;
    const int64_t part_elements_;
    const int64_t output_at_, parts_at_;

    /// A tensor and how it is packed.
    struct Picture {
        int64_t channels;
        Size2 size, padding, packed;
        int64_t strip_rows;
    };

    int64_t parts() const noexcept { return kernel_.precision == Precision::tf32x3 ? 2 : 1; }
    int64_t in() const noexcept { return p_.in_channels / p_.groups; }
    int64_t out() const noexcept { return p_.out_channels / p_.groups; }
    int64_t taps() const noexcept { return conv_transpose::taps(p_); }

    Status pack(const Picture &t, const float *tensor, float *packed, int64_t first, int64_t fours,
                RunContext &context) const noexcept {
        const int64_t first_image = 4 * first / packed_.strips();
        const int64_t images = std::min(packed_.images(fours), p_.batch - first_image);
        TensorView<4> from(tensor + first_image * t.channels * area(t.size), kernel_.device,
                           {t.size.width, t.size.height, t.channels, images});
        from.set_min(0, t.padding.width);
        from.set_min(1, t.padding.height);
        TensorView<4> to(packed, kernel_.device, {4, t.channels, area(t.packed) * fours, parts()});
        const int32_t positions = area(t.packed), columns = t.packed.width, strip_rows = t.strip_rows;
        const int32_t strip_bits = packed_.strip_bits;
        const int32_t first_picture = 4 * first % packed_.strips();
        void *user_context = &context;
        void *args[] = {&user_context,           from.buffer(),        argument(positions),  argument(columns),
                        argument(first_picture), argument(strip_bits), argument(strip_rows), to.buffer()};
        return call(packing_, args, context);
    }

    Status multiply(const float *input, const float *output, float *partial, int64_t fours,
                    RunContext &context) const noexcept {
        TensorView<5> input_view(input, kernel_.device,
                                 {4, in(), p_.groups, area(packed_.input) * fours, parts()});
        TensorView<6> output_view(output, kernel_.device,
                                  {4, out(), p_.groups, area(packed_.output), fours, parts()});
        const int64_t tap_tiles = ceil_divide(taps(), kernel_.tile_taps);
        TensorView<6> to(partial, kernel_.device,
                         {in(), out(), kernel_.tile_taps, tap_tiles, p_.groups, cut_.bands});
        const int32_t columns = packed_.input.width, rows = packed_.input.height;
        const int32_t output_columns = packed_.output.width, band_positions = cut_.band_positions;
        const int32_t kernel_w = p_.width().kernel, kernel_h = p_.height().kernel;
        const int32_t stride_w = p_.width().stride, dilation_w = p_.width().dilation;
        const int32_t stride_h = p_.height().stride, dilation_h = p_.height().dilation;
        void *user_context = &context;
        void *args[] = {&user_context, input_view.buffer(), output_view.buffer(), argument(columns),
                        argument(rows), argument(output_columns), argument(band_positions), argument(kernel_w),
                        argument(stride_w), argument(dilation_w), argument(kernel_h), argument(stride_h),
                        argument(dilation_h), to.buffer()};
        return call(kernel_, args, context);
    }

    Status sum(const float *parts, float *weights, RunContext &context) const noexcept {
        TensorView<5> from(parts, kernel_.device, {in(), out(), taps(), p_.groups, cut_.count()});
        from.set_stride(3, part_elements_ / p_.groups);
        from.set_stride(4, part_elements_);
        TensorView<3> to(weights, kernel_.device, {out() * taps(), in(), p_.groups});
        void *user_context = &context;
        void *args[] = {&user_context, from.buffer(), to.buffer()};
        return call(summing_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_weight_gradient_product(const Problem &problem,
                                                               const KernelTraits &kernel) {
    return std::make_unique<WeightGradientProductOperation>(problem, kernel);
}

}  // namespace conv_transpose
