// Plans of problems that nobody has: sizes up to what validate() lets through. Planning is quick, tells of nothing
// that no machine has, and estimates are times. CONV_TRANSPOSE_FUZZ_SEED asks for other problems.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>
#include <string>

#include "run_plan.h"
#include "runtime/src/choice/alternatives.h"
#include "runtime/src/choice/estimated_time.h"
#include "runtime/src/choice/flat_extent.h"
#include "runtime/src/choice/kernel_choice.h"
#include "runtime/src/choice/partial_sums.h"
#include "runtime/src/choice/registry.h"
#include "runtime/src/choice/rejection.h"
#include "runtime/src/choice/relative_time.h"

namespace conv_transpose::testing {
namespace {

/// They are this thread's, so that a busy machine does not count.
double processor_seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

unsigned seed() {
    const char *wanted = std::getenv("CONV_TRANSPOSE_FUZZ_SEED");
    return wanted ? std::atoi(wanted) : 1;
}

#ifdef CONV_TRANSPOSE_SANITIZED
constexpr double slowed_down = 100;  // by a sanitizer
#else
constexpr double slowed_down = 1;
#endif
constexpr double most_seconds = 0.01 * slowed_down, most_bytes = double(int64_t{1} << 47);

/// The least of a few measurements, where the first takes too long: caches and cores are others', too.
template <class Measure>
double least_seconds(Measure measure) {
    double least = std::numeric_limits<double>::infinity();
    for (int tries = 0; tries < 10 && least >= most_seconds; tries++) least = std::min(least, measure());
    return least;
}

template <class Work>
double processor_seconds_of(Work work) {
    return least_seconds([&] {
        const double before = processor_seconds();
        work();
        return processor_seconds() - before;
    });
}

class WildProblems {
  public:
    explicit WildProblems(unsigned seed) : random_(seed) {}

    Problem next() {
        for (;;) {
            const Problem p = draw();
            try {
                p.validate();
                return p;
            } catch (const InvalidProblem &) {
            }
        }
    }

    /// As a rule float32; else one type, or float32 weights, in any layouts.
    void draw_formats(PlanOptions &options) {
        if (between(0, 1)) return;
        const auto type = static_cast<ElementType>(between(0, 2));
        const auto layout = [&] { return static_cast<Layout>(between(0, 1)); };
        options.input = {type, layout()}, options.output = {type, layout()};
        options.weight = {between(0, 3) ? type : ElementType::float32, layout()};
    }

    int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  private:
    std::mt19937_64 random_;

    /// It has any magnitude up to 2^bits, and is often a power of two or a neighbour of one.
    int64_t size(int bits, int64_t least = 1) {
        const int magnitude = static_cast<int>(between(0, between(0, bits)));
        const int64_t power = int64_t{1} << magnitude;
        const int64_t value = between(0, 2) == 0 ? power + between(-1, 1) : between(1, power);
        return std::clamp<int64_t>(value, least, int64_t{1} << bits);
    }

    Problem draw() {
        Problem p;
        const int bits = between(0, 3) == 0 ? 30 : static_cast<int>(between(3, 16));
        p.batch = between(0, 20) == 0 ? 0 : size(between(0, 5) == 0 ? 60 : bits);
        p.groups = between(0, 1) ? 1 : size(bits);
        p.in_channels = p.groups * size(bits);
        p.out_channels = p.groups * size(bits);
        p.rank = static_cast<int>(between(1, 3));
        for (int i = 3 - p.rank; i < 3; i++) {
            Axis &axis = p.axes[i];
            axis.input = between(0, 3) == 0 ? 1 : size(bits);
            axis.kernel = size(between(0, 1) ? 4 : bits);
            axis.stride = between(0, 2) == 0 ? 1 : size(between(0, 1) ? 3 : bits);
            axis.dilation = between(0, 1) ? 1 : size(between(0, 1) ? 3 : bits);
            axis.padding = between(0, 1) ? 0 : size(between(0, 1) ? 4 : bits);
            axis.output_padding = between(0, 1) ? 0 : between(0, std::max(axis.stride, axis.dilation) - 1);
        }
        return p;
    }
};

constexpr Operation operations[] = {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient};
constexpr Precision precisions[] = {Precision::float32, Precision::tf32, Precision::tf32x3};

std::string described(const Problem &p, const PlanOptions &options) {
    std::string text = p.str() + ", operation " + std::to_string(static_cast<int>(options.operation)) + ", formats";
    for (TensorFormat format : {options.input, options.weight, options.output})
        text += " " + std::to_string(static_cast<int>(format.type)) + "." + std::to_string(static_cast<int>(format.layout));
    return text;
}

// Where ctest runs it, in a process of its own, this is the first plan that a child makes.
TEST(FirstPlan, IsQuickAsWell) {
    const Problem p = Problem::parse("n1g1ic64oc64ih32iw32kh3kw3ph1pw1");
    PlanOptions options;
    options.device = Device::cpu;
    const auto measure_in_a_child = [&] {
        const pid_t child = fork();
        if (child == 0) {
            const double before = processor_seconds();
            const Plan plan(p, options);
            const double percent = 100 * (processor_seconds() - before) / most_seconds;
            _exit(static_cast<int>(std::min(percent, 255.)));
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) / 100. * most_seconds : std::nan("");
    };
    EXPECT_LT(least_seconds(measure_in_a_child), most_seconds);
}

class PlanFuzz : public DeviceTest {};

TEST_P(PlanFuzz, IsQuickAndAsksForNothingThatNoMachineHas) {
    WildProblems random(seed());
    int planned = 0;
    const int count = std::max(4000, 10 * random_problem_count(GetParam()));
    for (int i = 0; i < count && !HasFailure(); i++) {
        const Problem p = random.next();
        PlanOptions wanted = options();
        wanted.operation = operations[random.between(0, 3)];
        wanted.precision = precisions[random.between(0, 2)];
        wanted.epilogue.bias = wanted.operation == Operation::forward && random.between(0, 1);
        random.draw_formats(wanted);
        const Trace trace(described(p, wanted));
        const auto make = [&] {
            try {
                const Plan plan(p, wanted);
                EXPECT_LE(static_cast<double>(plan.workspace_bytes()), most_bytes) << plan.kernel();
                EXPECT_LE(static_cast<double>(plan.packed_weight_bytes()), most_bytes) << plan.kernel();
                EXPECT_LE(plan.workspace_bytes(true), plan.workspace_bytes()) << plan.kernel();
                planned++;
            } catch (const Unsupported &error) {
                EXPECT_STRNE(error.what(), "");
            }
        };
        make();  // loads code, and pages of the program
        EXPECT_LT(processor_seconds_of(make), most_seconds);
    }
    EXPECT_GT(planned, count / 4);
}

INSTANTIATE_ON_DEVICES(PlanFuzz);

// The choice among CUDA's kernels, as an H200's plan makes it, where there is no GPU, too.
class EstimateFuzz : public ::testing::Test {
  protected:
    Machine machine_{.compute_capability = 90, .shared_bytes = 227 << 10, .multiprocessors = 132};

    void expect_quick_times(const Problem &p, PlanOptions wanted) const {
        const Trace trace(described(p, wanted));
        const auto estimate_all = [&] {
            for (const Computation &c : alternatives(p, wanted))
                for (const KernelTraits &k : registry()) {
                    wanted.precision = k.precision;
                    if (!has_estimate(k) || !rejection(k, c, wanted, Device::cuda, machine_).empty()) continue;
                    const double time = estimated_time({k, with_split_sum(k, c)}, machine_);
                    EXPECT_TRUE(std::isfinite(time) && (p.batch == 0 ? time >= 0 : time > 0))
                        << k.name << " takes " << time << " s";
                }
        };
        EXPECT_LT(processor_seconds_of(estimate_all), most_seconds);
    }
};

TEST_F(EstimateFuzz, IsATimeAndQuick) {
    WildProblems random(seed() + 1);
    for (int i = 0; i < 2 * random_problem_count(Device::cpu) && !HasFailure(); i++) {
        const Problem p = random.next();
        PlanOptions wanted;
        wanted.operation = operations[random.between(0, 2)];
        random.draw_formats(wanted);
        expect_quick_times(p, wanted);
    }
}

// Taps see a corner of large pictures, so that many fit the memory that they are packed into, but not a launch.
TEST_F(EstimateFuzz, OfManyPicturesIsQuick) {
    for (Operation operation : operations) {
        PlanOptions wanted;
        wanted.operation = operation;
        expect_quick_times(Problem::parse("n16777216ic8oc8ih1iw1kh1kw1sh1024sw1024oph1023opw1023"), wanted);
    }
}

bool has_rate(const KernelTraits &k) { return k.device == Device::cpu && k.fma_percent > 0; }

double relative_time_of(const Candidate &c, bool shared) {
    return relative_time(c.kernel, c.computation.problem, c.computation.read_format, c.computation.written_format, shared);
}

TEST(CpuEstimate, IsATime) {
    WildProblems random(seed() + 2);
    const Problem sees_nothing = Problem::parse("n3ic8oc16id1ih127iw15kd1kh6kw1sd5sh1sw4pd1opd4");
    for (int i = 0; i < 2 * random_problem_count(Device::cpu) && !::testing::Test::HasFailure(); i++) {
        const Problem p = i == 0 ? sees_nothing : random.next();
        PlanOptions wanted;
        wanted.operation = i == 0 ? Operation::forward : operations[random.between(0, 1)];
        random.draw_formats(wanted);
        const Trace trace(described(p, wanted));
        try {
            for (const Candidate &c : accepting_candidates(p, wanted, Device::cpu)) {
                if (!has_rate(c.kernel)) continue;
                for (const bool shared : {false, true}) {
                    const double time = relative_time_of(c, shared);
                    EXPECT_TRUE(std::isfinite(time) && (p.batch == 0 ? time >= 0 : time > 0)) << c.kernel.name << " takes " << time;
                }
            }
        } catch (const Unsupported &) {
        }
    }
}

constexpr const char *layers[] = {
    "n1g1ic64oc64ih56iw56kh3kw3ph1pw1", "n1g1ic3oc64ih64iw64kh7kw7", "n2g1ic512oc256ih8iw8kh4kw4sh2sw2ph1pw1",
    "n1g1ic32oc3ih128iw128kh5kw5ph2pw2", "n4g1ic256oc128ih16iw16kh2kw2sh2sw2", "n1g1ic96oc96ih31iw33kh1kw1",
    "n1g64ic64oc64ih32iw32kh3kw3ph1pw1", "n1g1ic100oc1ih1iw1kh4kw4", "n1g1ic16oc16iw4000kw16sw8pw4"};

/// What is taken takes no longer than any other of its kind, by tiles for one thread or for several. Returns how many others there
/// are; -1 where nothing has a rate.
int expect_fastest(const Problem &p, const PlanOptions &wanted, bool shared) {
    const Trace trace(described(p, wanted));
    const std::vector<Candidate> all = accepting_candidates(p, wanted, Device::cpu);
    const KernelTraits &taken = all.front().kernel;
    if (!has_rate(taken)) return -1;
    const auto is_its_like = [&](const KernelTraits &k) { return has_rate(k) && vector_of(k) == vector_of(taken); };
    const bool any_packs_groups = std::any_of(all.begin(), all.end(), [&](const Candidate &c) {
        return is_its_like(c.kernel) && c.kernel.packs_groups;
    });
    // Depthwise problems are left to kernels for such, where the processor's instructions have one.
    EXPECT_EQ(taken.packs_groups, p.groups > 1 && any_packs_groups);
    int others = 0;
    for (const Candidate &other : all) {
        const KernelTraits &k = other.kernel;
        if (!is_its_like(k) || k.packs_groups != taken.packs_groups) continue;
        others += k.name != taken.name;
        EXPECT_LE(relative_time_of(all.front(), shared), relative_time_of(other, shared)) << taken.name << ", " << k.name;
    }
    return others;
}

TEST(CpuEstimate, LetsTheFastestOfItsKindServe) {
    int served = 0, compared = 0;
    for (int threads : {1, 4}) {
        set_cpu_threads(threads);
        for (const char *layer : layers)
            for (Operation operation : {Operation::forward, Operation::input_gradient})
                for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
                    PlanOptions wanted;
                    wanted.operation = operation;
                    wanted.input.layout = wanted.output.layout = layout;
                    const int others = expect_fastest(Problem::parse(layer), wanted, threads > 1);
                    served += others >= 0, compared += std::max(others, 0);
                }
    }
    set_cpu_threads(0);
    if (served == 0) GTEST_SKIP() << "this build has no kernel with a rate for this processor";
    EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace conv_transpose::testing
