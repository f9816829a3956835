// A CUDA driver in which a chosen call fails. For programs of one file that link with
// -Wl,--wrap=dlopen,--wrap=dlsym: the library then finds these functions in place of libcuda's. Calls that
// may run out of memory or fail are counted; the rest pass. Behind them is the real driver, or, where there
// is none, a simulated device: its memory is the host's, and its kernels do nothing.
#ifndef CONV_TRANSPOSE_TESTS_FAILING_CUDA_DRIVER_H
#define CONV_TRANSPOSE_TESTS_FAILING_CUDA_DRIVER_H

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/src/device/cuda_driver.h"

namespace conv_transpose::testing {

/// Calls until the one that fails; negative: none does.
inline std::atomic<long> driver_calls_left{-1};
/// So often the driver was looked for.
inline std::atomic<long> driver_loads{0};
/// Allocations of the device, and of page-locked memory, that were not freed.
inline std::atomic<long> device_memory_alive{0};

/// While it lives, the driver's call with this number fails.
class DriverFailure {
  public:
    explicit DriverFailure(long number) : number_(number) { driver_calls_left = number; }
    ~DriverFailure() { driver_calls_left = -1; }
    DriverFailure(const DriverFailure &) = delete;
    DriverFailure &operator=(const DriverFailure &) = delete;

    bool happened() const { return driver_calls_left < 0; }
    long calls() const { return number_ - driver_calls_left; }

  private:
    const long number_;
};

namespace driver_calls {

inline void *real_library = nullptr;  ///< null: the device is simulated
inline int token;                      ///< stands for the simulated driver's library and objects

inline bool must_fail() { return driver_calls_left >= 0 && driver_calls_left.fetch_sub(1) == 0; }

/// The function that a wrapper passes on to.
template <auto member>
inline std::decay_t<decltype(std::declval<CudaDriver>().*member)> behind = nullptr;

enum class Effect { allocates, frees, other };

template <auto member, Effect effect, class Signature = std::decay_t<decltype(behind<member>)>>
struct Wrapper;

template <auto member, Effect effect, class... Parameters>
struct Wrapper<member, effect, CUresult (*)(Parameters...)> {
    static CUresult call(Parameters... parameters) {
        constexpr CUresult out_of_memory = 2;
        if (effect != Effect::frees && must_fail()) return out_of_memory;
        const CUresult result = behind<member>(parameters...);
        if (effect == Effect::allocates && result == CUDA_SUCCESS) device_memory_alive++;
        if (effect == Effect::frees) device_memory_alive--;
        return result;
    }
};

inline void *host(uint64_t address) { return reinterpret_cast<void *>(address); }

/// The simulated device has these; whatever is not here succeeds without doing anything.
inline const std::map<std::string_view, void *> &simulated() {
    static const std::map<std::string_view, void *> functions = [] {
        std::map<std::string_view, void *> all;
        // A function has the type of the member of CudaDriver that will call it.
        using D = CudaDriver;
        const auto add = [&]<class Function>(const char *name, Function D::*, std::type_identity_t<Function> function) {
            all.emplace(name, reinterpret_cast<void *>(function));
        };
        add("cuDeviceGetCount", &D::cuDeviceGetCount, [](int *count) { return *count = 1, 0; });
        add("cuDeviceGetAttribute", &D::cuDeviceGetAttribute, [](int *value, int attribute, CUdevice) {
            *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR     ? 9
                     : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 * 1024
                                                                                     : 0;
            return 0;
        });
        add("cuDevicePrimaryCtxRetain", &D::cuDevicePrimaryCtxRetain,
            [](CUcontext *context, CUdevice) { return *context = &token, 0; });
        add("cuCtxGetCurrent", &D::cuCtxGetCurrent, [](CUcontext *context) { return *context = &token, 0; });
        add("cuCtxGetDevice", &D::cuCtxGetDevice, [](CUdevice *device) { return *device = 0, 0; });
        add("cuLibraryLoadData", &D::cuLibraryLoadData,
            [](CUlibrary *library, const void *, void *, void **, unsigned, void *, void **, unsigned) {
                return *library = &token, 0;
            });
        add("cuLibraryGetKernel", &D::cuLibraryGetKernel,
            [](CUkernel *kernel, CUlibrary, const char *) { return *kernel = &token, 0; });
        add("cuMemAlloc_v2", &D::cuMemAlloc, [](uint64_t *address, size_t bytes) {
            return *address = reinterpret_cast<uint64_t>(std::calloc(bytes, 1)), *address ? 0 : 2;
        });
        add("cuMemFree_v2", &D::cuMemFree, [](uint64_t address) { return std::free(host(address)), 0; });
        add("cuMemHostAlloc", &D::cuMemHostAlloc, [](void **data, size_t bytes, unsigned) {
            return *data = std::calloc(bytes, 1), *data ? 0 : 2;
        });
        add("cuMemFreeHost", &D::cuMemFreeHost, [](void *data) { return std::free(data), 0; });
        add("cuMemcpyHtoD_v2", &D::cuMemcpyHtoD, [](uint64_t to, const void *from, size_t bytes) {
            return std::memcpy(host(to), from, bytes), 0;
        });
        add("cuMemcpyHtoDAsync_v2", &D::cuMemcpyHtoDAsync, [](uint64_t to, const void *from, size_t bytes, CUstream) {
            return std::memcpy(host(to), from, bytes), 0;
        });
        add("cuMemcpyDtoH_v2", &D::cuMemcpyDtoH,
            [](void *to, uint64_t from, size_t bytes) { return std::memcpy(to, host(from), bytes), 0; });
        add("cuMemcpy2D_v2", &D::cuMemcpy2D, [](const CudaCopy2D *) { return 0; });
        add("cuMemGetInfo_v2", &D::cuMemGetInfo, [](size_t *free, size_t *total) { return *free = *total = size_t{1} << 30, 0; });
        add("cuGetErrorString", &D::cuGetErrorString, [](CUresult, const char **text) { return *text = "simulated", 0; });
        return all;
    }();
    return functions;
}

// Arguments lie in registers and on the caller's stack, where a function that takes none does not touch them.
inline CUresult succeed() { return CUDA_SUCCESS; }

struct WrappedCall {
    void *wrapper, **behind;
};

template <auto member, Effect effect = Effect::other>
WrappedCall wrap() {
    return {reinterpret_cast<void *>(Wrapper<member, effect>::call), reinterpret_cast<void **>(&behind<member>)};
}

/// What allocates, loads, copies, launches or waits.
inline const std::map<std::string_view, WrappedCall> &wrapped() {
    static const std::map<std::string_view, WrappedCall> calls{
        {"cuLibraryLoadData", wrap<&CudaDriver::cuLibraryLoadData>()},
        {"cuLibraryGetKernel", wrap<&CudaDriver::cuLibraryGetKernel>()},
        {"cuKernelGetFunction", wrap<&CudaDriver::cuKernelGetFunction>()},
        {"cuKernelSetAttribute", wrap<&CudaDriver::cuKernelSetAttribute>()},
        {"cuKernelGetAttribute", wrap<&CudaDriver::cuKernelGetAttribute>()},
        {"cuLaunchKernelEx", wrap<&CudaDriver::cuLaunchKernelEx>()},
        {"cuMemAlloc_v2", wrap<&CudaDriver::cuMemAlloc, Effect::allocates>()},
        {"cuMemFree_v2", wrap<&CudaDriver::cuMemFree, Effect::frees>()},
        {"cuMemHostAlloc", wrap<&CudaDriver::cuMemHostAlloc, Effect::allocates>()},
        {"cuMemFreeHost", wrap<&CudaDriver::cuMemFreeHost, Effect::frees>()},
        {"cuMemcpyHtoD_v2", wrap<&CudaDriver::cuMemcpyHtoD>()},
        {"cuMemcpyHtoDAsync_v2", wrap<&CudaDriver::cuMemcpyHtoDAsync>()},
        {"cuMemcpy2DAsync_v2", wrap<&CudaDriver::cuMemcpy2DAsync>()},
        {"cuStreamCreate", wrap<&CudaDriver::cuStreamCreate>()},
        {"cuStreamWaitEvent", wrap<&CudaDriver::cuStreamWaitEvent>()},
        {"cuEventCreate", wrap<&CudaDriver::cuEventCreate>()},
        {"cuEventRecord", wrap<&CudaDriver::cuEventRecord>()},
        {"cuEventSynchronize", wrap<&CudaDriver::cuEventSynchronize>()},
        {"cuMemcpyDtoH_v2", wrap<&CudaDriver::cuMemcpyDtoH>()},
        {"cuMemcpy2D_v2", wrap<&CudaDriver::cuMemcpy2D>()},
        {"cuMemGetInfo_v2", wrap<&CudaDriver::cuMemGetInfo>()},
        {"cuStreamSynchronize", wrap<&CudaDriver::cuStreamSynchronize>()},
    };
    return calls;
}

}  // namespace driver_calls

/// Whether kernels compute, so that results can be compared.
inline bool device_is_real() { return driver_calls::real_library != nullptr; }

}  // namespace conv_transpose::testing

extern "C" {

void *__real_dlopen(const char *, int);
void *__real_dlsym(void *, const char *);

void *__wrap_dlopen(const char *name, int flags) {
    using namespace conv_transpose::testing::driver_calls;
    if (!name || std::string_view(name) != "libcuda.so.1") return __real_dlopen(name, flags);
    conv_transpose::testing::driver_loads++;
    real_library = __real_dlopen(name, flags);
    return real_library ? real_library : &token;
}

void *__wrap_dlsym(void *library, const char *name) {
    using namespace conv_transpose::testing::driver_calls;
    const bool is_simulated = library == &token;
    if (!is_simulated && library != real_library) return __real_dlsym(library, name);
    void *function = reinterpret_cast<void *>(succeed);
    if (!is_simulated) function = __real_dlsym(library, name);
    else if (const auto found = simulated().find(name); found != simulated().end()) function = found->second;
    const auto call = wrapped().find(name);
    if (!function || call == wrapped().end()) return function;
    *call->second.behind = function;
    return call->second.wrapper;
}

}  // extern "C"

#endif
