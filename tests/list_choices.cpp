// Prints what is chosen for problems, so that a change of the runtime that should change no choice can be held against
// the output before it:
//   list_choices cpu tests/shapes/*.txt
//   LD_LIBRARY_PATH=build/tests/ptx_machine PTX_MACHINE_CODE=build/runtime/kernels list_choices cuda tests/shapes/*.txt
// A line for each problem, format of all tensors, operation and precision: the kernel, how many would do, bytes of workspace and
// packed weight.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "conv_transpose/conv_transpose.h"

using namespace conv_transpose;

namespace {

constexpr const char *operations[] = {"forward", "input_gradient", "weight_gradient", "bias_gradient"};
constexpr const char *precisions[] = {"float32", "tf32", "tf32x3"};

struct NamedFormat {
    const char *name;
    TensorFormat format;
};
constexpr NamedFormat formats[] = {{"", {}},
                                   {" f32 channels_last", {ElementType::float32, Layout::channels_last}},
                                   {" f16", {ElementType::float16, Layout::channels_first}},
                                   {" f16 channels_last", {ElementType::float16, Layout::channels_last}}};

void print_choice(const Problem &problem, const std::string &text, const PlanOptions &options) {
    std::printf("%s %s %s: ", text.c_str(), operations[int(options.operation)], precisions[int(options.precision)]);
    try {
        const Plan plan(problem, options);
        std::printf("%s of %zu, %zu %zu %zu\n", std::string(plan.kernel()).c_str(), kernels_for(problem, options).size(),
                    plan.workspace_bytes(), plan.workspace_bytes(true), plan.packed_weight_bytes());
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
}

void print_choices(const std::string &text, Device device) {
    const Problem problem = Problem::parse(text);
    std::printf("%s\n", problem.str().c_str());
    for (const auto &[name, format] : formats)
        for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient})
            for (Precision precision : {Precision::float32, Precision::tf32, Precision::tf32x3}) {
                PlanOptions options;
                options.device = device;
                options.operation = operation;
                options.precision = precision;
                options.input = options.weight = options.output = format;
                print_choice(problem, text + name, options);
            }
}

}  // namespace

int main(int count, char **arguments) {
    const bool cuda = count > 1 && std::string(arguments[1]) == "cuda";
    for (int i = 2; i < count; i++) {
        std::ifstream file(arguments[i]);
        for (std::string line, problem; std::getline(file, line);)
            if (std::istringstream(line) >> problem && problem[0] != '#')
                print_choices(problem, cuda ? Device::cuda : Device::cpu);
    }
}
