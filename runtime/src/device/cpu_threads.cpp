// Threads of CPU kernels: Halide's pool; in a forked child, which has inherited the pool's data without its
// threads, and maybe with a lock that one of them held, threads of the call's own.
#include "device/cpu_threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "conv_transpose/conv_transpose.h"
#include "device/run_context.h"

namespace conv_transpose {

namespace {

std::atomic<bool> pool_is_lost{false};
std::atomic<int> wanted_threads{0};  // 0: one a core

/// Whoever finishes an iteration takes the next one.
class NewThreads {
  public:
    NewThreads(void *user_context, halide_task_t task, int min, int size, uint8_t *closure)
        : user_context_(user_context), task_(task), closure_(closure), next_(min), end_(int64_t{min} + size) {}

    int run() {
        std::vector<std::thread> helpers;
        try {
            // Loops inside of parallel loops stay on their thread.
            const int64_t helpful = is_helper_ ? 0 : std::min<int64_t>(thread_count(), end_ - next_) - 1;
            while (static_cast<int64_t>(helpers.size()) < helpful) helpers.emplace_back(&NewThreads::help, this);
        } catch (const std::exception &) {  // no more threads or memory: fewer do it, too
        }
        work();
        for (std::thread &helper : helpers) helper.join();
        return error_;
    }

  private:
    static int thread_count() {
        const int wanted = wanted_threads;
        return wanted > 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
    }

    void help() {
        is_helper_ = true;
        work();
    }
    void work() {
        for (int64_t i; error_ == 0 && (i = next_++) < end_;)
            if (const int error = halide_do_task(user_context_, task_, static_cast<int>(i), closure_)) error_ = error;
    }

    void *const user_context_;
    const halide_task_t task_;
    uint8_t *const closure_;
    std::atomic<int64_t> next_;
    const int64_t end_;
    std::atomic<int> error_{0};
    static thread_local bool is_helper_;
};

thread_local bool NewThreads::is_helper_ = false;

int in_parallel(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    // A child that was forked before there was a pool makes one of its own.
    [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { pool_is_lost = true; });
    if (!pool_is_lost) return halide_default_do_par_for(user_context, task, min, size, closure);
    return NewThreads(user_context, task, min, size, closure).run();
}

std::atomic<ParallelFor> parallel_for{in_parallel};

}  // namespace

void run_parallel_loops_by(ParallelFor other) noexcept { parallel_for = other; }

void set_cpu_threads(int threads) noexcept {
    wanted_threads = threads;
    if (!pool_is_lost) halide_set_num_threads(std::max(threads, 0));
}

}  // namespace conv_transpose

extern "C" int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    const auto *context = static_cast<const conv_transpose::RunContext *>(user_context);
    if (!context || !context->serial)
        return conv_transpose::parallel_for.load()(user_context, task, min, size, closure);
    for (int i = min; i < min + size; i++)
        if (const int error = halide_do_task(user_context, task, i, closure)) return error;
    return 0;
}
