// The input gradient: how its kernels are called.
#include "gradient_views.h"
#include "planned_operation.h"
#include "registry.h"
#include "weight_packing.h"

namespace conv_transpose {

namespace {

class InputGradientOperation : public PlannedOperation {
  public:
    InputGradientOperation(const Problem &problem, const KernelTraits &kernel)
        : p_(problem),
          kernel_(kernel),
          weights_(kernel, problem.kernel, problem.in_channels, problem.out_channels, problem.groups,
                   WeightOrder::transposed),
          chunks_(LaunchChunks::on_one_grid_axis(problem)),
          x_{int32_t(p_.kernel.width), int32_t(p_.stride.width), int32_t(p_.dilation.width)},
          y_{int32_t(p_.kernel.height), int32_t(p_.stride.height), int32_t(p_.dilation.height)} {}

    size_t workspace_bytes(bool with_packed_weight) const noexcept override {
        return with_packed_weight ? 0 : packed_weight_bytes();
    }

    size_t packed_weight_bytes() const noexcept override { return weights_.bytes(); }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.output_gradient) return "output_gradient";
        if (!weights_.has_weight(a)) return "weight";
        return a.input_gradient ? nullptr : "input_gradient";
    }

    Status pack_weight(const float *weight, void *packed, RunContext &context) const noexcept override {
        return weights_.pack(weight, packed, context);
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        const float *weight = nullptr;
        if (Status s = weights_.prepare(arguments, workspace, context, weight); !s.ok()) return s;
        return chunks_.for_each_slice(p_, context, [&](const LaunchSlice &slice) {
            return launch(arguments, weight, slice, context);
        });
    }

  private:
    const Problem p_;
    const KernelTraits &kernel_;
    const WeightPacking weights_;
    const LaunchChunks chunks_;
    const StridedAxisArguments x_, y_;

    Status launch(const Arguments &a, const float *weight, const LaunchSlice &slice,
                  RunContext &context) const noexcept {
        GradientViews views(p_, kernel_.device, slice, a.input_gradient, a.output_gradient);
        TensorView<5> w(weight + slice.first_group * weights_.group_elements(), kernel_.device,
                        weights_.extents(slice.groups));
        void *user_context = &context;
        void *args[] = {&user_context,       views.output(),      w.buffer(),
                        argument(x_.kernel), argument(x_.stride), argument(x_.dilation),
                        argument(y_.kernel), argument(y_.stride), argument(y_.dilation),
                        views.input()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_input_gradient(const Problem &problem, const KernelTraits &kernel) {
    return std::make_unique<InputGradientOperation>(problem, kernel);
}

}  // namespace conv_transpose
