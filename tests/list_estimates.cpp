// Prints what GPU kernels are estimated to take, for compare_estimates.py. Of each line of the input, such as
//   forward float16 channels_last float32 n8ic64oc64ih256iw256kh4kw4sh2sw2ph1pw1
// (operation, elements and layout of all tensors, precision, problem), a line for each kernel that accepts it, what is chosen first:
// the number of the line, from 0 on, the kernel, and microseconds, 0 of kernels without an estimate. The GPU is the one at hand, or
// that of tests/ptx_machine, as for list_choices.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "choice/estimated_time.h"
#include "choice/kernel_choice.h"

using namespace conv_transpose;

namespace {

constexpr const char *operations[] = {"forward", "input_gradient", "weight_gradient"};
constexpr const char *element_types[] = {"float32", "float16", "bfloat16"};
constexpr const char *layouts[] = {"channels_first", "channels_last"};
constexpr const char *precisions[] = {"float32", "tf32", "tf32x3"};

/// Enumerators are named in order.
template <class Enum, class Names>
Enum read(std::istream &words, const Names &names) {
    std::string word;
    words >> word;
    const auto found = std::find(std::begin(names), std::end(names), word);
    if (found == std::end(names)) throw std::invalid_argument("'" + word + "' is none of its names");
    return static_cast<Enum>(found - std::begin(names));
}

void print_estimates(int number, const std::string &line) {
    std::istringstream words(line);
    PlanOptions options;
    options.device = Device::cuda;
    options.operation = read<Operation>(words, operations);
    TensorFormat format;
    format.type = read<ElementType>(words, element_types);
    format.layout = read<Layout>(words, layouts);
    options.input = options.weight = options.output = format;
    options.precision = read<Precision>(words, precisions);
    std::string problem;
    words >> problem;
    for (const Candidate &c : accepting_candidates(Problem::parse(problem), options, Device::cuda))
        std::printf("%d %s %.6g\n", number, std::string(c.kernel.name).c_str(),
                    has_estimate(c.kernel) ? 1e6 * c.seconds : 0);
}

}  // namespace

int main() {
    int number = 0;
    for (std::string line; std::getline(std::cin, line); number++) {
        try {
            print_estimates(number, line);
        } catch (const std::exception &error) {
            std::fprintf(stderr, "%s: %s\n", line.c_str(), error.what());
        }
    }
}
