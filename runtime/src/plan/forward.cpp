// The forward operation: how its kernels are called, and how large problems are cut into launches. The input
// gradient of a stride-1 problem is one as well: see forward_of_input_gradient.h.
#include <numeric>
#include <tuple>

#include "plan/channel_packing.h"
#include "plan/launch_chunks.h"
#include "plan/planned_operation.h"
#include "plan/reduction_parts.h"
#include "choice/registry.h"
#include "plan/tensor_view.h"
#include "plan/weight_packing.h"

namespace conv_transpose {

namespace {

// The inverse of a modulo m, for coprime a and m; 0 for m = 1.
int64_t modular_inverse(int64_t a, int64_t m) {
    int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
    while (r1 != 0) {
        const int64_t q = r0 / r1;
        std::tie(r0, r1) = std::pair{r1, r0 - q * r1};
        std::tie(t0, t1) = std::pair{t1, t0 - q * t1};
    }
    return m == 1 ? 0 : (t0 % m + m) % m;
}

// The run-time attributes of one axis, as GatherAxis::run_time() wants them.
struct AxisArguments {
    int32_t stride, dilation, padding_phase, gcd, inverse, kernel;

    explicit AxisArguments(const Axis &a)
        : stride(a.stride),
          dilation(a.dilation),
          padding_phase(a.padding % a.stride),
          gcd(std::gcd(a.stride, a.dilation)),
          inverse(modular_inverse(a.dilation / gcd, a.stride / gcd)),
          kernel(a.kernel) {}
};

class ForwardOperation : public PlannedOperation {
  public:
    ForwardOperation(const Problem &problem, const PlanOptions &options, const KernelTraits &kernel)
        : parts_(kernel, problem), p_(parts_.with_groups(problem)), kernel_(kernel),
          is_gradient_(options.operation == Operation::input_gradient),
          weights_(kernel, plane_of(p_, &Axis::kernel), p_.out_channels, p_.in_channels, p_.groups,
                   is_gradient_ ? WeightOrder::mirrored : WeightOrder::forward),
          out_(output_plane(p_)), in_channels_(p_.in_channels / p_.groups), out_channels_(p_.out_channels / p_.groups),
          has_bias_(options.epilogue.bias),
          x_(p_.width()),
          y_(p_.height()),
          picture_(kernel, plane_of(p_, &Axis::input), in_channels_),
          chunks_(LaunchChunks::on_one_grid_axis(p_, spanned_output(kernel, p_), picture_.elements())) {
        set_epilogue(options.epilogue);
    }

    size_t workspace_bytes(bool with_packed_weight) const noexcept override {
        return sizeof(float) * picture_elements() + parts_.bytes() + (with_packed_weight ? 0 : packed_weight_bytes());
    }

    size_t packed_weight_bytes() const noexcept override { return weights_.bytes(); }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!input(a)) return is_gradient_ ? "output_gradient" : "input";
        if (!weights_.has_weight(a)) return "weight";
        if (has_bias_ && !a.bias) return "bias";
        if (!output(a)) return is_gradient_ ? "input_gradient" : "output";
        return nullptr;
    }

    Status pack_weight(const void *weight, void *packed, RunContext &context) const noexcept override {
        return weights_.pack(floats(weight), packed, context);
    }

    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept override {
        const float *weight = nullptr;
        if (Status s = weights_.prepare(arguments, workspace, context, weight); !s.ok()) return s;
        float *picture = static_cast<float *>(workspace);
        if (weight == picture) picture += weights_.bytes() / sizeof(float);
        float *const parts = picture + picture_elements();
        const Status computed = chunks_.for_each_slice(p_, context, [&](const LaunchSlice &slice) {
            return launch(arguments, weight, picture, parts, slice, context);
        });
        if (!computed.ok() || !parts_.needed()) return computed;
        return parts_.add(parts, has_bias_ ? floats(arguments.bias) : nullptr, activation_, slope_, output(arguments), context);
    }

  private:
    const ReductionParts parts_;
    const Problem p_;  // as the kernel sees it: with a group for each part
    const KernelTraits &kernel_;
    const bool is_gradient_;
    const WeightPacking weights_;
    const Size2 out_;
    const int64_t in_channels_, out_channels_;
    const bool has_bias_;
    const AxisArguments x_, y_;
    const ChannelPacking picture_;
    const LaunchChunks chunks_;
    int32_t activation_ = 0;
    float slope_ = 1;

    const float *input(const Arguments &a) const noexcept {
        return floats(is_gradient_ ? a.output_gradient : a.input);
    }
    float *output(const Arguments &a) const noexcept { return floats(is_gradient_ ? a.input_gradient : a.output); }

    void set_epilogue(const Epilogue &epilogue) {
        EpilogueKind kind = EpilogueKind::piecewise_linear;
        switch (epilogue.activation) {
            case Activation::none: slope_ = 1; break;
            case Activation::relu: slope_ = 0; break;
            case Activation::leaky_relu: slope_ = epilogue.negative_slope; break;
            case Activation::tanh: kind = EpilogueKind::tanh; break;
            case Activation::sigmoid: kind = EpilogueKind::sigmoid; break;
        }
        activation_ = static_cast<int32_t>(kind);
    }

    // Of the largest slice.
    int64_t picture_elements() const noexcept { return chunks_.batch * chunks_.groups * picture_.elements(); }

    /// There is room for the packed picture of a slice, and for parts of the sum.
    Status launch(const Arguments &a, const float *weight, float *packed, float *parts, const LaunchSlice &slice,
                  RunContext &context) const noexcept {
        const int64_t n = slice.first_image, g = slice.first_group, groups = slice.groups;
        const int64_t in_plane = input_positions(p_), out_plane = out_.height * out_.width;
        const float *from = input(a) + (n * p_.in_channels + g * in_channels_) * in_plane;
        const int64_t to_group = parts_.needed() ? parts_.elements() : out_channels_ * out_plane;
        const int64_t to_image = parts_.needed() ? out_channels_ * out_plane : p_.out_channels * out_plane;
        float *to = (parts_.needed() ? parts : output(a)) + n * to_image + g * to_group;
        if (picture_.needed())
            if (Status s = picture_.pack(from, packed, slice, context); !s.ok()) return s;
        const std::array<int64_t, 5> given{p_.width().input, p_.height().input, in_channels_, groups, slice.images};
        TensorView<5> in(picture_.needed() ? packed : from, kernel_.device,
                         picture_.needed() ? picture_.extents(slice) : given);
        in.set_min(0, -(p_.width().padding / p_.width().stride) * (picture_.needed() ? 4 : 1));
        in.set_min(1, -(p_.height().padding / p_.height().stride));
        TensorView<5> out(to, kernel_.device, {out_.width, out_.height, out_channels_, groups, slice.images});
        if (parts_.needed()) out.set_stride(3, to_group), out.set_stride(4, to_image);
        TensorView<5> w(weight + g * weights_.group_elements(), kernel_.device, weights_.extents(groups));
        if (kernel_.whole_cells) out.begin_early(0, x_.padding_phase), out.begin_early(1, y_.padding_phase);
        // Without a bias the kernel discards what it reads there; weights are at least as many.
        const bool whole = !parts_.needed();  // what follows a sum follows that of the parts
        TensorView<2> bias(has_bias_ && whole ? floats(a.bias) + g * out_channels_ : weight, kernel_.device,
                           {out_channels_, groups});
        const int32_t has_bias = has_bias_ && whole;
        const int32_t activation = whole ? activation_ : static_cast<int32_t>(EpilogueKind::piecewise_linear);
        const float slope = whole ? slope_ : 1;
        void *user_context = &context;
        void *args[] = {&user_context,
                        in.buffer(),
                        w.buffer(),
                        bias.buffer(),
                        argument(has_bias),
                        argument(activation),
                        argument(slope),
                        argument(x_.stride),
                        argument(x_.dilation),
                        argument(x_.padding_phase),
                        argument(x_.gcd),
                        argument(x_.inverse),
                        argument(x_.kernel),
                        argument(y_.stride),
                        argument(y_.dilation),
                        argument(y_.padding_phase),
                        argument(y_.gcd),
                        argument(y_.inverse),
                        argument(y_.kernel),
                        out.buffer()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_forward(const Problem &problem, const PlanOptions &options,
                                               const KernelTraits &kernel) {
    return std::make_unique<ForwardOperation>(problem, options, kernel);
}

}  // namespace conv_transpose
