// Detection of the processor and the GPU.
#include "device/machine.h"

#include <algorithm>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "device/cuda_driver.h"

namespace conv_transpose {

#ifdef __x86_64__
namespace {

// Compilers differ in what they call these, and some cannot ask for all.
bool has_amx() {
    constexpr unsigned amx_bf16 = 1u << 22, avx512_fp16 = 1u << 23, amx_tile = 1u << 24, all = amx_bf16 | avx512_fp16 | amx_tile;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & all) == all;
}

}  // namespace
#endif

Machine this_machine(Device device) {
    Machine machine;
#ifdef __x86_64__
    __builtin_cpu_init();
    // F16C is older than AVX2; clang 14 cannot ask for it.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    // What kernels for pairs of bfloat16 are compiled for: Zen 4, Sapphire Rapids and later.
    const bool avx512_bf16 = avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") &&
                             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                             __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bitalg") &&
                             __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("bmi2");
    machine.cpu_level = avx512_bf16 && has_amx() ? CpuLevel::amx
                        : avx512_bf16            ? CpuLevel::avx512_bf16
                        : avx512                 ? CpuLevel::avx512
                        : avx2                   ? CpuLevel::avx2
                                                 : CpuLevel::baseline;
#endif
    if (device == Device::cpu) return machine;
    machine.compute_capability = compute_capability();
    machine.shared_bytes = shared_bytes_per_block();
    machine.multiprocessors = multiprocessors();
    return machine;
}

bool may_use_tile_registers() {
#if defined(__linux__) && defined(__x86_64__)
    // <asm/prctl.h> of older systems lacks their names.
    constexpr long request_permission = 0x1023, tile_data = 18;
    static const bool may = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return may;
#else
    return false;
#endif
}

int64_t second_cache_floats() {
    static const int64_t floats = [] {
        constexpr int64_t least = 256 << 10, usual = 1 << 20, most = 2 << 20;  // bytes
        int64_t told = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
        told = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
        return std::clamp(told > 0 ? told : usual, least, most) / static_cast<int64_t>(sizeof(float));
    }();
    return floats;
}

}  // namespace conv_transpose
