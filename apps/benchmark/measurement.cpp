// Verifying and timing one kernel: see measurement.h.
#include "measurement.h"

#include <algorithm>
#include <vector>

#include "verification.h"

namespace conv_transpose::benchmark {

namespace {

// GPU: so many sets of tensors that together they exceed the cache several times, else a repeated run would
// find its data there. CPU: one set; an application that runs a network finds its tensors in the cache or not
// as we do.
std::vector<Operands> rotating_operands(const Plan &plan, Operands &&first) {
    std::vector<Operands> sets;
    sets.push_back(std::move(first));
    if (plan.device() == Device::cpu) return sets;
    const auto bytes =
        static_cast<size_t>(std::max<int64_t>(Extents(plan.problem(), plan.options()).bytes(), 1));
    const size_t wanted = std::min<size_t>(3 * device_facts(Device::cuda).cache_bytes / bytes + 1, 64);
    while (sets.size() < wanted) sets.emplace_back(plan);
    return sets;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + values.size() / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Milliseconds a run, one value a repeat. A repeat on the GPU is a graph of enough runs to hide what
// surrounds it.
std::vector<double> time_repeats(const Plan &plan, const std::vector<Operands> &sets,
                                 const MeasuringRules &rules, double best_ms) {
    size_t next = 0;
    const auto one_run = [&](Stream stream) {
        const Operands &operands = sets[next++ % sets.size()];
        return plan.run(operands.arguments(), operands.workspace(), stream);
    };
    const auto runs = [&](int count) {
        return TimedWork(plan.device(), [&one_run, count](Stream stream) {
            Status status;
            for (int i = 0; i < count && status.ok(); i++) status = one_run(stream);
            return status;
        });
    };
    TimedWork single = runs(1);
    single.run();
    double estimate = std::max(single.run(), 1e-4);
    const auto hopeless = [&] { return best_ms > 0 && estimate > best_ms * rules.give_up_ratio; };

    constexpr double repeat_ms = 5;
    const int count =
        plan.device() == Device::cpu ? 1 : std::clamp(static_cast<int>(repeat_ms / estimate), 1, 1000);
    TimedWork repeat = count == 1 ? std::move(single) : runs(count);
    repeat.run();
    std::vector<double> times;
    double total_ms = 0;
    while (static_cast<int>(times.size()) < rules.min_repeats ||
           (total_ms < 1e3 * rules.seconds && static_cast<int>(times.size()) < rules.max_repeats &&
            !hopeless())) {
        const double ms = repeat.run();
        total_ms += ms;
        times.push_back(ms / count);
        estimate = *std::min_element(times.begin(), times.end());
    }
    return times;
}

void verify_and_time(const Plan &plan, const MeasuringRules &rules, double best_ms, Measurement &result) {
    Operands operands(plan);
    if (result.error = verify(plan, operands); !result.error.empty()) return;
    static const Data data = Data::reals();
    std::vector<Operands> sets = rotating_operands(plan, std::move(operands));
    for (Operands &set : sets) {
        set.fill(data);
        if (rules.packed_weights) set.pack_weight(plan);
    }
    const std::vector<double> times = time_repeats(plan, sets, rules, best_ms);
    result.ms_min = *std::min_element(times.begin(), times.end());
    result.ms_median = median(times);
    result.repeats = static_cast<int>(times.size());
}

}  // namespace

Measurement measure(const NamedProblem &problem, const PlanOptions &options, const Peaks &peaks,
                    const MeasuringRules &rules, double best_ms) {
    Measurement result;
    result.problem = problem;
    result.options = options;
    result.device = options.device;
    result.kernel = options.kernel;
    result.work = Work(problem.problem, options);
    result.limit_ms = result.work.limit_ms(peaks);
    try {
        const Plan plan(problem.problem, options);
        result.kernel = plan.kernel();
        verify_and_time(plan, rules, best_ms, result);
    } catch (const std::bad_alloc &) {
        result.error = "out of memory";
    } catch (const std::exception &error) {
        result.error = error.what();
    }
    return result;
}

}  // namespace conv_transpose::benchmark
