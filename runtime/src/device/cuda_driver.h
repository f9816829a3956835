// The few entry points of the CUDA driver that the runtime needs, found in libcuda at run time: the library
// links nothing of CUDA, and works without it where there is no GPU.
#ifndef CONV_TRANSPOSE_RUNTIME_CUDA_DRIVER_H
#define CONV_TRANSPOSE_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>

namespace conv_transpose {

// Types and values as in cuda.h, which is not needed to build.
using CUresult = int;
using CUdevice = int;
using CUcontext = void *;
using CUstream = void *;
using CUlibrary = void *;
using CUkernel = void *;

constexpr CUresult CUDA_SUCCESS = 0;
constexpr int CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13;  // kHz
constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
constexpr int CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
constexpr int CU_FUNC_ATTRIBUTE_PTX_VERSION = 5;  // 90 for code whose text is for sm_90
constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

/// CUDA's description of a copy of rows.
struct CudaCopy2D {
    size_t source_x, source_y;
    int source_kind;
    const void *source_host;
    uint64_t source_device;
    void *source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    int target_kind;
    void *target_host;
    uint64_t target_device;
    void *target_array;
    size_t target_pitch;
    size_t row_bytes, rows;
};
constexpr int CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2;

/// CUDA's description of a launch, and of what is asked of it: CUlaunchConfig, CUlaunchAttribute.
struct CudaLaunchAttribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int launched_early;
    };
};
constexpr int CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;
struct CudaLaunch {
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    const CudaLaunchAttribute *attributes;
    unsigned number_of_attributes;
};

/// Entry points of the driver, what their names end with there, and their arguments.
#define CONV_TRANSPOSE_CUDA_FUNCTIONS(FUNCTION)                                                          \
    FUNCTION(cuInit, , (unsigned))                                                                       \
    FUNCTION(cuDriverGetVersion, , (int *))                                                              \
    FUNCTION(cuDeviceGetCount, , (int *))                                                                \
    FUNCTION(cuDeviceGet, , (CUdevice *, int))                                                           \
    FUNCTION(cuDeviceGetAttribute, , (int *, int, CUdevice))                                             \
    FUNCTION(cuDevicePrimaryCtxRetain, , (CUcontext *, CUdevice))                                        \
    FUNCTION(cuCtxGetCurrent, , (CUcontext *))                                                           \
    FUNCTION(cuCtxGetDevice, , (CUdevice *))                                                             \
    FUNCTION(cuCtxPushCurrent, _v2, (CUcontext))                                                         \
    FUNCTION(cuCtxPopCurrent, _v2, (CUcontext *))                                                        \
    FUNCTION(cuStreamGetCtx, , (CUstream, CUcontext *))                                                  \
    FUNCTION(cuLibraryLoadData, , (CUlibrary *, const void *, void *, void **, unsigned, void *,         \
                                   void **, unsigned))                                                   \
    FUNCTION(cuLibraryGetKernel, , (CUkernel *, CUlibrary, const char *))                                \
    FUNCTION(cuKernelGetFunction, , (void **, CUkernel))                                                 \
    FUNCTION(cuKernelSetAttribute, , (int, int, CUkernel, CUdevice))                                     \
    FUNCTION(cuKernelGetAttribute, , (int *, int, CUkernel, CUdevice))                                   \
    FUNCTION(cuLaunchKernelEx, , (const CudaLaunch *, void *, void **, void **))                         \
    FUNCTION(cuMemAlloc, _v2, (uint64_t *, size_t))                                                      \
    FUNCTION(cuMemFree, _v2, (uint64_t))                                                                 \
    FUNCTION(cuMemcpyHtoD, _v2, (uint64_t, const void *, size_t))                                        \
    FUNCTION(cuMemcpyDtoH, _v2, (void *, uint64_t, size_t))                                              \
    FUNCTION(cuMemcpy2D, _v2, (const CudaCopy2D *))                                                      \
    FUNCTION(cuMemHostAlloc, , (void **, size_t, unsigned))                                              \
    FUNCTION(cuMemFreeHost, , (void *))                                                                  \
    FUNCTION(cuMemGetInfo, _v2, (size_t *, size_t *))                                                    \
    FUNCTION(cuStreamSynchronize, , (CUstream))                                                          \
    FUNCTION(cuMemcpyHtoDAsync, _v2, (uint64_t, const void *, size_t, CUstream))                         \
    FUNCTION(cuMemcpy2DAsync, _v2, (const CudaCopy2D *, CUstream))                                       \
    FUNCTION(cuStreamWaitEvent, , (CUstream, void *, unsigned))                                          \
    FUNCTION(cuTensorMapEncodeIm2col, , (void *, int, uint32_t, void *, const uint64_t *,                \
                                         const uint64_t *, const int *, const int *, uint32_t, uint32_t, \
                                         const uint32_t *, int, int, int, int))                          \
    FUNCTION(cuTensorMapEncodeTiled, , (void *, int, uint32_t, void *, const uint64_t *,                 \
                                        const uint64_t *, const uint32_t *, const uint32_t *, int, int,  \
                                        int, int))                                                       \
    /* For timing: device_timer.cpp. */                                                                  \
    FUNCTION(cuDeviceGetName, , (char *, int, CUdevice))                                                 \
    FUNCTION(cuMemcpyDtoDAsync, _v2, (uint64_t, uint64_t, size_t, CUstream))                             \
    FUNCTION(cuStreamCreate, , (CUstream *, unsigned))                                                   \
    FUNCTION(cuStreamDestroy, _v2, (CUstream))                                                           \
    FUNCTION(cuStreamBeginCapture, _v2, (CUstream, unsigned))                                            \
    FUNCTION(cuStreamEndCapture, , (CUstream, void **))                                                  \
    FUNCTION(cuGraphInstantiateWithFlags, , (void **, void *, unsigned long long))                       \
    FUNCTION(cuGraphLaunch, , (void *, CUstream))                                                        \
    FUNCTION(cuGraphExecDestroy, , (void *))                                                             \
    FUNCTION(cuGraphDestroy, , (void *))                                                                 \
    FUNCTION(cuEventCreate, , (void **, unsigned))                                                       \
    FUNCTION(cuEventRecord, , (void *, CUstream))                                                        \
    FUNCTION(cuEventSynchronize, , (void *))                                                             \
    FUNCTION(cuEventElapsedTime, , (float *, void *, void *))                                            \
    FUNCTION(cuEventDestroy, _v2, (void *))                                                              \
    FUNCTION(cuGetErrorString, , (CUresult, const char **))

struct CudaDriver {
#define CONV_TRANSPOSE_DECLARE(name, version, arguments) CUresult(*name) arguments;
    CONV_TRANSPOSE_CUDA_FUNCTIONS(CONV_TRANSPOSE_DECLARE)
#undef CONV_TRANSPOSE_DECLARE

    /// Never null.
    const char *error_string(CUresult result) const;
};

/// Null where there is no driver, or none that knows all entry points (CUDA 12.0 and later do), or no device.
const CudaDriver *cuda_driver();

/// The driver; throws Unsupported where there is none.
const CudaDriver &require_cuda_driver();

/// Throws std::runtime_error that says what failed, and why, unless the result is success.
void check_cuda(CUresult result, const char *what);

/// The compute capability, as 80 for sm_80, of the current context's device, or of device 0 without a
/// context. 0 where there is no usable GPU.
int compute_capability();

/// Shared memory that a kernel may ask for, of the current device; 0 without a usable GPU.
int shared_bytes_per_block();

/// The current device has so many; there are 0 without a usable GPU.
int multiprocessors();

/// Makes the context of a stream current (for the default stream: the current one, or device 0's primary
/// context) and restores the caller's on destruction.
class ScopedCudaContext {
  public:
    explicit ScopedCudaContext(CUstream stream);
    ~ScopedCudaContext();
    ScopedCudaContext(const ScopedCudaContext &) = delete;
    ScopedCudaContext &operator=(const ScopedCudaContext &) = delete;
    CUresult result() const { return result_; }

  private:
    CUresult result_;
    bool pushed_ = false;
};

}  // namespace conv_transpose

#endif
