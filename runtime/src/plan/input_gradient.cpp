// The input gradient: how its kernels are called.
#include "plan/gradient_views.h"
#include "plan/planned_operation.h"
#include "plan/reduction_parts.h"
#include "choice/registry.h"
#include "plan/weight_packing.h"

namespace conv_transpose {

namespace {

class InputGradientOperation : public PlannedOperation {
  public:
    InputGradientOperation(const Problem &problem, const KernelTraits &kernel)
        : parts_(kernel, problem),
          p_(parts_.with_groups(problem)),
          kernel_(kernel),
          weights_(kernel, plane_of(p_, &Axis::kernel), p_.in_channels, p_.out_channels, p_.groups,
                   parts_.needed() ? WeightOrder::transposed_parts : WeightOrder::transposed),
          chunks_(LaunchChunks::on_one_grid_axis(p_)),
          x_{int32_t(p_.width().kernel), int32_t(p_.width().stride), int32_t(p_.width().dilation)},
          y_{int32_t(p_.height().kernel), int32_t(p_.height().stride), int32_t(p_.height().dilation)} {}

    size_t workspace_bytes(bool with_packed_weight) const noexcept override {
        return parts_.bytes() + (with_packed_weight ? 0 : packed_weight_bytes());
    }

    size_t packed_weight_bytes() const noexcept override { return weights_.bytes(); }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.output_gradient) return "output_gradient";
        if (!weights_.has_weight(a)) return "weight";
        return a.input_gradient ? nullptr : "input_gradient";
    }

    Status pack_weight(const void *weight, void *packed, RunContext &context) const noexcept override {
        return weights_.pack(floats(weight), packed, context);
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        const float *weight = nullptr;
        if (Status s = weights_.prepare(arguments, workspace, context, weight); !s.ok()) return s;
        float *parts = static_cast<float *>(workspace);
        if (weight == parts) parts += weights_.bytes() / sizeof(float);
        const Status computed = chunks_.for_each_slice(p_, context, [&](const LaunchSlice &slice) {
            return launch(arguments, weight, parts, slice, context);
        });
        if (!computed.ok() || !parts_.needed()) return computed;
        return parts_.add(parts, nullptr, 0, 1, floats(arguments.input_gradient), context);
    }

  private:
    const ReductionParts parts_;
    const Problem p_;  // as the kernel sees it: with a group for each part
    const KernelTraits &kernel_;
    const WeightPacking weights_;
    const LaunchChunks chunks_;
    const StridedAxisArguments x_, y_;

    Status launch(const Arguments &a, const float *weight, float *parts, const LaunchSlice &slice,
                  RunContext &context) const noexcept {
        GradientViews views(p_, kernel_.device, slice, floats(a.input_gradient), floats(a.output_gradient));
        const int64_t channels = p_.in_channels / p_.groups, image = channels * input_positions(p_);
        TensorView<5> part(parts + slice.first_image * image + slice.first_group * parts_.elements(), kernel_.device,
                           {p_.width().input, p_.height().input, channels, slice.groups, slice.images});
        part.set_stride(3, parts_.elements()), part.set_stride(4, image);
        TensorView<5> w(weight + slice.first_group * weights_.group_elements(), kernel_.device,
                        weights_.extents(slice.groups));
        void *user_context = &context;
        void *args[] = {&user_context,       views.output(),      w.buffer(),
                        argument(x_.kernel), argument(x_.stride), argument(x_.dilation),
                        argument(y_.kernel), argument(y_.stride), argument(y_.dilation),
                        parts_.needed() ? part.buffer() : views.input()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_input_gradient(const Problem &problem, const KernelTraits &kernel) {
    return std::make_unique<InputGradientOperation>(problem, kernel);
}

}  // namespace conv_transpose
