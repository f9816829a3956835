// The choice of a kernel: see kernel_choice.h.
#include "kernel_choice.h"

#include <algorithm>
#include <string>

#include "estimated_time.h"
#include "forward_of_input_gradient.h"
#include "machine.h"

namespace conv_transpose {

namespace {

using Kernels = std::vector<const KernelTraits *>;

const KernelTraits &named_kernel(const std::string &name) {
    for (const KernelTraits &k : registry())
        if (k.name == name) return k;
    throw Unsupported("kernel is '" + name + "', but this build has no kernel of that name");
}

// Why a kernel is not for this plan; empty if it is.
std::string refusal(const KernelTraits &k, const Problem &problem, const PlanOptions &options, Device device,
                    const Machine &machine) {
    const std::string reason = rejection(k, problem, options.operation, device, options.precision, machine);
    if (reason.empty() && options.strict_propagation && !k.strict_propagation)
        return "it lets an Inf or NaN reach further than strict_propagation allows";
    return reason;
}

// In the registry's order.
Kernels accepting(const Problem &problem, const PlanOptions &options, Device device, const Machine &machine) {
    Kernels kernels;
    for (const KernelTraits &k : registry())
        if (refusal(k, problem, options, device, machine).empty()) kernels.push_back(&k);
    return kernels;
}

// Of those with a known rate, the one that is fastest by estimate.
const KernelTraits *fastest(const Kernels &kernels, const Problem &problem, Operation operation, Precision precision,
                            const Machine &machine) {
    const KernelTraits *best = nullptr;
    double least = 0;
    for (const KernelTraits *k : kernels) {
        if (k->rate == 0 || k->precision != precision) continue;
        const bool as_forward = k->operation != operation;  // see forward_of_input_gradient.h
        const double time = estimated_time(*k, as_forward ? *forward_of_input_gradient(problem) : problem, machine);
        if (!best || time < least) best = k, least = time;
    }
    return best;
}

// The first; but a tuned kernel of float32 was not compared with those of tensor cores, which go before it.
// Where there are none of the precision, float32's.
const KernelTraits *preferred(const Kernels &kernels, const Problem &problem, Operation operation, Precision precision,
                              const Machine &machine) {
    const auto first = std::find_if(kernels.begin(), kernels.end(), [&](const KernelTraits *k) {
        return k->precision == precision || k->exact_input == Size2{};
    });
    if (first == kernels.end() || (*first)->precision != precision)
        return preferred(kernels, problem, operation, Precision::float32, machine);
    return (*first)->rate == 0 ? *first : fastest(kernels, problem, operation, precision, machine);
}

[[noreturn]] void refuse(const Problem &problem, const PlanOptions &options, Device device, const Machine &machine) {
    std::string reason = "this build has none for the operation and device";
    for (const KernelTraits &k : registry()) {
        const bool related = k.role == KernelRole::compute && k.operation == options.operation && k.device == device;
        if (related)
            reason = std::string(k.name) + ": " + refusal(k, problem, options, device, machine);
    }
    throw Unsupported("no kernel can serve " + problem.str() + " (" + reason + ")");
}

}  // namespace

const KernelTraits &chosen_kernel(const Problem &problem, const PlanOptions &options, Device device) {
    const Machine machine = this_machine();
    if (options.kernel.empty()) {
        const Kernels kernels = accepting(problem, options, device, machine);
        if (kernels.empty()) refuse(problem, options, device, machine);
        return *preferred(kernels, problem, options.operation, options.precision, machine);
    }
    const KernelTraits &kernel = named_kernel(options.kernel);
    const std::string reason = refusal(kernel, problem, options, device, machine);
    if (!reason.empty())
        throw Unsupported("kernel is '" + options.kernel + "', but it cannot serve " + problem.str() + ": " + reason);
    return kernel;
}

std::vector<const KernelTraits *> accepting_kernels(const Problem &problem, const PlanOptions &options, Device device) {
    const Machine machine = this_machine();
    Kernels kernels = accepting(problem, options, device, machine);
    if (!kernels.empty()) {
        const KernelTraits *best = preferred(kernels, problem, options.operation, options.precision, machine);
        const auto first = std::find(kernels.begin(), kernels.end(), best);
        std::rotate(kernels.begin(), first, first + 1);
    }
    return kernels;
}

}  // namespace conv_transpose
