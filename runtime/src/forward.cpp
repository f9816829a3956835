// The forward operation: how its kernels are called, and how large problems are cut into launches.
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "launch_chunks.h"
#include "planned_operation.h"
#include "registry.h"
#include "tensor_view.h"

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

    AxisArguments(int64_t kernel, int64_t stride, int64_t padding, int64_t dilation)
        : stride(stride), dilation(dilation), padding_phase(padding % stride), gcd(std::gcd(stride, dilation)),
          inverse(modular_inverse(dilation / std::gcd(stride, dilation), stride / std::gcd(stride, dilation))),
          kernel(kernel) {}
};

class ForwardOperation : public PlannedOperation {
  public:
    ForwardOperation(const Problem &problem, const PlanOptions &options, const KernelTraits &kernel)
        : p_(problem), kernel_(kernel), out_(problem.output()), in_channels_(problem.in_channels / problem.groups),
          out_channels_(problem.out_channels / problem.groups), has_bias_(options.epilogue.bias),
          x_(p_.kernel.width, p_.stride.width, p_.padding.width, p_.dilation.width),
          y_(p_.kernel.height, p_.stride.height, p_.padding.height, p_.dilation.height) {
        set_epilogue(options.epilogue);
        set_chunks();
        if (kernel.weight_layout == WeightLayout::as_given) return;
        packing_ = weight_packing_kernel(kernel.weight_layout, kernel.device);
        if (!packing_) throw Unsupported("this build has no kernel that packs weights for " + std::string(kernel.name));
        const int64_t m = kernel.weight_channel_multiple;
        packed_channels_ = (out_channels_ + m - 1) / m * m;
    }

    size_t workspace_bytes(bool with_packed_weight) const noexcept override {
        return with_packed_weight ? 0 : packed_weight_bytes();
    }

    size_t packed_weight_bytes() const noexcept override {
        return packing_ ? sizeof(float) * elements(packed_extents(p_.groups)) : 0;
    }

    const char *missing_argument(const Arguments &a) const noexcept override {
        if (!a.input) return "input";
        if (!a.weight && !(packing_ && a.packed_weight)) return "weight";
        if (has_bias_ && !a.bias) return "bias";
        return a.output ? nullptr : "output";
    }

    Status pack_weight(const float *weight, void *packed, RunContext &context) const noexcept override {
        TensorView<5> from(weight, kernel_.device, weight_extents(p_.groups));
        TensorView<5> to(static_cast<float *>(packed), kernel_.device, packed_extents(p_.groups));
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
        for (int64_t n = 0; n < p_.batch; n += batch_chunk_)
            for (int64_t g = 0; g < p_.groups; g += group_chunk_) {
                const int64_t batches = std::min(batch_chunk_, p_.batch - n), groups = std::min(group_chunk_, p_.groups - g);
                if (Status s = launch(arguments, weight, n, batches, g, groups, context); !s.ok()) return s;
                if (context.rehearsal) return {};
            }
        return {};
    }

  private:
    const Problem p_;
    const KernelTraits &kernel_;
    const KernelTraits *packing_ = nullptr;
    const Size2 out_;
    const int64_t in_channels_, out_channels_;
    const bool has_bias_;
    const AxisArguments x_, y_;
    int64_t packed_channels_ = 0;
    int64_t batch_chunk_ = 1, group_chunk_ = 1;
    int32_t activation_ = 0;
    float slope_ = 1;

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

    // Kernels put (group, batch) on one axis of the grid.
    void set_chunks() {
        const LaunchChunks chunks(p_);
        group_chunk_ = chunks.groups;
        batch_chunk_ = std::min(chunks.batch, std::max<int64_t>(max_grid / chunks.groups, 1));
    }

    static int64_t elements(const std::array<int64_t, 5> &extents) {
        return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    }

    std::array<int64_t, 5> weight_extents(int64_t groups) const {
        return {p_.kernel.width, p_.kernel.height, out_channels_, in_channels_, groups};
    }
    // For `groups` of the groups. The last dimension counts tiles of channels where a layout has them.
    std::array<int64_t, 5> packed_extents(int64_t groups) const {
        if (kernel_.weight_layout == WeightLayout::channel_tiles) {
            const int64_t lanes = kernel_.weight_channel_multiple;
            return {lanes, p_.kernel.width, p_.kernel.height, in_channels_, packed_channels_ / lanes * groups};
        }
        if (kernel_.weight_layout != WeightLayout::channels_innermost) return {tensor_core_weights() * groups, 1, 1, 1, 1};
        return {packed_channels_, p_.kernel.width, p_.kernel.height, in_channels_, groups};
    }

    // The packed weights of one group in tiles for tensor cores: see generators/tensor_core_packing.cpp.
    int64_t tensor_core_weights() const {
        const WeightLayout layout = kernel_.weight_layout;
        const bool pairs =
            layout == WeightLayout::tensor_core_row_pairs || layout == WeightLayout::tensor_core_split_row_pairs;
        const bool split =
            layout == WeightLayout::tensor_core_split || layout == WeightLayout::tensor_core_split_row_pairs;
        const int64_t rows = pairs ? 2 : 1, parts = split ? 2 : 1, chunk = kernel_.weight_in_channel_multiple;
        const int64_t in_channels = (in_channels_ + chunk - 1) / chunk * chunk;
        return packed_channels_ * rows * p_.kernel.width * (p_.kernel.height + rows - 1) * in_channels * parts;
    }

    // PyTorch's weight is (Cin, Cout / groups, kh, kw): the channel of the output lies inside that of the input, and
    // groups outside of both, as weight_extents() says.
    Status launch(const Arguments &a, const float *weight, int64_t n, int64_t batches, int64_t g, int64_t groups,
                  RunContext &context) const noexcept {
        const int64_t in_plane = p_.input.height * p_.input.width, out_plane = out_.height * out_.width;
        const float *input = a.input + (n * p_.in_channels + g * in_channels_) * in_plane;
        float *output = a.output + (n * p_.out_channels + g * out_channels_) * out_plane;
        const auto weights = packing_ ? packed_extents(groups) : weight_extents(groups);
        const int64_t weights_a_group = elements(weights) / groups;

        TensorView<5> in(input, kernel_.device, {p_.input.width, p_.input.height, in_channels_, groups, batches});
        in.set_min(0, -(p_.padding.width / p_.stride.width));
        in.set_min(1, -(p_.padding.height / p_.stride.height));
        TensorView<5> out(output, kernel_.device, {out_.width, out_.height, out_channels_, groups, batches});
        TensorView<5> w(weight + g * weights_a_group, kernel_.device, weights);
        // Without a bias the kernel discards what it reads there; weights are at least as many.
        TensorView<2> bias(has_bias_ ? a.bias + g * out_channels_ : weight, kernel_.device, {out_channels_, groups});
        const int32_t has_bias = has_bias_;
        void *user_context = &context;
        void *args[] = {&user_context, in.buffer(), w.buffer(), bias.buffer(), argument(has_bias), argument(activation_), argument(slope_),
                        argument(x_.stride), argument(x_.dilation), argument(x_.padding_phase), argument(x_.gcd),
                        argument(x_.inverse), argument(x_.kernel), argument(y_.stride), argument(y_.dilation),
                        argument(y_.padding_phase), argument(y_.gcd), argument(y_.inverse), argument(y_.kernel), out.buffer()};
        return call(kernel_, args, context);
    }
};

}  // namespace

std::unique_ptr<PlannedOperation> plan_forward(const Problem &problem, const PlanOptions &options,
                                               const KernelTraits &kernel) {
    return std::make_unique<ForwardOperation>(problem, options, kernel);
}

}  // namespace conv_transpose
