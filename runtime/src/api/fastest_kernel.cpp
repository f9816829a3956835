// The choice by measurement: see fastest_kernel.h.
#include "conv_transpose/fastest_kernel.h"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

#include "conv_transpose/device_memory.h"
#include "conv_transpose/device_timer.h"

namespace conv_transpose {

namespace {

// A kernel that takes so many times as long as the fastest before it is not run again.
constexpr double hopeless = 1.5;
constexpr int repeats = 3, most_runs = 200;

void check(const Status &status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

/// A plan with all that its runs need.
class MeasuredPlan {
  public:
    MeasuredPlan(const Problem &problem, const PlanOptions &options, const Arguments &arguments, bool packed_weights)
        : plan_(problem, options), arguments_(arguments) {
        arguments_.packed_weight = nullptr;
        if (packed_weights && plan_.packed_weight_bytes() > 0) {
            packed_ = DeviceMemory(plan_.device(), plan_.packed_weight_bytes());
            check(plan_.pack_weight(arguments.weight, packed_.data()));
            synchronize(plan_.device());
            arguments_.packed_weight = packed_.data();
        }
        workspace_ = DeviceMemory(plan_.device(), plan_.workspace_bytes(arguments_.packed_weight != nullptr));
    }

    /// The least of some repeats, in milliseconds a run; of a first run, where that is hopeless beside `best`.
    double time(double best, double milliseconds) const {
        TimedWork once = work(1);
        once.run();
        const double first = std::max(once.run(), 1e-4);
        if (first > best * hopeless) return first;
        const int count = static_cast<int>(std::clamp(milliseconds / repeats / first, 1.0, double(most_runs)));
        TimedWork many = count > 1 ? work(count) : std::move(once);
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < repeats; i++) least = std::min(least, many.run() / count);
        return least;
    }

  private:
    Plan plan_;
    Arguments arguments_;
    DeviceMemory packed_, workspace_;

    TimedWork work(int count) const {
        return TimedWork(plan_.device(), [this, count](Stream stream) {
            Status status;
            for (int i = 0; i < count && status.ok(); i++)
                status = plan_.run(arguments_, {workspace_.data(), workspace_.bytes()}, stream);
            return status;
        });
    }
};

void require_valid(const MeasurementRules &rules) {
    if (rules.candidates < 1)
        throw std::invalid_argument("candidates is " + std::to_string(rules.candidates) + ", but it must be at least 1");
    if (!(rules.milliseconds > 0))
        throw std::invalid_argument("milliseconds is " + std::to_string(rules.milliseconds) + ", but it must be positive");
}

}  // namespace

std::string fastest_kernel(const Problem &problem, const PlanOptions &options, const Arguments &arguments, Stream stream,
                           const MeasurementRules &rules) {
    require_valid(rules);
    PlanOptions of_candidate = options;
    of_candidate.kernel.clear();
    const Plan estimated(problem, of_candidate);
    if (problem.batch == 0) return std::string(estimated.kernel());
    synchronize(estimated.device(), stream);
    std::string fastest, refusal;
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::string_view> names = kernels_for(problem, of_candidate);
    names.resize(std::min(names.size(), static_cast<std::size_t>(rules.candidates)));
    for (const std::string_view name : names) {
        try {
            of_candidate.kernel = name;
            const MeasuredPlan plan(problem, of_candidate, arguments, rules.packed_weights);
            const double milliseconds = plan.time(best, rules.milliseconds);
            if (milliseconds < best) best = milliseconds, fastest = name;
        } catch (const std::bad_alloc &) {
            if (refusal.empty()) refusal = "out of memory";
        } catch (const std::runtime_error &error) {
            if (refusal.empty()) refusal = error.what();
        }
    }
    if (fastest.empty()) throw std::runtime_error(refusal);
    return fastest;
}

}  // namespace conv_transpose
