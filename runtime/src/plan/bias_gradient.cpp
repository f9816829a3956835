// The bias gradient: how its sum is cut into parts, and how its kernel is called.
#include "plan/launch_chunks.h"
#include "plan/planned_operation.h"
#include "plan/sum_of_parts.h"
#include "plan/tensor_view.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

class BiasGradientOperation : public PlannedOperation {
  public:
    BiasGradientOperation(const Problem &problem, const KernelTraits &kernel)
        : p_(problem), kernel_(kernel), plane_(output_positions(problem)),
          slice_positions_(std::max(positions_a_slice, plane_ / max_grid() + 1)),
          slices_((plane_ + slice_positions_ - 1) / slice_positions_),
          sum_(kernel.device, problem.out_channels, problem.batch * slices_) {}

    size_t workspace_bytes(bool) const noexcept override { return sum_.workspace_bytes(); }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.output_gradient && p_.batch > 0) return "output_gradient";
        return a.bias_gradient ? nullptr : "bias_gradient";
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        float *partial = sum_.needed() ? floats(workspace) : floats(arguments.bias_gradient);
        const Status computed = compute(floats(arguments.output_gradient), partial, context);
        if (!computed.ok() || !sum_.needed()) return computed;
        return sum_.run(partial, floats(arguments.bias_gradient), context);
    }

  private:
    static constexpr int64_t positions_a_slice = 16384;
    const Problem p_;
    const KernelTraits &kernel_;
    const int64_t plane_, slice_positions_, slices_;
    const SumOfParts sum_;

    // Every image is a launch of its own only where one launch cannot span two of them. In a rehearsal there is one.
    Status compute(const float *output_gradient, float *partial, RunContext &context) const noexcept {
        const int64_t channel_chunk = slices_a_launch(p_.out_channels, plane_);
        const int64_t batch_chunk =
            channel_chunk < p_.out_channels
                ? 1
                : std::min(slices_a_launch(std::max<int64_t>(p_.batch, 1), p_.out_channels * plane_),
                           max_grid());
        for (int64_t n = 0; n < p_.batch; n += batch_chunk)
            for (int64_t c = 0; c < p_.out_channels; c += channel_chunk) {
                const int64_t channels = std::min(channel_chunk, p_.out_channels - c);
                TensorView<3> from(output_gradient + (n * p_.out_channels + c) * plane_, kernel_.device,
                                   {plane_, channels, std::min(batch_chunk, p_.batch - n)});
                TensorView<3> to(partial + n * slices_ * p_.out_channels + c, kernel_.device,
                                 {channels, slices_, std::min(batch_chunk, p_.batch - n)});
                if (slices_ > 1) to.set_stride(1, p_.out_channels);
                const int32_t slice_positions = slice_positions_;
                void *user_context = &context;
                void *args[] = {&user_context, from.buffer(), argument(slice_positions), to.buffer()};
                if (Status s = call(kernel_, args, context); !s.ok() || context.rehearsal) return s;
            }
        return {};
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_bias_gradient(const Problem &problem, const KernelTraits &kernel) {
    return std::make_unique<BiasGradientOperation>(problem, kernel);
}

}  // namespace conv_transpose
