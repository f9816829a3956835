// Detection of the processor and the GPU.
#include "device/machine.h"

#include "device/cuda_driver.h"

namespace conv_transpose {

Machine this_machine() {
    Machine machine;
#ifdef __x86_64__
    __builtin_cpu_init();
    // F16C is older than AVX2; clang 14 cannot ask for it.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    machine.cpu_level = avx512 ? CpuLevel::avx512 : avx2 ? CpuLevel::avx2 : CpuLevel::baseline;
#endif
    machine.compute_capability = compute_capability();
    machine.shared_bytes = shared_bytes_per_block();
    machine.multiprocessors = multiprocessors();
    return machine;
}

}  // namespace conv_transpose
