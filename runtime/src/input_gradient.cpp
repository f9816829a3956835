// The input gradient: how its kernels are called.
#include "gradient_views.h"
#include "planned_operation.h"
#include "registry.h"

namespace conv_transpose {

namespace {

class InputGradientOperation : public PlannedOperation {
  public:
    InputGradientOperation(const Problem &problem, const KernelTraits &kernel)
        : p_(problem), kernel_(kernel), chunks_(problem), in_channels_(problem.in_channels / problem.groups),
          out_channels_(problem.out_channels / problem.groups),
          x_{int32_t(p_.kernel.width), int32_t(p_.stride.width), int32_t(p_.dilation.width)},
          y_{int32_t(p_.kernel.height), int32_t(p_.stride.height), int32_t(p_.dilation.height)} {
        // Kernels put (group, batch) on one axis of the grid.
        chunks_.batch = std::min(chunks_.batch, std::max<int64_t>(max_grid / chunks_.groups, 1));
        if (kernel.weight_layout == WeightLayout::as_given) return;
        packing_ = weight_packing_kernel(kernel.weight_layout, kernel.device);
        if (!packing_) throw Unsupported("this build has no kernel that packs weights for " + std::string(kernel.name));
        const int64_t m = kernel.weight_channel_multiple;
        packed_channels_ = (in_channels_ + m - 1) / m * m;
    }

    size_t workspace_bytes(bool with_packed_weight) const noexcept override {
        return with_packed_weight ? 0 : packed_weight_bytes();
    }

    size_t packed_weight_bytes() const noexcept override {
        if (!packing_) return 0;
        return sizeof(float) * packed_channels_ * p_.kernel.height * p_.kernel.width * p_.out_channels;
    }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.output_gradient) return "output_gradient";
        if (!a.weight && !(packing_ && a.packed_weight)) return "weight";
        return a.input_gradient ? nullptr : "input_gradient";
    }

    Status pack_weight(const float *weight, void *packed, RunContext &context) const noexcept override {
        TensorView<5> from(weight, kernel_.device, weight_extents());
        TensorView<5> to(static_cast<float *>(packed), kernel_.device, packed_extents());
        void *user_context = &context;
        void *args[] = {&user_context, from.buffer(), to.buffer()};
        return call(*packing_, args, context);
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        const float *weight = arguments.weight;
        if (packing_) {
            weight = static_cast<const float *>(arguments.packed_weight);
            if (!weight) {
                if (Status s = pack_weight(arguments.weight, workspace, context); !s.ok()) return s;
                weight = static_cast<const float *>(workspace);
            }
        }
        for (int64_t n = 0; n < p_.batch; n += chunks_.batch)
            for (int64_t g = 0; g < p_.groups; g += chunks_.groups) {
                const LaunchSlice slice{n, std::min(chunks_.batch, p_.batch - n), g, std::min(chunks_.groups, p_.groups - g)};
                if (Status s = launch(arguments, weight, slice, context); !s.ok()) return s;
                if (context.rehearsal) return {};
            }
        return {};
    }

  private:
    const Problem p_;
    const KernelTraits &kernel_;
    const KernelTraits *packing_ = nullptr;
    LaunchChunks chunks_;
    const int64_t in_channels_, out_channels_;
    const StridedAxisArguments x_, y_;
    int64_t packed_channels_ = 0;

    std::array<int64_t, 5> weight_extents() const {
        return {p_.kernel.width, p_.kernel.height, out_channels_, in_channels_, p_.groups};
    }
    std::array<int64_t, 5> packed_extents() const {
        return {packed_channels_, p_.kernel.width, p_.kernel.height, out_channels_, p_.groups};
    }

    Status launch(const Arguments &a, const float *weight, const LaunchSlice &slice, RunContext &context) const noexcept {
        GradientViews views(p_, kernel_.device, slice, a.input_gradient, a.output_gradient);
        const auto weights = packing_ ? packed_extents() : weight_extents();
        const int64_t weights_a_group = weights[0] * weights[1] * weights[2] * weights[3];
        TensorView<5> w(weight + slice.first_group * weights_a_group, kernel_.device,
                        {weights[0], weights[1], weights[2], weights[3], slice.groups});
        void *user_context = &context;
        void *args[] = {&user_context, views.output(), w.buffer(), argument(x_.kernel), argument(x_.stride),
                        argument(x_.dilation), argument(y_.kernel), argument(y_.stride), argument(y_.dilation), views.input()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_input_gradient(const Problem &problem, const KernelTraits &kernel) {
    return std::make_unique<InputGradientOperation>(problem, kernel);
}

}  // namespace conv_transpose
