// The attributes of a problem that a kernel is compiled for. 0 means a run-time value.
#ifndef CONV_TRANSPOSE_GENERATORS_PROBLEM_PARAMS_H
#define CONV_TRANSPOSE_GENERATORS_PROBLEM_PARAMS_H

#include <stdexcept>

#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/gradient_facts.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// A member of every generator; Halide finds the GeneratorParams inside.
struct ProblemParams {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> kernel_h{"kernel_h", 0}, kernel_w{"kernel_w", 0};
    GeneratorParam<int> stride_h{"stride_h", 0}, stride_w{"stride_w", 0};
    GeneratorParam<int> dilation_h{"dilation_h", 1}, dilation_w{"dilation_w", 1};
    /// padding % stride; the rest of the padding is always a run-time value (see gather.h).
    GeneratorParam<int> padding_phase_h{"padding_phase_h", 0}, padding_phase_w{"padding_phase_w", 0};
    /// Channels of one group.
    GeneratorParam<int> in_channels{"in_channels", 0}, out_channels{"out_channels", 0};
    /// What run-time channels must be a multiple of, for kernels that would waste too much on others.
    GeneratorParam<int> in_channel_multiple{"in_channel_multiple", 1}, out_channel_multiple{"out_channel_multiple", 1};

    /// The one size of picture that a kernel may be for.
    GeneratorParam<int> input_h{"input_h", 0}, input_w{"input_w", 0}, output_h{"output_h", 0}, output_w{"output_w", 0};

    /// Nothing is compiled in, dilation included.
    bool run_time_attributes() const { return kernel_w == 0 && stride_w == 0; }

    /// `arguments` are the kernel's run-time attributes of that axis.
    GatherAxis x_axis(const AxisArguments &arguments) const {
        return axis(kernel_w, stride_w, dilation_w, padding_phase_w, arguments);
    }
    GatherAxis y_axis(const AxisArguments &arguments) const {
        return axis(kernel_h, stride_h, dilation_h, padding_phase_h, arguments);
    }

    /// For the gradients; the axes only for attributes that are constants.
    GradientFacts gradient_facts() const {
        return {{kernel_w.value(), stride_w.value(), dilation_w.value()},
                {kernel_h.value(), stride_h.value(), dilation_h.value()},
                in_channels, out_channels, input_w, input_h};
    }

    /// For fixed attributes.
    SearchedProblem searched(const Halide::Target &target) const {
        return {in_channels, out_channels, kernel_w, kernel_h, stride_w, stride_h,
                GatherAxis::fixed(kernel_w, stride_w, dilation_w, padding_phase_w),
                GatherAxis::fixed(kernel_h, stride_h, dilation_h, padding_phase_h),
                vector_registers(target), output_w, output_h};
    }

    /// For kernels that compute an operation, which is named as their family is.
    void describe(Family family, const Halide::Target &target, KernelDescription &description) const {
        description.set_family(family);
        description.set("operation", "Operation::" + std::string(signature(family).family));
        describe_target(target, description);
        describe(description);
    }

    /// The attributes and sizes that the kernel accepts.
    void describe(KernelDescription &description) const {
        description.set("in_channels", in_channels);
        description.set("out_channels", out_channels);
        if (in_channel_multiple > 1) description.set("in_channel_multiple", in_channel_multiple);
        if (out_channel_multiple > 1) description.set("out_channel_multiple", out_channel_multiple);
        if (input_w > 0) description.set("exact_input", input_h, input_w);
        if (output_w > 0) description.set("exact_output", output_h, output_w);
        if (run_time_attributes()) return;
        description.set("kernel", kernel_h, kernel_w);
        description.set("stride", stride_h, stride_w);
        description.set("dilation", dilation_h, dilation_w);
        description.set("padding_phase", padding_phase_h, padding_phase_w);
    }

    /// Of a CPU.
    static int vector_registers(const Halide::Target &target) {
        return target.has_feature(Halide::Target::AVX512_Skylake) ? 32 : 16;
    }

  private:
    // With a run-time kernel size the padding phase is a run-time value too; the stride may be one.
    GatherAxis axis(int kernel, int stride, int dilation, int padding_phase, const AxisArguments &arguments) const {
        if (kernel) return GatherAxis::fixed(kernel, stride, dilation, padding_phase);
        if (run_time_attributes()) return GatherAxis::run_time(arguments);
        if (dilation != 1)
            throw std::invalid_argument(
                "a run-time kernel size needs dilation 1 or all attributes at run time");
        AxisArguments a = arguments;
        if (stride) a.stride = stride;
        a.dilation = a.gcd = a.inverse = 1;
        return GatherAxis::run_time(a);
    }
};

}  // namespace conv_transpose

#endif
