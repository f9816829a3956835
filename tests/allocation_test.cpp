// Every allocation of planning and of running is made to fail in turn: an exception or a status follows, never a crash,
// and a later try succeeds. And what is allocated is set before it is multiplied. A program of its own, because it replaces the
// allocation functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "conv_transpose/conv_transpose.h"
#include "trace.h"

namespace {

/// Allocations until one fails; negative: none fails.
std::atomic<int> allocations_left{-1};
std::atomic<bool> any_failed{false};
/// Those of all threads but the caller's fail.
std::atomic<bool> others_fail{false};
thread_local bool is_caller = false;
/// Memory of kernels begins as the least denormal numbers.
std::atomic<bool> begins_denormal{false};

bool must_fail() {
    if (others_fail && is_caller) std::this_thread::sleep_for(std::chrono::microseconds(50));  // leaves tasks to others
    else if (others_fail) return any_failed = true;
    if (allocations_left.load() < 0 || allocations_left.fetch_sub(1) != 0) return false;
    any_failed = true;
    return true;
}

void *begun(void *memory, std::size_t bytes) {
    if (memory && begins_denormal) std::fill_n(static_cast<uint32_t *>(memory), bytes / sizeof(uint32_t), 1u);
    return memory;
}

}  // namespace

// glibc's own functions under their other names. Halide's runtime calls these two; operator new calls malloc.
extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
void *malloc(std::size_t bytes) { return must_fail() ? nullptr : begun(__libc_malloc(bytes), bytes); }
void *aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return must_fail() ? nullptr : begun(__libc_memalign(alignment, bytes), bytes);
}
}

namespace conv_transpose::testing {
namespace {

/// Threads keep scratch memory of kernels, so that nothing is allocated but by new ones.
template <class Run>
void on_new_thread(Run run) {
    set_cpu_threads(1);
    std::thread(run).join();
}

/// Runs `attempt` with the first, the second, ... allocation failing (later ones with growing gaps), until it needs no
/// more; returns how many attempts met a failure.
template <class Attempt>
int fail_each_allocation(Attempt attempt) {
    for (int failures = 0, allocation = 0;; failures++, allocation += 1 + allocation / 16) {
        any_failed = false;
        on_new_thread([&] {
            allocations_left = allocation;
            attempt();
            allocations_left = -1;
        });
        if (!any_failed) return failures;
    }
}

/// Runs `attempt` with all allocations failing but the caller's; returns whether there was one.
template <class Attempt>
bool fail_allocations_of_others(Attempt attempt) {
    set_cpu_threads(2);
    any_failed = false;
    is_caller = others_fail = true;
    attempt();
    is_caller = others_fail = false;
    return any_failed;
}

/// Each allocation of `run` fails in turn, then all of other threads than the caller's: it returns a status, or the right result
/// all the same, because kernels ask for scratch memory of no bytes, too, and nothing is lost where that fails. Returns whether
/// other threads met a failure.
template <class Run>
bool expect_status_or_result(Run run, std::vector<float> &result) {
    EXPECT_TRUE(run().ok());
    const std::vector<float> expected = result;
    Status last;
    const auto attempt = [&] {
        std::fill(result.begin(), result.end(), 0.f);
        const Status status = run();
        allocations_left = -1, others_fail = false;
        if (!status.ok()) last = status;
        EXPECT_TRUE(status.ok() || any_failed) << status.message();
        if (status.ok()) {
            EXPECT_EQ(result, expected);
        }
    };
    fail_each_allocation(attempt);
    const bool others_failed = fail_allocations_of_others(attempt);
    EXPECT_TRUE(last.ok() || last.code() == Status::Code::out_of_memory) << last.message();
    std::fill(result.begin(), result.end(), 0.f);
    EXPECT_TRUE(run().ok());
    EXPECT_EQ(result, expected);
    return others_failed;
}

// Rows too wide for the stack: kernels that keep scratch memory need it on the heap. And one for Winograd's kernels.
const Problem problems[] = {Problem::parse("n1ic2oc4ih3iw5000kh3kw3sh2sw2ph1pw1"),
                            Problem::parse("n1ic33oc34ih8iw40kh3kw3")};

PlanOptions options(std::string_view kernel) {
    PlanOptions with;
    with.device = Device::cpu;
    with.kernel = kernel;
    return with;
}

class Allocation : public ::testing::TestWithParam<Problem> {};

TEST_P(Allocation, FailuresOfPlanningAreExceptions) {
    const Problem &problem = GetParam();
    const auto all = kernels_for(problem, options({}));
    for (std::string_view kernel : all) {
        const PlanOptions with = options(kernel);
        int thrown = 0;
        const int failures = fail_each_allocation([&] {
            try {
                const Plan plan(problem, with);
            } catch (const std::bad_alloc &) {
                thrown++;
            }
        });
        EXPECT_GT(failures, 0);
        EXPECT_EQ(thrown, failures) << kernel;
    }
}

TEST_P(Allocation, FailuresOfRunningAreStatuses) {
    const Problem &problem = GetParam();
    const std::vector<float> input(problem.input_elements(), 1.f), weight(problem.weight_elements(), 1.f);
    std::vector<float> expected, output(problem.output_elements());
    int of_others = 0;
    for (std::string_view kernel : kernels_for(problem, options({}))) {
        const Trace trace(kernel);
        const Plan plan(problem, options(kernel));
        std::vector<std::byte> memory(plan.workspace_bytes() + 64);
        const auto misalignment = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        const Workspace workspace{memory.data() + (64 - misalignment) % 64, plan.workspace_bytes()};
        Arguments arguments;
        arguments.input = input.data();
        arguments.weight = weight.data();
        arguments.output = output.data();
        of_others += expect_status_or_result([&] { return plan.run(arguments, workspace); }, output);
        if (expected.empty()) expected = output;
        EXPECT_EQ(output, expected);
    }
    EXPECT_GT(of_others, 0);
}

TEST_P(Allocation, FailuresOfAWeightGradientAreStatuses) {
    const Problem &problem = GetParam();
    const std::vector<float> input(problem.input_elements(), 1.f), output_gradient(problem.output_elements(), 1.f);
    std::vector<float> weight_gradient(problem.weight_elements());
    PlanOptions with = options({});
    with.operation = Operation::weight_gradient;
    int of_others = 0;
    for (std::string_view kernel : kernels_for(problem, with)) {
        const Trace trace(kernel);
        with.kernel = kernel;
        const Plan plan(problem, with);
        std::vector<float> memory(plan.workspace_bytes() / sizeof(float) + 1);
        Arguments arguments;
        arguments.input = input.data();
        arguments.output_gradient = output_gradient.data();
        arguments.weight_gradient = weight_gradient.data();
        const auto run = [&] { return plan.run(arguments, {memory.data(), plan.workspace_bytes()}); };
        of_others += expect_status_or_result(run, weight_gradient);
    }
    // Others than the caller compute parts for sure; small problems' blocks may be done before they come.
    const bool has_parts = problem.output_elements() > 20000;
    if (has_parts) {
        EXPECT_GT(of_others, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Problems, Allocation, ::testing::ValuesIn(problems));

#ifdef __SSE__
/// Whether an operand was a denormal number since the last call.
bool met_denormal() {
    constexpr unsigned exceptions = 0x3f, denormal_operand = 0x02;
    const unsigned state = _mm_getcsr();
    _mm_setcsr(state & ~exceptions);
    return state & denormal_operand;
}

// Pictures that fill no register tile. What is beyond them is computed and not stored, so results tell nothing; but some
// processors take a hundred times as long where it is denormal.
TEST(Scratch, IsSetBeforeItIsMultiplied) {
    for (const char *text :
         {"n2ic16oc32ih7iw7kh3kw3sh2sw2ph1pw1oph1opw1", "n1ic24oc16iw10kw4sw2pw1", "n1ic16oc3ih9iw9kh4kw4sh2sw2ph1pw1",
          "n1ic24oc21id6ih5iw5kd3kh3kw3pd1ph1pw1", "n1g8ic8oc8ih6iw3kh2kw2sh2sw2"}) {
        const Problem p = Problem::parse(text);
        for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient}) {
            PlanOptions with = options({});
            with.operation = operation;
            for (std::string_view kernel : kernels_for(p, with)) {
                with.kernel = kernel;
                const Plan plan(p, with);
                std::vector<float> input(p.input_elements(), 1), weight(p.weight_elements(), 1), output(p.output_elements(), 1),
                    result(std::max({input.size(), weight.size(), output.size()}));
                Arguments arguments{.input = input.data(), .weight = weight.data()};
                if (operation == Operation::forward) arguments.output = result.data();
                else arguments.output_gradient = output.data();
                if (operation == Operation::input_gradient) arguments.input = nullptr, arguments.input_gradient = result.data();
                if (operation == Operation::weight_gradient) arguments.weight = nullptr, arguments.weight_gradient = result.data();
                begins_denormal = true;
                void *const memory = std::aligned_alloc(64, plan.workspace_bytes() + 64);
                on_new_thread([&] {
                    met_denormal();
                    plan.run(arguments, {memory, plan.workspace_bytes()});
                    EXPECT_FALSE(met_denormal()) << p.str() << ' ' << kernel;
                });
                begins_denormal = false;
                std::free(memory);
            }
        }
    }
}
#endif

}  // namespace
}  // namespace conv_transpose::testing
