// One plan run from 16 threads at once, each with its own tensors; on CUDA each on its own stream.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_for_tests.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace {

/// Called once, where the pool makes its next thread. It holds its lock there.
std::function<void()> at_next_thread;

}  // namespace

extern "C" {
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
/// In place of pthread_create(), by the linker.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    if (const auto call = std::exchange(at_next_thread, nullptr)) call();
    return __real_pthread_create(thread, attributes, function, argument);
}
}

namespace conv_transpose::testing {
namespace {

constexpr int thread_count = 16, runs_a_thread = 8;

class Threads : public DeviceTest {
  protected:
    static void in_threads(const std::function<void(int)> &work) {
        std::vector<std::thread> threads;
        for (int t = 0; t < thread_count; t++) threads.emplace_back(work, t);
        for (std::thread &thread : threads) thread.join();
    }

    /// Different data in every thread, so that mixed-up tensors show.
    static void run_with_own_data(const Plan &plan, int seed) {
        const Problem &problem = plan.problem();
        RandomProblems random(seed);
        const auto input = random.integers(problem.input_elements()),
                   weight = random.integers(problem.weight_elements());
        const auto expected = forward(problem, input, weight, {});
        std::optional<CudaStream> stream;
        if (plan.device() == Device::cuda) {
            use_primary_context();
            stream.emplace();
        }
        const ForwardCall call(plan, input, weight);
        for (int run = 0; run < runs_a_thread; run++) {
            const Status status = call.run({stream ? stream->handle() : nullptr});
            EXPECT_TRUE(status.ok()) << status.message();
            if (stream) stream->wait();
            expect_equal(call.output(), expected);
        }
    }
};

TEST_P(Threads, OnePlanFromManyThreadsAndStreams) {
    for (const char *text : {"n2ic8oc16ih20iw33kh3kw3", "n1ic8oc16ih13iw17kh4kw4sh2sw2ph1pw1",
                             "n1g8ic8oc8ih20iw20kh4kw4sh2sw2ph1pw1"}) {
        const Problem problem = Problem::parse(text);
        for (std::string_view kernel : kernels_for(problem, options())) {
            PlanOptions forced = options();
            forced.kernel = kernel;
            const Plan plan(problem, forced);
            const Trace trace(problem.str() + " by " + std::string(kernel));
            in_threads([&](int t) { run_with_own_data(plan, t); });
            if (HasFailure()) return;
        }
    }
}

// Plans are made, run and destroyed in all threads at once: the first uses of code and of the driver meet.
TEST_P(Threads, PlansMadeInManyThreads) {
    in_threads([&](int t) {
        RandomProblems random(100 + t);
        for (int i = 0; i < 10; i++) {
            const Problem problem = random.next();
            const auto input = random.integers(problem.input_elements()),
                       weight = random.integers(problem.weight_elements());
            const Trace trace(problem.str());
            expect_equal(run_forward(Plan(problem, options()), input, weight, {}), forward(problem, input, weight, {}));
        }
    });
}

PlanOptions on_cpu() {
    PlanOptions options;
    options.device = Device::cpu;
    return options;
}

// An application may limit and restore the threads while others run.
TEST(CpuThreads, MayChangeBetweenRuns) {
    // Of the second, panels of channels are shared out in blocks, or are one thread's.
    for (const char *text : {"n1ic3oc4ih30iw30kh3kw3", "n2ic96oc160ih5iw6kh3kw3sh2sw2ph1pw1"}) {
        const Problem problem = Problem::parse(text);
        RandomProblems random(1);
        const auto input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
        const auto expected = forward(problem, input, weight, {});
        const Plan plan(problem, on_cpu());
        for (int threads : {1, 3, 64, 0}) {
            set_cpu_threads(threads);
            expect_equal(run_forward(plan, input, weight, {}), expected);
        }
    }
}

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Halide's pool keeps the threads that it once had.
TEST(CpuThreads, OneIsTheCallersOwn) {
    const Problem problem = Problem::parse("n4ic16oc16ih24iw24kh3kw3");
    const Plan plan(problem, on_cpu());
    RandomProblems random(1);
    const ForwardCall call(plan, random.integers(problem.input_elements()), random.integers(problem.weight_elements()));
    set_cpu_threads(4);
    EXPECT_TRUE(call.run().ok());
    set_cpu_threads(1);
    const double all_before = seconds_of(CLOCK_PROCESS_CPUTIME_ID), own_before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    double own = 0;
    for (; own < 0.2; own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own_before) EXPECT_TRUE(call.run().ok());
    EXPECT_LT(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - all_before, 1.2 * own);
    set_cpu_threads(0);
}

/// Calls of a process and of a child that it forks meanwhile.
struct ForkedCalls {
    const Problem problem = Problem::parse("n2ic16oc16ih24iw24kh3kw3");
    const Plan plan{problem, on_cpu()};
    RandomProblems random{1};
    const std::vector<float> input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
    const ForwardCall of_parent{plan, input, weight}, of_child{plan, input, weight};
    std::vector<float> expected;

    ForkedCalls() {
        EXPECT_TRUE(of_parent.run().ok());
        expected = of_parent.output();
    }

    /// Nothing of the test's framework here. A child that waits for a thread that is not there is ended by the alarm.
    [[noreturn]] void run_child() const {
        alarm(120);
        const bool right = of_child.run().ok() && of_child.output() == expected;
        _exit(right ? 0 : 1);
    }
};

// A child has none of its parent's threads, but maybe a lock that one of them held: Python's multiprocessing forks so.
TEST(CpuThreads, WorkInAForkedChildWhileTheParentComputes) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's own allocator is locked in a forked child";
#endif
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer allows no new threads in a forked child";
#endif
    const ForkedCalls calls;
    std::atomic<bool> over{false};
    std::thread computing([&] {
        while (!over) calls.of_parent.run();
    });
    int failed = 0;
    for (int i = 0; i < 300 && failed == 0; i++) {
        const pid_t child = fork();
        if (child == 0) {
            set_cpu_threads(i % 4);
            calls.run_child();
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        if (status != 0) failed = status;
    }
    over = true;
    computing.join();
    EXPECT_EQ(failed, 0) << "the child's wait status";
}

// The same, for sure: the child's parent holds the lock.
TEST(CpuThreads, WorkInAChildForkedUnderTheLockOfThePool) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer allows less in a forked child";
#endif
    set_cpu_threads(2);
    const ForkedCalls calls;
    pid_t child = -1;
    at_next_thread = [&] {
        child = fork();
        if (child == 0) calls.run_child();
    };
    // More than any test before had, so that the pool makes one.
    for (int threads = 3; at_next_thread && threads <= 256; threads++) {
        set_cpu_threads(threads);
        EXPECT_TRUE(calls.of_parent.run().ok());
    }
    set_cpu_threads(0);
    ASSERT_GT(child, 0) << "the pool made no thread";
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

INSTANTIATE_ON_DEVICES(Threads);

}  // namespace
}  // namespace conv_transpose::testing
