// Limits of a device: see peaks.h.
#include "peaks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace conv_transpose::benchmark {

namespace {

constexpr int repeats = 10;

double best_ms(TimedWork &work) {
    double best = work.run();
    for (int i = 1; i < repeats; i++) best = std::min(best, work.run());
    return best;
}

// Multiply-adds that one multiprocessor starts each clock: NVIDIA's documentation of each architecture.
double multiply_adds_a_clock(int compute_capability, const PlanOptions &options) {
    struct Row {
        int compute_capability, float32, tf32;
    };
    static constexpr Row rows[] = {{80, 64, 512},   {86, 128, 128},   {89, 128, 128},
                                   {90, 128, 1024}, {100, 128, 2048}, {120, 128, 128}};
    const Row *found = nullptr;
    for (const Row &row : rows)
        if (row.compute_capability <= compute_capability) found = &row;
    if (!found)
        throw std::runtime_error("the peak of compute capability " + std::to_string(compute_capability) +
                                 " is not known; give --peak-tflops");
    if (options.input.type != ElementType::float32) return 2 * found->tf32;
    return options.precision != Precision::float32 ? found->tf32 : found->float32;
}

Peaks gpu_peaks(const PlanOptions &options) {
    const DeviceFacts facts = device_facts(Device::cuda);
    Peaks peaks;
    // Three TF32 products make one of tf32x3.
    const bool is_split = options.precision == Precision::tf32x3 && options.input.type == ElementType::float32;
    const double products = is_split ? 3 : 1;
    peaks.flops = 2e9 * facts.clock_ghz * facts.multiprocessors *
                  multiply_adds_a_clock(facts.compute_capability, options) / products;
    const size_t bytes = std::min<size_t>(size_t{2} << 30, free_memory(Device::cuda) / 4);
    DeviceMemory from(Device::cuda, bytes), to(Device::cuda, bytes);
    Pattern::reals(1).fill(from, ElementType::float32);
    // In a graph a copy is the copy engine's, which reaches two thirds of what kernels do (H200: 2.8 of 4.3
    // TB/s).
    TimedWork copy(
        Device::cuda, [&](Stream stream) { return copy_on_device(to, 0, from, bytes, stream); },
        TimedWork::Submission::calls);
    peaks.bytes = 2e3 * bytes / best_ms(copy);
    return peaks;
}

// Runs function(thread) on every thread at once.
template <class Function>
Status on_threads(int threads, Function function) {
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; i++) pool.emplace_back(function, i);
    for (std::thread &thread : pool) thread.join();
    return {};
}

constexpr int64_t steps = 5'000'000;
constexpr int chains = 10;  // hides the latency of a multiply-add on two units; fits 16 registers

// Sums that do not depend on each other, in registers; the target decides how wide they are.
template <class Vector>
[[gnu::always_inline]] inline float multiply_add() {
    Vector sums[chains] = {}, factor = Vector{} + 0.999f, addend = Vector{} + 0.001f;
    for (int64_t step = 0; step < steps; step++)
#pragma GCC unroll 10
        for (int c = 0; c < chains; c++) sums[c] = sums[c] * factor + addend;
    for (int c = 1; c < chains; c++) sums[0] += sums[c];
    return sums[0][0];
}

typedef float Vector16 __attribute__((vector_size(64)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector4 __attribute__((vector_size(16)));
[[gnu::target("avx512f,prefer-vector-width=512")]] float multiply_add_avx512() {
    return multiply_add<Vector16>();
}
[[gnu::target("avx2,fma")]] float multiply_add_avx2() {
    return multiply_add<Vector8>();
}
float multiply_add_baseline() {
    return multiply_add<Vector4>();
}

Peaks cpu_peaks() {
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    Peaks peaks;
    const bool avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
    float (*const kernel)() = avx512 ? multiply_add_avx512 : avx2 ? multiply_add_avx2 : multiply_add_baseline;
    const int lanes = avx512 ? 16 : avx2 ? 8 : 4;
    std::vector<float> sums(threads);
    TimedWork compute(Device::cpu,
                      [&](Stream) { return on_threads(threads, [&](int i) { sums[i] = kernel(); }); });
    peaks.flops = 2e3 * steps * chains * lanes * threads / best_ms(compute);

    constexpr size_t bytes = size_t{64} << 20;  // a thread
    std::vector<float> from(bytes / sizeof(float) * threads, 1.f), to(from.size());
    TimedWork copy(Device::cpu, [&](Stream) {
        return on_threads(threads, [&](int i) {
            const size_t first = i * (bytes / sizeof(float));
            std::memcpy(&to[first], &from[first], bytes);
        });
    });
    peaks.bytes = 2e3 * bytes * threads / best_ms(copy);
    return peaks;
}

}  // namespace

Peaks Peaks::of(const PlanOptions &options) {
    return options.device == Device::cuda ? gpu_peaks(options) : cpu_peaks();
}

Work::Work(const Problem &p, const PlanOptions &options) {
    bytes = static_cast<double>(Extents(p, options).bytes());
    flops = 2.0 * p.input_elements() * (p.out_channels / p.groups);
    for (const Axis &axis : p.axes) flops *= double(axis.kernel);
    if (options.operation == Operation::bias_gradient) flops = static_cast<double>(p.output_elements());
}

double Work::limit_ms(const Peaks &peaks) const {
    return 1e3 * std::max(flops / peaks.flops, bytes / peaks.bytes);
}

}  // namespace conv_transpose::benchmark
