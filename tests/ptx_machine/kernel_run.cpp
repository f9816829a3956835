// See kernel_run.h.
#include "kernel_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {

namespace {

const char *const activation_names[] = {"none", "relu", "leaky_relu", "tanh", "sigmoid"};

double activated(double sum, const Epilogue &epilogue) {
    switch (epilogue.activation) {
        case Activation::relu:
            return std::max(sum, 0.);
        case Activation::leaky_relu:
            return sum < 0 ? sum * double(epilogue.negative_slope) : sum;
        case Activation::tanh:
            return std::tanh(sum);
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-sum));
        default:
            return sum;
    }
}

bool is_smooth(Activation activation) {
    return activation == Activation::tanh || activation == Activation::sigmoid;
}

/// Tensors on the host, of small integers: every sum is exact. Where curves follow, sums of a few units are.
struct Data {
    Data(const Problem &p, bool curves, RandomProblems random)
        : input(random.integers(p.input_elements())),
          weight(random.integers(p.weight_elements())),
          bias(random.integers(p.out_channels)),
          output_gradient(random.integers(p.output_elements())) {
        if (!curves) return;
        for (float &v : input) v /= 4;
        for (float &v : weight) v /= 16;
        for (float &v : bias) v /= 16;
    }

    std::vector<float> input, weight, bias, output_gradient;
};

std::vector<double> expected_result(const KernelRun &run, Operation operation, const Data &data) {
    const Problem &p = run.problem;
    if (operation == Operation::forward) {
        std::vector<double> sums =
            forward(p, data.input, data.weight, run.epilogue.bias ? data.bias : std::vector<float>());
        for (double &sum : sums) sum = activated(sum, run.epilogue);
        return sums;
    }
    Gradients all = gradients(p, data.input, data.weight, data.output_gradient);
    return operation == Operation::input_gradient    ? all.input
           : operation == Operation::weight_gradient ? all.weight
                                                     : all.bias;
}

/// A tensor on the device, behind `offset` floats.
class Placed {
  public:
    Placed(std::vector<float> values, int offset) : offset_(offset) {
        values.insert(values.begin(), offset, 0.f);
        memory_ = on_device(Device::cuda, values);
    }
    float *floats() const { return memory_.floats() + offset_; }
    std::vector<float> read() const {
        std::vector<float> values = to_host(memory_);
        values.erase(values.begin(), values.begin() + offset_);
        return values;
    }

  private:
    DeviceMemory memory_;
    int offset_;
};

}  // namespace

KernelInfo kernel_named(const std::string &name) {
    const std::vector<KernelInfo> all = kernels();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const KernelInfo &k) { return k.name == name; });
    if (found == all.end()) throw std::invalid_argument("no kernel " + name);
    return *found;
}

KernelRun KernelRun::parse(const std::string &line) {
    std::istringstream words(line);
    KernelRun run;
    std::string problem, word;
    words >> run.kernel >> problem;
    run.problem = Problem::parse(problem);
    while (words >> word) {
        const auto activation = std::find(std::begin(activation_names), std::end(activation_names), word);
        if (word == "bias")
            run.epilogue.bias = true;
        else if (word[0] == '+')
            run.offset = std::stoi(word.substr(1));
        else if (activation != std::end(activation_names))
            run.epilogue.activation = static_cast<Activation>(activation - activation_names);
        else
            throw std::invalid_argument("'" + word + "' is neither bias nor an activation nor +OFFSET");
    }
    return run;
}

std::string KernelRun::str() const {
    std::string line = kernel + " " + problem.str() + (epilogue.bias ? " bias" : "");
    if (epilogue.activation != Activation::none)
        line += std::string(" ") + activation_names[static_cast<int>(epilogue.activation)];
    return line + (offset ? " +" + std::to_string(offset) : "");
}

std::string KernelRun::error() const {
    const KernelInfo info = kernel_named(kernel);
    PlanOptions options;
    options.operation = info.operation;
    options.device = Device::cuda;
    options.precision = info.precision;
    options.epilogue = epilogue;
    options.kernel = kernel;
    const Plan plan(problem, options);

    const Data data(problem, is_smooth(epilogue.activation), RandomProblems(1));
    const std::vector<double> expected = expected_result(*this, info.operation, data);
    const Placed input(data.input, offset), weight(data.weight, offset), bias(data.bias, offset),
        output_gradient(data.output_gradient, offset),
        result(std::vector<float>(expected.size(), std::nanf("")), offset);
    const DeviceMemory workspace = on_device(
        Device::cuda, std::vector<float>((plan.workspace_bytes() + 3) / sizeof(float), std::nanf("")));
    Arguments arguments;
    arguments.input = input.floats();
    arguments.weight = weight.floats();
    arguments.bias = bias.floats();
    arguments.output_gradient = output_gradient.floats();
    (info.operation == Operation::forward           ? arguments.output
     : info.operation == Operation::input_gradient  ? arguments.input_gradient
     : info.operation == Operation::weight_gradient ? arguments.weight_gradient
                                                    : arguments.bias_gradient) = result.floats();
    const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
    if (!status.ok()) return status.message();
    const std::vector<float> actual = result.read();
    for (size_t e = 0; e < expected.size(); e++) {
        const double tolerance =
            epilogue.activation > Activation::relu ? 2e-6 * (1 + std::abs(expected[e])) : 0;
        if (!(std::abs(actual[e] - expected[e]) <= tolerance))
            return "element " + std::to_string(e) + " of " + std::to_string(expected.size()) + " is " +
                   std::to_string(actual[e]) + ", not " + std::to_string(expected[e]);
    }
    return "";
}

}  // namespace conv_transpose::testing
