// Prints what kernels are estimated to take, for compare_estimates.py. Of each line of the input, such as
//   cuda forward float16 channels_last float32 n8ic64oc64ih256iw256kh4kw4sh2sw2ph1pw1
// (device, operation, elements and layout of all tensors, precision, problem), a line for each kernel that accepts it, what is
// chosen first: the number of the line, from 0 on, the kernel, and microseconds, or on a CPU units that are the same for all kernels
// of a problem; 0 of kernels without an estimate. The GPU is the one at hand, or that of tests/ptx_machine, as for list_choices. An
// argument is the number of a CPU's threads.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "choice/estimated_time.h"
#include "choice/flat_extent.h"
#include "choice/kernel_choice.h"
#include "choice/relative_time.h"
#include "device/cpu_threads.h"

using namespace conv_transpose;

namespace {

constexpr const char *devices[] = {"automatic", "cpu", "cuda"};
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

/// Of a CPU's kernels, those that are compared with the one that is chosen.
double estimate_of(const Candidate &c, const KernelTraits &chosen) {
    const KernelTraits &k = c.kernel;
    if (k.device == Device::cuda) return has_estimate(k) ? 1e6 * c.seconds : 0;
    const bool compares = k.fma_percent > 0 && vector_of(k) == vector_of(chosen) && k.packs_groups == chosen.packs_groups;
    const Computation &computed = c.computation;
    if (!compares) return 0;
    return relative_time(k, computed.problem, computed.read_format, computed.written_format, !is_only_thread());
}

void print_estimates(int number, const std::string &line) {
    std::istringstream words(line);
    PlanOptions options;
    options.device = read<Device>(words, devices);
    options.operation = read<Operation>(words, operations);
    TensorFormat format;
    format.type = read<ElementType>(words, element_types);
    format.layout = read<Layout>(words, layouts);
    options.input = options.weight = options.output = format;
    options.precision = read<Precision>(words, precisions);
    std::string problem;
    words >> problem;
    const auto candidates = accepting_candidates(Problem::parse(problem), options, options.device);
    for (const Candidate &c : candidates)
        std::printf("%d %s %.6g\n", number, std::string(c.kernel.name).c_str(), estimate_of(c, candidates.front().kernel));
}

}  // namespace

int main(int count, char **arguments) {
    if (count > 1) set_cpu_threads(std::atoi(arguments[1]));
    int number = 0;
    for (std::string line; std::getline(std::cin, line); number++) {
        try {
            print_estimates(number, line);
        } catch (const std::exception &error) {
            std::fprintf(stderr, "%s: %s\n", line.c_str(), error.what());
        }
    }
}
