// One problem in any formats, by plans on a device: numbers in float32 and channels_first, what the oracle makes of them, and
// what a plan does.
#ifndef CONV_TRANSPOSE_TESTS_FORMATTED_RUN_H
#define CONV_TRANSPOSE_TESTS_FORMATTED_RUN_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "formatted_tensor.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {

inline int64_t positions(const Problem &p, int64_t (*extent)(const Axis &)) {
    int64_t all = 1;
    for (const Axis &axis : p.axes) all *= extent(axis);
    return all;
}

/// Those that an operation does not read count for nothing.
struct Numbers {
    std::vector<float> input, weight, bias, output_gradient, slopes;

    /// Small integers, so that every sum is exact. Biases and slopes if the epilogue has some.
    static Numbers integers(const Problem &p, const Epilogue &epilogue, RandomProblems &random) {
        const auto of_channels = [&](bool wanted) { return wanted ? random.integers(p.out_channels) : std::vector<float>(); };
        Numbers all;
        all.input = random.integers(p.input_elements()), all.weight = random.integers(p.weight_elements());
        all.bias = of_channels(epilogue.bias), all.output_gradient = random.integers(p.output_elements());
        all.slopes = of_channels(epilogue.activation == Activation::prelu);
        return all;
    }
};

inline double activated(double sum, const Epilogue &epilogue, double slope) {
    switch (epilogue.activation) {
        case Activation::none: return sum;
        case Activation::relu: return std::max(sum, 0.);
        case Activation::leaky_relu: return sum < 0 ? sum * double(epilogue.negative_slope) : sum;
        case Activation::prelu: return sum < 0 ? sum * slope : sum;
        case Activation::tanh: return std::tanh(sum);
        case Activation::sigmoid: return 1 / (1 + std::exp(-sum));
    }
    return sum;
}

inline TensorFormat result_format(const PlanOptions &o) {
    return o.operation == Operation::forward ? o.output : o.operation == Operation::input_gradient ? o.input : o.weight;
}

/// What the oracle says, rounded once to the type of the result.
inline std::vector<double> expected_result(const Problem &p, const PlanOptions &options, const Numbers &n) {
    std::vector<double> result;
    if (options.operation == Operation::forward) {
        result = forward(p, n.input, n.weight, n.bias);
        for (size_t i = 0; i < result.size(); i++) {
            const double slope = n.slopes.empty() ? 0 : n.slopes[i / output_plane(p) % p.out_channels];
            result[i] = activated(result[i], options.epilogue, slope);
        }
    } else {
        result = options.operation == Operation::input_gradient    ? input_gradient(p, n.weight, n.output_gradient)
                 : options.operation == Operation::weight_gradient ? weight_gradient(p, n.input, n.output_gradient)
                                                                   : bias_gradient(p, n.output_gradient);
    }
    for (double &value : result) value = rounded(value, result_format(options).type);
    return result;
}

/// Elements from aligned addresses to those of tensors.
struct Offsets {
    int64_t input = 0, weight = 0, bias = 0, output = 0;
};

/// A problem's tensors on a device, for plans of these options, whatever their kernels are. The result and the workspace are
/// NaN before each run, so that what a kernel leaves unwritten shows.
class FormattedRun {
  public:
    FormattedRun(Device device, const Problem &p, const PlanOptions &o, const Numbers &n, const Offsets &offsets = {})
        : operation_(o.operation),
          input_(device, o.input, n.input, p.in_channels, positions(p, [](const Axis &a) { return a.input; }), offsets.input),
          weight_(device, o.weight, n.weight, p.out_channels / p.groups,
                  positions(p, [](const Axis &a) { return a.kernel; }), offsets.weight),
          output_(device, o.output, is_forward() ? std::vector<float>(p.output_elements()) : n.output_gradient, p.out_channels,
                  output_plane(p), offsets.output),
          bias_(device, {o.weight.type, Layout::channels_first},
                of(Operation::bias_gradient) ? std::vector<float>(p.out_channels) : with_slopes(n.bias, n.slopes, p.groups), 1, 1,
                offsets.bias),
          workspace_(device, 0), packed_weight_(device, 0) {}

    /// Waits for it. `packed_before`: the weight, by Plan::pack_weight(), where the kernel does not read it as it is given.
    Status run(const Plan &plan, bool packed_before = false) {
        result().fill(std::nanf(""));
        const size_t packed = packed_before ? plan.packed_weight_bytes() : 0, bytes = plan.workspace_bytes(packed > 0);
        make_nothing(workspace_, bytes, plan.device());
        Arguments arguments;
        if (packed > 0) {
            make_nothing(packed_weight_, packed, plan.device());
            if (Status s = plan.pack_weight(weight_.data(), packed_weight_.data()); !s.ok()) return s;
            arguments.packed_weight = packed_weight_.data();
        }
        const bool of_input = of(Operation::input_gradient), of_weight = of(Operation::weight_gradient);
        if (!of_input) arguments.input = input_.data();
        if (!of_weight && packed == 0) arguments.weight = weight_.data();
        if (is_forward()) arguments.bias = bias_.data(), arguments.output = output_.data();
        else arguments.output_gradient = output_.data();
        if (of_input) arguments.input_gradient = input_.data();
        if (of_weight) arguments.weight_gradient = weight_.data();
        if (of(Operation::bias_gradient)) arguments.bias_gradient = bias_.data();
        const Status status = plan.run(arguments, {workspace_.data(), bytes});
        if (status.ok()) synchronize(plan.device());
        return status;
    }

    /// What the last run computed.
    std::vector<float> values() { return result().values(); }

  private:
    Operation operation_;
    Tensor input_, weight_, output_, bias_;
    DeviceMemory workspace_, packed_weight_;

    static void make_nothing(DeviceMemory &memory, size_t bytes, Device device) {
        if (bytes > memory.bytes()) memory = DeviceMemory(device, bytes + sizeof(float));
        const std::vector<float> nothing(bytes / sizeof(float) + 1, std::nanf(""));
        memory.copy_from_host(nothing.data(), std::min(memory.bytes(), nothing.size() * sizeof(float)));
    }

    bool of(Operation operation) const { return operation_ == operation; }
    bool is_forward() const { return of(Operation::forward); }
    Tensor &result() {
        return is_forward() ? output_ : of(Operation::input_gradient) ? input_ : of(Operation::weight_gradient) ? weight_ : bias_;
    }
};

/// For messages: the problem, the operation, the kernel if one is forced, and the formats.
inline std::string description(const Problem &p, const PlanOptions &o) {
    static constexpr const char *names[] = {"forward", "input_gradient", "weight_gradient", "bias_gradient"};
    std::string text = p.str() + " " + names[int(o.operation)] + " " + o.kernel;
    for (const TensorFormat &f : {o.input, o.weight, o.output}) text += std::string(", ") + name(f.type) + " " + name(f.layout);
    return text;
}

}  // namespace conv_transpose::testing

#endif
