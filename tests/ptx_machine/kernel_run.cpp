// See kernel_run.h.
#include "kernel_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "formatted_run.h"
#include "runtime/src/plan/epilogue_arguments.h"
#include "small_launches.h"

namespace conv_transpose::testing {

namespace {

bool is_smooth(Activation activation) { return activations[static_cast<int>(activation)].smooth; }

/// Makes every second `block` of a tensor numbers of more bits than one TF32 has: their second part is never zero.
void widen(std::vector<float> &values, int64_t first, int64_t block) {
    for (size_t i = 0; i < values.size(); i++)
        if (static_cast<int64_t>(i) / block % 2 == first) values[i] *= 2049;
}

/// Small integers, so that every sum is exact. Where curves follow, sums of a few units are, and biases alone reach tanh's
/// formulas for small and for other numbers.
struct Data : Numbers {
    Data(const Problem &p, const Epilogue &epilogue) {
        RandomProblems random(1);
        static_cast<Numbers &>(*this) = integers(p, epilogue, random);
        if (!is_smooth(epilogue.activation)) return;
        for (float &v : input) v /= 4;
        for (float &v : weight) v /= 16;
        for (float &v : bias) v /= 4;
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
};

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
        const auto activation = std::find_if(std::begin(activations), std::end(activations),
                                             [&](const NamedActivation &a) { return word == a.name; });
        if (word == "input_gradient")
            run.computes = Operation::input_gradient;
        else if (word == "bias")
            run.epilogue.bias = true;
        else if (word[0] == '+') {
            run.offset = std::stoi(word.substr(1));
            if (const size_t colon = word.find(':'); colon != std::string::npos) run.tensor(run.shifted = word.substr(colon + 1));
        } else if (word.starts_with("grid="))
            run.grid = std::stoi(word.substr(5));
        else if (word.starts_with("elements="))
            run.elements = std::stoi(word.substr(9));
        else if (const size_t equals = word.find('='); equals != std::string::npos)
            run.tensor(word.substr(0, equals)) = format_named(word.substr(equals + 1));
        else if (activation != std::end(activations))
            run.epilogue.activation = static_cast<Activation>(activation - activations);
        else
            throw std::invalid_argument("'" + word + "' is neither input_gradient nor bias nor an activation nor TENSOR=FORMAT nor "
                                        "grid=BLOCKS nor elements=NUMBER nor +OFFSET[:TENSOR]");
    }
    return run;
}

Operation KernelRun::operation() const { return computes ? *computes : kernel_named(kernel).operation; }

TensorFormat &KernelRun::tensor(const std::string &name) {
    if (name == "input") return input;
    if (name == "weight") return weight;
    if (name == "output") return output;
    throw std::invalid_argument("'" + name + "' is no tensor");
}

std::string KernelRun::str() const {
    std::string line = kernel + " " + problem.str() + (computes ? " input_gradient" : "") + (epilogue.bias ? " bias" : "");
    if (epilogue.activation != Activation::none)
        line += std::string(" ") + activations[static_cast<int>(epilogue.activation)].name;
    const auto add = [&](const char *name, TensorFormat format) {
        if (format != TensorFormat()) line += std::string(" ") + name + "=" + name_of(format);
    };
    add("input", input), add("weight", weight), add("output", output);
    if (grid) line += " grid=" + std::to_string(grid);
    if (elements) line += " elements=" + std::to_string(elements);
    if (offset) line += " +" + std::to_string(offset) + (shifted.empty() ? "" : ":" + shifted);
    return line;
}

std::string KernelRun::error() const {
    const KernelInfo info = kernel_named(kernel);
    PlanOptions options;
    options.operation = operation();
    options.device = Device::cuda;
    options.precision = info.precision;
    options.epilogue = epilogue;
    options.input = input, options.weight = weight, options.output = output;
    options.kernel = kernel;
    std::optional<SmallLaunches> small;
    if (grid || elements) small.emplace(elements ? elements : max_elements_32bit(), grid ? grid : max_grid());
    const Plan plan(problem, options);

    Data data(problem, epilogue);
    if (info.precision == Precision::tf32x3 && !is_smooth(epilogue.activation)) data.widen_for(problem, operation());
    const std::vector<double> expected = expected_result(problem, options, data);
    FormattedRun run(Device::cuda, problem, options, data,
                     {offset_of("input"), offset_of("weight"), offset_of("bias"), offset_of("output")});
    const Status status = run.run(plan);
    if (status.code() == Status::Code::invalid_argument) throw Unsupported(status.message());  // tensors at such addresses
    if (!status.ok()) return status.message();
    const std::vector<float> actual = run.values();
    const ElementType type = result_format(options).type;
    // Where a curve follows, the last bit of the result's type may differ.
    const double bit = type == ElementType::float32   ? 2e-6
                       : type == ElementType::float16 ? 1e-3
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
