// The C interface: a thin layer over the C++ one, where exceptions become statuses.
#include "conv_transpose/conv_transpose_c.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "choice/kernel_pack.h"
#include "choice/registry.h"
#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"
#include "conv_transpose/fastest_kernel.h"

using namespace conv_transpose;

struct conv_transpose_plan {
    Plan plan;
};

namespace {

void tell(const char *what, char *message, size_t size) {
    if (message && size > 0) std::snprintf(message, size, "%s", what);
}

// Runs something that throws as planning does.
template <class Function>
conv_transpose_status guarded(char *message, size_t size, Function function) {
    tell("", message, size);
    try {
        function();
        return CONV_TRANSPOSE_OK;
    } catch (const std::invalid_argument &error) {
        tell(error.what(), message, size);
        return CONV_TRANSPOSE_INVALID_ARGUMENT;
    } catch (const std::bad_alloc &) {
        tell("out of memory", message, size);
        return CONV_TRANSPOSE_OUT_OF_MEMORY;
    } catch (const std::exception &error) {
        tell(error.what(), message, size);
        return CONV_TRANSPOSE_UNSUPPORTED;
    }
}

conv_transpose_status translated(const Status &status, char *message, size_t size) {
    tell(status.message(), message, size);
    return static_cast<conv_transpose_status>(status.code());
}

static_assert(static_cast<int>(Status::Code::kernel_error) == CONV_TRANSPOSE_KERNEL_ERROR);

Axis to_axis(const conv_transpose_axis &c) {
    return {c.input, c.kernel, c.stride, c.padding, c.output_padding, c.dilation};
}

conv_transpose_axis to_c(const Axis &a) {
    return {a.input, a.kernel, a.stride, a.padding, a.output_padding, a.dilation};
}

Problem to_problem(const conv_transpose_problem &c) {
    Problem p;
    p.batch = c.batch, p.in_channels = c.in_channels, p.out_channels = c.out_channels, p.groups = c.groups;
    constexpr int64_t most = std::numeric_limits<int>::max();  // validate() rejects both ends
    p.rank = static_cast<int>(std::clamp<int64_t>(c.rank, -most, most));
    if (p.rank >= 3) p.depth() = to_axis(c.depth);
    if (p.rank >= 2) p.height() = to_axis(c.height);
    p.width() = to_axis(c.width);
    return p;
}

// Read as a number, whatever a C caller has put there; planning refuses what is no enumerator.
template <class Enum, class CEnum>
Enum to_enum(const CEnum &from) {
    int value;
    static_assert(sizeof from == sizeof value);
    std::memcpy(&value, &from, sizeof value);
    return static_cast<Enum>(value);
}

TensorFormat to_format(const conv_transpose_tensor_format &c) {
    return {to_enum<ElementType>(c.type), to_enum<Layout>(c.layout)};
}

PlanOptions to_options(const conv_transpose_plan_options &c) {
    PlanOptions options;
    options.operation = to_enum<Operation>(c.operation);
    options.device = to_enum<Device>(c.device);
    options.precision = to_enum<Precision>(c.precision);
    options.input = to_format(c.input), options.weight = to_format(c.weight), options.output = to_format(c.output);
    options.epilogue.bias = c.bias != 0;
    options.epilogue.activation = to_enum<Activation>(c.activation);
    options.epilogue.negative_slope = c.negative_slope;
    if (c.kernel) options.kernel = c.kernel;
    options.strict_propagation = c.strict_propagation != 0;
    return options;
}

Arguments to_arguments(const conv_transpose_arguments &c) {
    Arguments a;
    a.input = c.input, a.weight = c.weight, a.bias = c.bias, a.output = c.output;
    a.output_gradient = c.output_gradient, a.input_gradient = c.input_gradient;
    a.weight_gradient = c.weight_gradient, a.bias_gradient = c.bias_gradient,
    a.packed_weight = c.packed_weight;
    return a;
}

// For functions that do not throw otherwise.
conv_transpose_status null_argument(const char *name, char *message, size_t size) {
    if (message && size > 0) std::snprintf(message, size, "%s is NULL, but it must point to something", name);
    return CONV_TRANSPOSE_INVALID_ARGUMENT;
}

void require(const void *pointer, const char *name) {
    if (!pointer) throw InvalidProblem(name, std::string(name) + " is NULL, but it must point to something");
}

}  // namespace

extern "C" {

conv_transpose_status conv_transpose_problem_parse(const char *text, conv_transpose_problem *problem,
                                                   char *message, size_t size) {
    return guarded(message, size, [&] {
        require(text, "text");
        require(problem, "problem");
        const Problem p = Problem::parse(text);
        *problem = {p.batch, p.in_channels, p.out_channels, p.groups, p.rank,
                    to_c(p.depth()), to_c(p.height()), to_c(p.width())};
    });
}

conv_transpose_status conv_transpose_plan_create(const conv_transpose_problem *problem,
                                                 const conv_transpose_plan_options *options,
                                                 conv_transpose_plan **plan, char *message, size_t size) {
    return guarded(message, size, [&] {
        require(problem, "problem");
        require(plan, "plan");
        *plan = nullptr;
        *plan = new conv_transpose_plan{
            Plan(to_problem(*problem), options ? to_options(*options) : PlanOptions{})};
    });
}

void conv_transpose_plan_destroy(conv_transpose_plan *plan) { delete plan; }

conv_transpose_device conv_transpose_plan_device(const conv_transpose_plan *plan) {
    return plan ? static_cast<conv_transpose_device>(plan->plan.device()) : CONV_TRANSPOSE_AUTOMATIC;
}

// Names of kernels are string literals.
const char *conv_transpose_plan_kernel(const conv_transpose_plan *plan) {
    return plan ? plan->plan.kernel().data() : nullptr;
}

int conv_transpose_plan_is_last_resort(const conv_transpose_plan *plan) {
    return plan && plan->plan.is_last_resort();
}

void conv_transpose_plan_output_size(const conv_transpose_plan *plan, int64_t output[3]) {
    if (!output) return;
    for (size_t i = 0; i < 3; i++) output[i] = plan ? plan->plan.problem().axes[i].output() : 0;
}

size_t conv_transpose_plan_workspace_bytes(const conv_transpose_plan *plan, int with_packed_weight) {
    return plan ? plan->plan.workspace_bytes(with_packed_weight != 0) : 0;
}

size_t conv_transpose_plan_packed_weight_bytes(const conv_transpose_plan *plan) {
    return plan ? plan->plan.packed_weight_bytes() : 0;
}

conv_transpose_status conv_transpose_plan_pack_weight(const conv_transpose_plan *plan, const void *weight,
                                                      void *packed, void *stream, char *message,
                                                      size_t size) {
    if (!plan) return null_argument("plan", message, size);
    return translated(plan->plan.pack_weight(weight, packed, {stream}), message, size);
}

conv_transpose_status conv_transpose_plan_run(const conv_transpose_plan *plan,
                                              const conv_transpose_arguments *arguments, void *workspace,
                                              size_t workspace_bytes, void *stream, char *message,
                                              size_t size) {
    if (!plan) return null_argument("plan", message, size);
    if (!arguments) return null_argument("arguments", message, size);
    return translated(plan->plan.run(to_arguments(*arguments), {workspace, workspace_bytes}, {stream}), message, size);
}

conv_transpose_status conv_transpose_fastest_kernel(const conv_transpose_problem *problem,
                                                    const conv_transpose_plan_options *options,
                                                    const conv_transpose_arguments *arguments, void *stream, char *name,
                                                    size_t name_size, char *message, size_t size) {
    return guarded(message, size, [&] {
        require(problem, "problem");
        require(arguments, "arguments");
        require(name, "name");
        const std::string fastest = fastest_kernel(to_problem(*problem), options ? to_options(*options) : PlanOptions{},
                                                   to_arguments(*arguments), {stream});
        if (fastest.size() >= name_size)
            throw InvalidProblem("name_size", "name_size is " + std::to_string(name_size) + ", but it must be at least " +
                                                  std::to_string(fastest.size() + 1) + " for " + fastest);
        std::memcpy(name, fastest.c_str(), fastest.size() + 1);
    });
}

conv_transpose_status conv_transpose_synchronize(conv_transpose_device device, void *stream, char *message,
                                                 size_t size) {
    tell("", message, size);
    try {
        synchronize(to_enum<Device>(device), {stream});
        return CONV_TRANSPOSE_OK;
    } catch (const std::invalid_argument &error) {
        tell(error.what(), message, size);
        return CONV_TRANSPOSE_INVALID_ARGUMENT;
    } catch (const std::exception &error) {
        tell(error.what(), message, size);
        return CONV_TRANSPOSE_DEVICE_ERROR;
    }
}

int conv_transpose_cuda_available(void) { return cuda_available(); }

const char *conv_transpose_version(void) { return version().data(); }

// Names of kernels are string literals. A plan tells what is wrong with a kernel pack.
const char *conv_transpose_kernel_name(size_t i) {
    try {
        load_kernels_from_environment();
    } catch (const std::exception &) {
    }
    for (const KernelTraits &kernel : registry())
        if (kernel.role == KernelRole::compute && i-- == 0) return kernel.name.data();
    return nullptr;
}

conv_transpose_status conv_transpose_load_kernels(const char *directory, char *message, size_t size) {
    return guarded(message, size, [&] {
        require(directory, "directory");
        load_kernels(directory);
    });
}

void conv_transpose_set_cpu_threads(int threads) { set_cpu_threads(threads); }

}  // extern "C"
