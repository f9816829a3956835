// The weight gradient: how its kernels are called.
#include "plan/gradient_views.h"
#include "plan/planned_operation.h"
#include "choice/registry.h"
#include "plan/sum_of_parts.h"
#include "plan/weight_gradient_parts.h"

namespace conv_transpose {

namespace {

class WeightGradientOperation : public PlannedOperation {
  public:
    WeightGradientOperation(const Problem &problem, const KernelTraits &kernel)
        : p_(problem), kernel_(kernel), chunks_(problem), parts_(problem, kernel, chunks_.batch),
          sum_(kernel.device, problem.weight_elements(),
               parts_.count(problem)),
          x_{int32_t(p_.width().kernel), int32_t(p_.width().stride), int32_t(p_.width().dilation)},
          y_{int32_t(p_.height().kernel), int32_t(p_.height().stride), int32_t(p_.height().dilation)} {
        // A launch has whole parts. Kernels put (group, band) on one axis of the grid and the parts of the
        // batch on another.
        chunks_.batch = std::min(chunks_.batch / parts_.images_a_part, max_grid()) * parts_.images_a_part;
        chunks_.groups = std::clamp<int64_t>(max_grid() / parts_.bands, 1, chunks_.groups);
    }

    size_t workspace_bytes(bool) const noexcept override { return sum_.workspace_bytes(); }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.input && p_.batch > 0) return "input";
        if (!a.output_gradient && p_.batch > 0) return "output_gradient";
        return a.weight_gradient ? nullptr : "weight_gradient";
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        float *partial = sum_.needed() ? floats(workspace) : floats(arguments.weight_gradient);
        // Once for a batch of 0 as well, where the sum is 0.
        int64_t n = 0;
        do {
            for (int64_t g = 0; g < p_.groups; g += chunks_.groups) {
                const LaunchSlice slice{n, std::min(chunks_.batch, p_.batch - n), g,
                                        std::min(chunks_.groups, p_.groups - g)};
                if (Status s = launch(arguments, partial, slice, context); !s.ok()) return s;
                if (context.rehearsal) break;
            }
            n += chunks_.batch;
        } while (n < p_.batch && !context.rehearsal);
        return sum_.needed() ? sum_.run(partial, floats(arguments.weight_gradient), context) : Status();
    }

  private:
    const Problem p_;
    const KernelTraits &kernel_;
    LaunchChunks chunks_;
    const WeightGradientParts parts_;
    const SumOfParts sum_;
    const StridedAxisArguments x_, y_;

    Status launch(const Arguments &a, float *partial, const LaunchSlice &slice, RunContext &context) const noexcept {
        // Nothing is read of an empty batch, but a view needs an address.
        const float *nothing = floats(a.weight_gradient);
        GradientViews views(p_, kernel_.device, slice, p_.batch ? floats(a.input) : nothing,
                            p_.batch ? floats(a.output_gradient) : nothing);

        const int64_t in = p_.in_channels / p_.groups, out = p_.out_channels / p_.groups;
        const int64_t group_weights = taps(p_) * out * in;
        const int64_t first_part = slice.first_image / parts_.images_a_part * parts_.bands;
        const int64_t image_parts = parts_.of_images(slice.images);
        TensorView<7> to(
            partial + first_part * p_.weight_elements() + slice.first_group * group_weights, kernel_.device,
            {p_.width().kernel, p_.height().kernel, out, in, slice.groups, parts_.bands, image_parts});
        if (parts_.bands > 1) to.set_stride(5, p_.weight_elements());
        if (image_parts > 1) to.set_stride(6, p_.weight_elements() * parts_.bands);

        const int32_t batch = slice.images, rows_a_band = parts_.rows_a_band, images_a_part = parts_.images_a_part;
        void *user_context = &context;
        void *args[] = {&user_context, views.input(), views.output(), argument(batch), argument(rows_a_band),
                        argument(images_a_part), argument(x_.kernel), argument(x_.stride), argument(x_.dilation),
                        argument(y_.kernel), argument(y_.stride), argument(y_.dilation), to.buffer()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_weight_gradient(const Problem &problem, const KernelTraits &kernel) {
    return std::make_unique<WeightGradientOperation>(problem, kernel);
}

}  // namespace conv_transpose
