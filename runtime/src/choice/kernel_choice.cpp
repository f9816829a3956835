// The choice of a kernel: see kernel_choice.h.
#include "choice/kernel_choice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "choice/alternatives.h"
#include "choice/estimated_time.h"
#include "choice/flat_extent.h"
#include "choice/flat_tiles.h"
#include "choice/gather_time.h"
#include "choice/input_cells.h"
#include "choice/kernel_properties.h"
#include "choice/partial_sums.h"
#include "choice/registry.h"
#include "choice/rejection.h"
#include "choice/relative_time.h"
#include "choice/staged_columns.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "device/cpu_threads.h"
#include "device/machine.h"

namespace conv_transpose {

namespace {

using Candidates = std::vector<Candidate>;

const KernelTraits &named_kernel(const std::string &name) {
    for (const KernelTraits &k : registry())
        if (k.name == name) return k;
    throw Unsupported("kernel is '" + name + "', but this build has no kernel of that name");
}

PlanOptions on_device(PlanOptions options, Device device) {
    options.device = device;
    return options;
}

bool takes_formats(const KernelTraits &k, const PlanOptions &options) {
    const auto tensors = tensors_of(options.operation);
    return std::all_of(tensors.begin(), tensors.end(), [&](const TensorOfOperation &tensor) {
        return takes_format(k, tensor, options.operation, options.*tensor.asked);
    });
}

/// A request, with what is asked for again and again.
struct Request {
    const Problem &problem;
    const PlanOptions &options;
    Device device;
    Machine machine = this_machine(device);
    std::vector<Computation> computations = alternatives(problem, on_device(options, device));

    /// Appends the kernel with a computation that it accepts, of which one goes before that should take less time; else
    /// tells why it accepts none.
    std::string try_kernel(const KernelTraits &k, Candidates &accepting) const {
        std::string reason;
        std::optional<Candidate> best;
        for (const Computation &computation : computations) {
            const std::optional<Computation> other =
                is_flat(k) ? with_long_rows(computation) : with_input_cells(k, computation);
            const Computation &c = other ? *other : computation;
            std::string rejected = rejection(k, c, options, device, machine);
            if (rejected.empty()) {
                const Computation split = with_split_sum(k, c);
                if (!k.makes_parts || split.partial_sums > 1) {
                    const double seconds = has_estimate(k)               ? estimated_time({k, split}, machine)
                                           : gathers_single_channels(k) ? depthwise_gather_time(k, split, machine)
                                                                        : 0;
                    if (!best || seconds < best->seconds) best.emplace(k, split, seconds);
                    continue;
                }
                rejected = "its sum is not split";
            }
            // Pictures that are packed as rows tell nothing of a kernel that does not read them, nor do groups that are joined, or
            // pictures in other formats of one that takes them as they are.
            const bool reads_rows = k.box_positions > 0 || copies_packed_taps(k);
            const bool in_other_formats = c.read_format != computations[0].read_format ||
                                          c.written_format != computations[0].written_format;
            const bool could_be_taken = k.operation == c.operation && (!c.packed_rows || reads_rows) && c.joined_groups == 1 &&
                                        !(in_other_formats && takes_formats(k, options));
            if (reason.empty() || could_be_taken) reason = rejected;
        }
        if (!best) return reason;
        accepting.push_back(*best);
        return {};
    }

    /// In the registry's order.
    Candidates accepting() const {
        Candidates all;
        for (const KernelTraits &k : registry()) try_kernel(k, all);
        return all;
    }
};

// The one that is fastest by estimate, whatever its precision, among those that have one: tensor cores win nothing where memory
// limits, or where most of a tile is empty.
size_t fastest(const Candidates &candidates) {
    size_t best = candidates.size();
    for (size_t i = 0; i < candidates.size(); i++) {
        if (!has_estimate(candidates[i].kernel)) continue;
        if (best == candidates.size() || candidates[i].seconds < candidates[best].seconds) best = i;
    }
    return best;
}

// CPU kernels that are compared with others.
bool has_rate(const KernelTraits &k) { return k.device == Device::cpu && k.fma_percent > 0; }

// In units that are the same for all kernels of a problem and a device; of those that are compared with none, infinite.
double expected_time(const Candidate &c) {
    const Computation &computed = c.computation;
    if (has_rate(c.kernel))
        return relative_time(c.kernel, computed.problem, computed.read_format, computed.written_format, !is_only_thread());
    return has_estimate(c.kernel) || gathers_single_channels(c.kernel) ? c.seconds : std::numeric_limits<double>::infinity();
}

// Among CPU kernels with a rate, for vectors of the same width, the one is taken that should take least time; those for depthwise
// problems are compared with each other alone.
size_t least_wasteful(const Candidates &candidates, size_t first) {
    size_t best = first;
    for (size_t i = first + 1; i < candidates.size(); i++) {
        const KernelTraits &k = candidates[i].kernel;
        const bool compares = has_rate(k) && vector_of(k) == vector_of(candidates[first].kernel) &&
                              k.packs_groups == candidates[first].kernel.packs_groups;
        if (compares && expected_time(candidates[i]) < expected_time(candidates[best])) best = i;
    }
    return best;
}

// Among gathers of single channels, those of a layout are compared with each other alone.
size_t quickest_gather(const Candidates &candidates, size_t first) {
    size_t best = first;
    for (size_t i = first + 1; i < candidates.size(); i++) {
        const KernelTraits &k = candidates[i].kernel;
        const bool is_comparable = gathers_single_channels(k) && k.any_layout == candidates[first].kernel.any_layout;
        if (is_comparable && candidates[i].seconds < candidates[best].seconds) best = i;
    }
    return best;
}

// The first whose staging pays; but a tuned kernel of float32 was not compared with those of tensor cores, which go before it.
size_t preferred(const Candidates &candidates, Precision precision) {
    const auto has_precision = [&](const Candidate &c) { return c.kernel.precision == precision; };
    const bool none_has = std::none_of(candidates.begin(), candidates.end(), has_precision);
    const auto first = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate &c) {
        return (none_has || has_precision(c) || c.kernel.exact_input == Size2{}) && staging_pays(c.kernel, c.computation);
    });
    if (first == candidates.end()) return 0;
    if (has_rate(first->kernel)) return least_wasteful(candidates, first - candidates.begin());
    if (gathers_single_channels(first->kernel)) return quickest_gather(candidates, first - candidates.begin());
    return has_estimate(first->kernel) ? fastest(candidates) : first - candidates.begin();
}

// What no kernel for the operation and device takes, whatever the sizes are, and what would do; empty if each of rank and
// formats is taken by one.
std::string refused_by_all(const std::vector<const KernelTraits *> &related, const Problem &problem,
                           const PlanOptions &options) {
    const auto none = [&](auto &&accepts) { return std::none_of(related.begin(), related.end(), accepts); };
    int most = 0;
    for (const KernelTraits *k : related) most = std::max(most, k->rank);
    if (problem.rank > most)
        return "rank is " + std::to_string(problem.rank) +
               ", but this build's kernels for the operation and device take at most " + std::to_string(most);
    for (const TensorOfOperation &tensor : tensors_of(options.operation)) {
        const auto format = [&](const KernelTraits *k) { return tensor.format_of(*k, options.operation); };
        if (!none([&](const KernelTraits *k) { return takes_format(*k, tensor, options.operation, options.*tensor.asked); }))
            continue;
        std::string known;
        for (const KernelTraits *k : related)
            if (known.find(str(format(k))) == std::string::npos) known += (known.empty() ? "" : " or ") + str(format(k));
        return std::string(tensor.name) + " is " + str(options.*tensor.asked) +
               ", but this build's kernels for the operation and device take " + known + "; convert it";
    }
    if (options.operation != Operation::bias_gradient && options.input.type != options.output.type)
        return "input is " + str(options.input) + " and output is " + str(options.output) +
               ", but their elements must be of one type; convert one of them";
    return {};
}

[[noreturn]] void refuse(const Request &r) {
    std::vector<const KernelTraits *> related;
    for (const KernelTraits &k : registry())
        if (k.role == KernelRole::compute && k.operation == r.options.operation && k.device == r.device)
            related.push_back(&k);
    std::string reason = "this build has none for the operation and device";
    if (!related.empty()) reason = refused_by_all(related, r.computations[0].problem, r.options);
    Candidates none;
    std::erase_if(related, [&](const KernelTraits *k) { return !takes_formats(*k, r.options); });
    if (reason.empty() && related.empty()) reason = "none takes these formats together";
    if (reason.empty()) reason = std::string(related.back()->name) + ": " + r.try_kernel(*related.back(), none);
    throw Unsupported("no kernel can serve " + r.problem.str() + " (" + reason + ")");
}

}  // namespace

Candidate chosen_candidate(const Problem &problem, const PlanOptions &options, Device device) {
    const Request request{problem, options, device};
    if (options.kernel.empty()) {
        const Candidates candidates = request.accepting();
        if (candidates.empty()) refuse(request);
        return candidates[preferred(candidates, options.precision)];
    }
    Candidates candidates;
    const std::string reason = request.try_kernel(named_kernel(options.kernel), candidates);
    if (candidates.empty())
        throw Unsupported("kernel is '" + options.kernel + "', but it cannot serve " + problem.str() + ": " + reason);
    return candidates[0];
}

std::vector<Candidate> accepting_candidates(const Problem &problem, const PlanOptions &options, Device device) {
    const Request request{problem, options, device};
    Candidates all = request.accepting();
    if (all.empty()) return all;
    const Candidate &best = all[preferred(all, options.precision)];
    // Rates of CPU kernels are those of vectors of one width.
    const auto comparable_time = [&](const Candidate &c) {
        return vector_of(c.kernel) == vector_of(best.kernel) ? expected_time(c) : std::numeric_limits<double>::infinity();
    };
    std::vector<std::pair<double, const Candidate *>> others;
    for (const Candidate &c : all)
        if (&c != &best) others.emplace_back(comparable_time(c), &c);
    std::stable_sort(others.begin(), others.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    Candidates ordered{best};
    for (const auto &[time, c] : others) ordered.push_back(*c);
    return ordered;
}

}  // namespace conv_transpose
