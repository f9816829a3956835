// Plan: checking what a run is given, and running.
#include "conv_transpose/conv_transpose.h"

#include <cstdio>

#include "algorithm/machine_facts.h"
#include "choice/kernel_choice.h"
#include "choice/kernel_pack.h"
#include "choice/kernel_properties.h"
#include "choice/registry.h"
#include "device/cuda_driver.h"
#include "device/memory_checks.h"
#include "plan/argument_ranges.h"
#include "plan/builders.h"
#include "plan/plan_requests.h"

namespace conv_transpose {

struct Plan::Impl {
    Problem problem;
    PlanOptions options;
    Device device;
    const KernelTraits *kernel;
    Recipe recipe;
};

namespace {

bool has_cuda_kernels() {
    return any_kernel([](const KernelTraits &k) { return k.device == Device::cuda && k.role == KernelRole::compute; });
}

Device resolve(Device wanted) {
    if (wanted == Device::cuda && !cuda_available())
        throw Unsupported(has_cuda_kernels()
                              ? "device is cuda, but there is no usable GPU or driver; use cpu or automatic"
                              : "device is cuda, but this build has no CUDA kernels; use cpu or automatic");
    return place(wanted);
}

// Some ten microseconds of work for one thread, which is about what it takes to wake others.
bool is_tiny(const Problem &p) {
    const double products = double(p.input_elements()) * (p.out_channels / p.groups) * taps(p);
    return products + p.output_elements() < 1e5;
}

// Runs with the caller's context current, for CUDA.
template <class Function>
Status with_context(const Plan::Impl &plan, Stream stream, bool rehearsal, Function function) {
    RunContext context;
    context.rehearsal = rehearsal;
    context.serial = is_tiny(plan.problem);
    if (plan.device == Device::cpu) return function(context);
    context.stream = stream.handle;
    const ScopedCudaContext scope(stream.handle);
    if (scope.result() != CUDA_SUCCESS) {
        char message[200];
        std::snprintf(message, sizeof message, "CUDA: no context for the stream: %s",
                      cuda_driver()->error_string(scope.result()));
        return {Status::Code::device_error, message};
    }
    return function(context);
}

// Loads the code and lets the kernels check the shapes, without computing: with addresses that nobody reads. CPU
// kernels have nothing to load and would compute.
void rehearse(const Plan::Impl &plan) {
    if (plan.device == Device::cpu || plan.problem.batch == 0) return;
    void *const nowhere = reinterpret_cast<void *>(uintptr_t{256});
    Arguments arguments;
    arguments.input = arguments.weight = arguments.bias = arguments.output_gradient = nowhere;
    arguments.output = arguments.input_gradient = arguments.weight_gradient = arguments.bias_gradient = nowhere;
    const Status status = with_context(plan, {}, true, [&](RunContext &context) {
        return plan.recipe.run(arguments, nowhere, context);
    });
    if (!status.ok()) throw Unsupported(status.message());
}

Status null_argument(const char *name) {
    char message[100];
    std::snprintf(message, sizeof message, "%s is null, but the operation needs it", name);
    return {Status::Code::invalid_argument, message};
}

}  // namespace

Plan::Plan(const Problem &problem, const PlanOptions &options) {
    problem.validate();
    require_valid(options);
    require_valid_pixels(problem, options);
    require_addressable(problem);
    load_kernels_from_environment();
    const Device device = resolve(options.device);
    const Candidate candidate = chosen_candidate(problem, options, device);
    auto impl = std::make_shared<Impl>(
        Impl{problem, options, device, &candidate.kernel, recipe(candidate, options.epilogue)});
    require_addressable("the workspace", static_cast<double>(impl->recipe.workspace_bytes(false)));
    rehearse(*impl);
    impl_ = std::move(impl);
}

const Problem &Plan::problem() const noexcept { return impl_->problem; }
const PlanOptions &Plan::options() const noexcept { return impl_->options; }
Device Plan::device() const noexcept { return impl_->device; }
std::string_view Plan::kernel() const noexcept { return impl_->kernel->name; }
bool Plan::is_last_resort() const noexcept { return conv_transpose::is_last_resort(*impl_->kernel); }

std::size_t Plan::workspace_bytes(bool with_packed_weight) const noexcept {
    return impl_->recipe.workspace_bytes(with_packed_weight);
}

std::size_t Plan::packed_weight_bytes() const noexcept { return impl_->recipe.packed_weight_bytes(); }

Status Plan::pack_weight(const void *weight, void *packed, Stream stream) const noexcept {
    if (packed_weight_bytes() == 0) return {};
    if (!weight) return null_argument("weight");
    if (!packed) return null_argument("packed");
    const Status placed =
        require_packing_placed(impl_->problem, impl_->options, weight, packed, packed_weight_bytes());
    if (!placed.ok()) return placed;
    return with_context(*impl_, stream, false,
                        [&](RunContext &context) { return impl_->recipe.pack_weight(weight, packed, context); });
}

Status Plan::run(const Arguments &arguments, Workspace workspace, Stream stream) const noexcept {
    if (impl_->problem.output_elements() == 0 && impl_->options.operation != Operation::weight_gradient &&
        impl_->options.operation != Operation::bias_gradient)
        return {};
    if (const char *name = impl_->recipe.missing_argument(arguments)) return null_argument(name);
    const std::size_t needed = workspace_bytes(arguments.packed_weight != nullptr);
    if (needed > 0 && (workspace.bytes < needed || !workspace.data)) {
        char message[120];
        std::snprintf(message, sizeof message, "workspace has %zu bytes, but the plan needs %zu (workspace_bytes())",
                      workspace.data ? workspace.bytes : std::size_t{0}, needed);
        return {Status::Code::workspace_too_small, message};
    }
    const Status placed = require_placed(impl_->problem, impl_->options, arguments, packed_weight_bytes(),
                                         {workspace.data, needed});
    if (!placed.ok()) return placed;
    return with_context(*impl_, stream, false,
                        [&](RunContext &context) { return impl_->recipe.run(arguments, workspace.data, context); });
}

std::vector<KernelInfo> kernels() {
    load_kernels_from_environment();
    std::vector<KernelInfo> infos;
    for (const KernelTraits &k : registry())
        if (k.role == KernelRole::compute) infos.push_back({k.name, k.operation, k.device, k.precision});
    return infos;
}

std::vector<std::string_view> kernels_for(const Problem &problem, const PlanOptions &options) {
    problem.validate();
    require_valid(options);
    require_valid_pixels(problem, options);
    load_kernels_from_environment();
    const Device device = resolve(options.device);
    std::vector<std::string_view> names;
    for (const Candidate &c : accepting_candidates(problem, options, device)) names.push_back(c.kernel.name);
    return names;
}

bool cuda_available() noexcept {
    static const bool has_kernels = has_cuda_kernels();
    return has_kernels && compute_capability() >= machines::least_compute_capability;
}

std::string_view version() noexcept { return CONV_TRANSPOSE_VERSION; }

}  // namespace conv_transpose
