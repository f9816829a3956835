// Threads of CPU kernels: those of the program's OpenMP, or Halide's pool; in a forked child, which has inherited their data
// without the threads, and maybe with a lock that one of them held, threads of the call's own.
//
// OpenMP's threads, which PyTorch computes with, wait awake for some milliseconds after each of its operations (libgomp: 8 to 10),
// on the cores that other threads would need. Two threads on two cores, right after a convolution by PyTorch: k4 s2, 128 to 3
// channels of 128x128, 1.3 ms in place of 2.6 by Halide's pool; k2 s2, 64 to 32, 1.5 in place of 2.6 (medians; EPYC, 2026-11-28).
#include "device/cpu_threads.h"

#include <dlfcn.h>
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

constexpr int most_wanted = 256;  // Halide's pool has no more; OpenMP ends the program where it gets none
std::atomic<int> wanted_threads{0};  // 0: one a core

// A child that was forked before there was a pool makes one of its own. Whether OpenMP had threads before is not known.
std::atomic<bool> is_child{false}, has_pool{false}, pool_is_lost{false};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
    is_child = true;
    if (has_pool) pool_is_lost = true;
});

/// What compilers call for a parallel region, of GNU's, LLVM's and Intel's OpenMP: the function is called by each of its threads.
using OpenMpRegion = void (*)(void (*function)(void *), void *data, unsigned threads, unsigned flags);

/// So many threads a region has.
int openmp_threads() noexcept {
    static const auto most = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return most ? most() : 0;
}

OpenMpRegion loaded_openmp() { return reinterpret_cast<OpenMpRegion>(dlsym(RTLD_DEFAULT, "GOMP_parallel")); }

/// The program may load it after this library.
std::atomic<OpenMpRegion> &openmp() {
    static std::atomic<OpenMpRegion> region{loaded_openmp()};
    return region;
}

/// Whoever finishes an iteration takes the next one.
class SharedLoop {
  public:
    SharedLoop(void *user_context, halide_task_t task, int min, int size, uint8_t *closure)
        : user_context_(user_context), task_(task), closure_(closure), next_(min), end_(int64_t{min} + size), size_(size) {}

    int run_serially() {
        work();
        return error_;
    }

    /// Teams of another size would cost OpenMP new threads.
    int run_by(OpenMpRegion region) {
        region([](void *loop) { static_cast<SharedLoop *>(loop)->work(); }, this, static_cast<unsigned>(wanted_threads.load()), 0);
        return error_;
    }

    int run_by_new_threads() {
        std::vector<std::thread> helpers;
        try {
            // Loops inside of parallel loops stay on their thread.
            const int helpful = is_helper_ ? 0 : std::min(thread_count(), size_) - 1;
            while (static_cast<int>(helpers.size()) < helpful) helpers.emplace_back(&SharedLoop::help, this);
        } catch (const std::exception &) {  // no more threads or memory: fewer do it, too
        }
        work();
        for (std::thread &helper : helpers) helper.join();
        return error_;
    }

  private:
    static int thread_count() {
        const int wanted = wanted_threads;
        return wanted > 0 ? wanted : std::max<int>(1, std::thread::hardware_concurrency());
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
    const int size_;
    std::atomic<int> error_{0};
    static thread_local bool is_helper_;
};

thread_local bool SharedLoop::is_helper_ = false;

int in_parallel(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    const OpenMpRegion region = is_child ? nullptr : openmp().load();
    // The pool has as many threads as it was ever asked for.
    const bool is_serial = size <= 1 || wanted_threads == 1;
    if (!is_serial && !region && !pool_is_lost) {
        has_pool = true;
        return halide_default_do_par_for(user_context, task, min, size, closure);
    }
    SharedLoop loop(user_context, task, min, size, closure);
    return is_serial ? loop.run_serially() : region ? loop.run_by(region) : loop.run_by_new_threads();
}

std::atomic<ParallelFor> parallel_for{in_parallel};

}  // namespace

bool is_only_thread() noexcept {
    const int wanted = wanted_threads;
    if (wanted > 0) return wanted == 1;
    static const bool has_one_core = std::thread::hardware_concurrency() == 1;
    return openmp() ? openmp_threads() == 1 : has_one_core;
}

void run_parallel_loops_by(ParallelFor other) noexcept { parallel_for = other; }

void set_cpu_threads(int threads) noexcept {
    wanted_threads = std::clamp(threads, 0, most_wanted);
    if (!openmp()) openmp() = loaded_openmp();
    if (!pool_is_lost) halide_set_num_threads(wanted_threads);
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
