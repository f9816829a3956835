// Access to the CUDA driver: see cuda_driver.h.
#include "device/cuda_driver.h"

#include <dlfcn.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

namespace {

std::optional<CudaDriver> load() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return std::nullopt;
    CudaDriver driver;
    bool complete = true;
    const auto resolve = [&](auto &function, const char *name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
        complete &= function != nullptr;
    };
#define CONV_TRANSPOSE_RESOLVE(name, version, arguments) resolve(driver.name, #name #version);
    CONV_TRANSPOSE_CUDA_FUNCTIONS(CONV_TRANSPOSE_RESOLVE)
#undef CONV_TRANSPOSE_RESOLVE
    int devices = 0;
    const bool usable = complete && driver.cuInit(0) == CUDA_SUCCESS &&
                        driver.cuDeviceGetCount(&devices) == CUDA_SUCCESS && devices > 0;
    if (!usable) return std::nullopt;
    return driver;
}

// Retained once and kept: releasing it would destroy a context that the caller's tensors may live in.
CUcontext primary_context() {
    static const CUcontext context = [] {
        CUdevice device = 0;
        CUcontext primary = nullptr;
        const CudaDriver &driver = *cuda_driver();
        if (driver.cuDeviceGet(&device, 0) == CUDA_SUCCESS) driver.cuDevicePrimaryCtxRetain(&primary, device);
        return primary;
    }();
    return context;
}

// The legacy and the per-thread default streams have small numbers instead of addresses.
bool is_default_stream(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

}  // namespace

const char *CudaDriver::error_string(CUresult result) const {
    const char *text = nullptr;
    cuGetErrorString(result, &text);
    return text ? text : "unknown error";
}

const CudaDriver *cuda_driver() {
    static const std::optional<CudaDriver> driver = load();
    return driver ? &*driver : nullptr;
}

const CudaDriver &require_cuda_driver() {
    if (!cuda_driver()) throw Unsupported("device is cuda, but there is no usable GPU or driver");
    return *cuda_driver();
}

void check_cuda(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS)
        throw std::runtime_error(std::string("CUDA: ") + what + ": " + cuda_driver()->error_string(result));
}

namespace {

// The device of the current context, else the first.
std::optional<CUdevice> current_device() {
    const CudaDriver *driver = cuda_driver();
    if (!driver) return std::nullopt;
    CUdevice device = 0;
    CUcontext current = nullptr;
    driver->cuCtxGetCurrent(&current);
    const CUresult found = current ? driver->cuCtxGetDevice(&device) : driver->cuDeviceGet(&device, 0);
    if (found != CUDA_SUCCESS) return std::nullopt;
    return device;
}

// 0 without a usable GPU.
int device_attribute(int attribute) {
    const std::optional<CUdevice> device = current_device();
    int value = 0;
    if (device) cuda_driver()->cuDeviceGetAttribute(&value, attribute, *device);
    return value;
}

}  // namespace

int compute_capability() {
    return 10 * device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

int shared_bytes_per_block() { return device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN); }

int multiprocessors() { return device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }

ScopedCudaContext::ScopedCudaContext(CUstream stream) {
    const CudaDriver &driver = *cuda_driver();
    CUcontext current = nullptr, wanted = nullptr;
    result_ = driver.cuCtxGetCurrent(&current);
    if (result_ != CUDA_SUCCESS) return;
    if (!is_default_stream(stream)) {
        result_ = driver.cuStreamGetCtx(stream, &wanted);
        if (result_ != CUDA_SUCCESS) return;
    } else {
        wanted = current ? current : primary_context();
    }
    if (wanted == current) return;
    result_ = driver.cuCtxPushCurrent(wanted);
    pushed_ = result_ == CUDA_SUCCESS;
}

ScopedCudaContext::~ScopedCudaContext() {
    CUcontext popped;
    if (pushed_) cuda_driver()->cuCtxPopCurrent(&popped);
}

}  // namespace conv_transpose
