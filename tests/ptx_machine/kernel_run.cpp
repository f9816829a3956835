// See kernel_run.h.
#include "kernel_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "formatted_tensor.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"
#include "small_launches.h"

namespace conv_transpose::testing {

namespace {

const char *const activation_names[] = {"none", "relu", "leaky_relu", "tanh", "sigmoid", "prelu"};

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

/// Makes every second `block` of a tensor numbers of more bits than one TF32 has: their second part is never zero.
void widen(std::vector<float> &values, int64_t first, int64_t block) {
    for (size_t i = 0; i < values.size(); i++)
        if (static_cast<int64_t>(i) / block % 2 == first) values[i] *= 2049;
}

/// Tensors on the host, of small integers: every sum is exact. Where curves follow, sums of a few units are.
struct Data {
    Data(const Problem &p, bool curves, RandomProblems random)
        : input(random.integers(p.input_elements())),
          weight(random.integers(p.weight_elements())),
          bias(random.integers(p.out_channels)),
          output_gradient(random.integers(p.output_elements())),
          slopes(random.integers(p.out_channels)) {
        if (!curves) return;
        for (float &v : input) v /= 4;
        for (float &v : weight) v /= 16;
        for (float &v : bias) v /= 16;
    }

    /// For products of numbers in two parts: one factor of each is wide, alternating along what is summed, as the
    /// product of two second parts is left out.
    void widen_for(const Problem &p, Operation operation) {
        const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
        const int64_t pixels = p.input_elements() / (p.batch * p.in_channels),
                      out_pixels = p.output_elements() / (p.batch * p.out_channels),
                      taps = p.weight_elements() / (p.in_channels * out);
        switch (operation) {
            case Operation::forward:
                if (in % 2 == 0) widen(weight, 1, out * taps);
                widen(input, 0, in % 2 == 0 ? pixels : p.input_elements());
                break;
            case Operation::input_gradient:
                if (out % 2 == 0) widen(weight, 1, taps);
                widen(output_gradient, 0, out % 2 == 0 ? out_pixels : p.output_elements());
                break;
            case Operation::weight_gradient:
                widen(input, 0, p.in_channels * pixels);
                widen(output_gradient, 1, p.out_channels * out_pixels);
                break;
            default:
                break;
        }
    }

    std::vector<float> input, weight, bias, output_gradient, slopes;
};

std::vector<double> expected_result(const KernelRun &run, Operation operation, const Data &data) {
    const Problem &p = run.problem;
    if (operation == Operation::forward) {
        std::vector<double> sums =
            forward(p, data.input, data.weight, run.epilogue.bias ? data.bias : std::vector<float>());
        const bool has_slopes = run.epilogue.activation == Activation::prelu;
        const int64_t plane = p.output_elements() / std::max<int64_t>(1, p.batch * p.out_channels);
        for (size_t i = 0; i < sums.size(); i++)
            sums[i] = !has_slopes  ? activated(sums[i], run.epilogue)
                      : sums[i] < 0 ? sums[i] * data.slopes[i / plane % p.out_channels]
                                    : sums[i];
        return sums;
    }
    Gradients all = gradients(p, data.input, data.weight, data.output_gradient);
    return operation == Operation::input_gradient    ? all.input
           : operation == Operation::weight_gradient ? all.weight
                                                     : all.bias;
}

const char *const format_names[] = {"f32", "f32_last", "f16", "f16_last", "bf16", "bf16_last"};

TensorFormat format_named(const std::string &name) {
    const auto found = std::find(std::begin(format_names), std::end(format_names), name);
    if (found == std::end(format_names)) throw std::invalid_argument("'" + name + "' is no format");
    const auto index = found - format_names;
    return {static_cast<ElementType>(index / 2), static_cast<Layout>(index % 2)};
}

std::string name_of(TensorFormat format) {
    return format_names[2 * static_cast<int>(format.type) + static_cast<int>(format.layout)];
}

int64_t positions(const Problem &problem, int64_t (*extent)(const Axis &)) {
    int64_t all = 1;
    for (const Axis &axis : problem.axes) all *= extent(axis);
    return all;
}

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
        else if (word.starts_with("grid="))
            run.grid = std::stoi(word.substr(5));
        else if (const size_t equals = word.find('='); equals != std::string::npos)
            run.tensor(word.substr(0, equals)) = format_named(word.substr(equals + 1));
        else if (activation != std::end(activation_names))
            run.epilogue.activation = static_cast<Activation>(activation - activation_names);
        else
            throw std::invalid_argument("'" + word + "' is neither bias nor an activation nor TENSOR=FORMAT nor grid=BLOCKS nor +OFFSET");
    }
    return run;
}

TensorFormat &KernelRun::tensor(const std::string &name) {
    if (name == "input") return input;
    if (name == "weight") return weight;
    if (name == "output") return output;
    throw std::invalid_argument("'" + name + "' is no tensor");
}

std::string KernelRun::str() const {
    std::string line = kernel + " " + problem.str() + (epilogue.bias ? " bias" : "");
    if (epilogue.activation != Activation::none)
        line += std::string(" ") + activation_names[static_cast<int>(epilogue.activation)];
    const auto add = [&](const char *name, TensorFormat format) {
        if (format != TensorFormat()) line += std::string(" ") + name + "=" + name_of(format);
    };
    add("input", input), add("weight", weight), add("output", output);
    if (grid) line += " grid=" + std::to_string(grid);
    return line + (offset ? " +" + std::to_string(offset) : "");
}

std::string KernelRun::error() const {
    const KernelInfo info = kernel_named(kernel);
    PlanOptions options;
    options.operation = info.operation;
    options.device = Device::cuda;
    options.precision = info.precision;
    options.epilogue = epilogue;
    options.input = input, options.weight = weight, options.output = output;
    options.kernel = kernel;
    std::optional<SmallLaunches> small;
    if (grid) small.emplace(max_elements_32bit(), grid);
    const Plan plan(problem, options);

    const Operation operation = info.operation;
    const bool is_forward = operation == Operation::forward, of_input = operation == Operation::input_gradient,
               of_weight = operation == Operation::weight_gradient, of_bias = operation == Operation::bias_gradient;
    Data data(problem, is_smooth(epilogue.activation), RandomProblems(1));
    if (info.precision == Precision::tf32x3 && !is_smooth(epilogue.activation)) data.widen_for(problem, operation);
    const TensorFormat result_format = is_forward ? output : of_input ? input : weight;
    std::vector<double> expected = expected_result(*this, operation, data);
    for (double &value : expected) value = rounded(value, result_format.type);
    const std::vector<float> slopes = epilogue.activation == Activation::prelu ? data.slopes : std::vector<float>(),
                             biases = with_slopes(data.bias, slopes, problem.groups);
    const std::vector<float> unwritten(expected.size(), std::nanf(""));
    const Tensor x(Device::cuda, input, of_input ? unwritten : data.input, problem.in_channels,
                   positions(problem, [](const Axis &a) { return a.input; }), offset),
        w(Device::cuda, weight, of_weight ? unwritten : data.weight, problem.out_channels / problem.groups,
          positions(problem, [](const Axis &a) { return a.kernel; }), offset),
        y(Device::cuda, output, is_forward ? unwritten : data.output_gradient, problem.out_channels,
          positions(problem, [](const Axis &a) { return a.output(); }), offset),
        b(Device::cuda, {weight.type, Layout::channels_first}, of_bias ? unwritten : biases, 1, 1, offset);
    const DeviceMemory workspace = on_device(
        Device::cuda, std::vector<float>((plan.workspace_bytes() + 3) / sizeof(float), std::nanf("")));
    Arguments arguments;
    if (!of_input) arguments.input = x.data();
    if (!of_weight) arguments.weight = w.data();
    if (is_forward) arguments.bias = b.data(), arguments.output = y.data();
    else arguments.output_gradient = y.data();
    if (of_input) arguments.input_gradient = x.data();
    if (of_weight) arguments.weight_gradient = w.data();
    if (of_bias) arguments.bias_gradient = b.data();
    const Status status = plan.run(arguments, {workspace.data(), workspace.bytes()});
    if (status.code() == Status::Code::invalid_argument) throw Unsupported(status.message());  // tensors at such addresses
    if (!status.ok()) return status.message();
    synchronize(Device::cuda);
    const std::vector<float> actual = (is_forward ? y : of_input ? x : of_weight ? w : b).values();
    // Where a curve follows, the last bit of the result's type may differ.
    const double bit = result_format.type == ElementType::float32   ? 2e-6
                       : result_format.type == ElementType::float16 ? 1e-3
                                                                    : 8e-3;
    for (size_t e = 0; e < expected.size(); e++) {
        const bool rounds = is_smooth(epilogue.activation) || epilogue.activation == Activation::leaky_relu;
        const double tolerance = rounds ? bit * (1 + std::abs(expected[e])) : 0;
        if (!(std::abs(actual[e] - expected[e]) <= tolerance))
            return "element " + std::to_string(e) + " of " + std::to_string(expected.size()) + " is " +
                   std::to_string(actual[e]) + ", not " + std::to_string(expected[e]);
    }
    return "";
}

}  // namespace conv_transpose::testing
