// A libcuda.so.1 whose one device is ptx_machine: what the library, its tests and its benchmark call of the
// driver. All streams are the same, and nothing is asynchronous between launches. Environment:
//   PTX_MACHINE_CODE=FOLDER:...   where the fat binaries and their texts lie
//   PTX_MACHINE_GPU=80            the compute capability; 90 is the default
//   PTX_MACHINE_MULTIPROCESSORS=108   how many the GPU has, for the choice of kernels; an H200's 132 is the default
//   PTX_MACHINE_TIMING=late       delays what is asynchronous within a kernel as long as the rules allow;
//                                 late_copies and late_products delay one kind
//   PTX_MACHINE_COVERAGE=FILE     gets, when the process ends, what has not been executed
#include "runtime/src/device/cuda_driver.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "algorithm/machine_facts.h"
#include "coverage.h"
#include "device_code.h"
#include "ptx_machine.h"
#include "tensor_map.h"

using namespace ptx_machine;
using namespace conv_transpose;
using conv_transpose::machines::H200;

namespace {

enum Result : CUresult {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_found = 500,
    launch_failed = 719,
    not_supported = 801
};

std::mutex mutex;
DeviceMemoryMap memory;
char primary_context;
thread_local void *current_context = &primary_context;

std::string environment(const char *name, const char *otherwise) {
    const char *const value = std::getenv(name);
    return value ? value : otherwise;
}

int emulated_capability() {
    return std::stoi(environment("PTX_MACHINE_GPU", "90"));
}

int emulated_multiprocessors() {
    return std::stoi(environment("PTX_MACHINE_MULTIPROCESSORS", std::to_string(H200::multiprocessors).c_str()));
}

Timing emulated_timing() {
    const std::string name = environment("PTX_MACHINE_TIMING", "early");
    if (name == "late_copies") return Timing::late_copies;
    if (name == "late_products") return Timing::late_products;
    return name == "late" ? Timing::late : Timing::early;
}

/// What goes wrong is told on standard error, too: the driver's interface has only numbers.
template <class Function>
CUresult without_exceptions(Function function) {
    try {
        const std::lock_guard lock(mutex);
        function();
        return success;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ptx_machine: %s\n", error.what());
        return launch_failed;
    }
}

char *at(uint64_t address) {
    return reinterpret_cast<char *>(address);
}

std::vector<uint8_t> parameter_block(const Kernel &kernel, void **parameters) {
    std::vector<uint8_t> block(kernel.parameter_bytes);
    for (size_t i = 0; i < kernel.parameters.size(); i++)
        std::memcpy(block.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].bytes);
    return block;
}

}  // namespace

extern "C" {

// ---- the device and its context

CUresult cuInit(unsigned) {
    // Memory of a block that has ended serves the next launch: from the system it would come page by page.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return success;
}
CUresult cuDriverGetVersion(int *version) {
    return *version = 12090, success;
}
CUresult cuDeviceGetCount(int *count) {
    return *count = 1, success;
}
CUresult cuDeviceGet(CUdevice *device, int) {
    return *device = 0, success;
}
CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
    return std::snprintf(name, bytes, "ptx_machine"), success;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            *value = 1'000'000;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = emulated_multiprocessors();
            break;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            *value = 50 << 20;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = emulated_capability() / 10;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = emulated_capability() % 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = emulated_capability() == 80 ? 163 * 1024 : H200::block_shared_bytes;
            break;
        default:
            return not_supported;
    }
    return success;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
    return *context = &primary_context, success;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
    return *context = current_context, success;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    return current_context = context, success;
}
CUresult cuCtxGetDevice(CUdevice *device) {
    return *device = 0, success;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return current_context = context, success;
}
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    *context = current_context;
    current_context = &primary_context;
    return success;
}

// ---- code

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, void *, void **, unsigned, void *, void **,
                           unsigned) {
    return without_exceptions([&] {
        const DeviceCode found = find_code(code, environment("PTX_MACHINE_CODE", ""), emulated_capability());
        auto *const module = new Module(decode(found.text));
        watch(found.name, module);
        *library = module;
    });
}
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    const Module &module = *static_cast<Module *>(library);
    const auto found = module.find(name);
    if (found == module.end()) return not_found;
    return *kernel = found->second.get(), success;
}
CUresult cuKernelGetFunction(void **function, CUkernel kernel) {
    return *function = kernel, success;
}
CUresult cuKernelSetAttribute(int, int, CUkernel, CUdevice) {
    return success;
}
CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice) {
    if (attribute != CU_FUNC_ATTRIBUTE_PTX_VERSION) return not_supported;
    return *value = static_cast<const Kernel *>(kernel)->target, success;
}

CUresult cuTensorMapEncodeIm2col(void *map, int type, uint32_t dimensions, void *address, const uint64_t *extents,
                                 const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                                 uint32_t positions, const uint32_t *steps, int interleave, int swizzle, int, int fill) {
    constexpr int float16 = 6, bfloat16 = 9, tf32 = 11;  // as cuda.h has them
    const bool known = (type == float16 || type == bfloat16 || type == tf32) && dimensions >= 3 && dimensions <= 5 &&
                       interleave == 0 && fill == 0 && swizzle >= 1 && swizzle <= 3;
    if (!known) return invalid_value;
    const uint32_t element = type == tf32 ? 4 : 2, row = 16u << swizzle;
    const int axes = static_cast<int>(dimensions) - 2, corner = 1 << (16 / axes - 1);
    bool fits = reinterpret_cast<uint64_t>(address) % 16 == 0 && channels * element == row && channels <= 256 &&
                positions >= 1 && positions <= 256 && steps[0] == 1;
    for (uint32_t d = 0; d < dimensions; d++) fits = fits && extents[d] >= 1 && extents[d] <= uint64_t{1} << 32;
    for (uint32_t d = 0; d + 1 < dimensions; d++) fits = fits && strides[d] % 16 == 0 && strides[d] < uint64_t{1} << 40;
    for (int d = 0; d < axes; d++)
        fits = fits && std::min(lower[d], upper[d]) >= -corner && std::max(lower[d], upper[d]) < corner &&
               steps[d + 1] >= 1 && steps[d + 1] <= 8;
    if (!fits) return invalid_value;
    ptx_machine::TensorMap all{};
    all.mark = ptx_machine::TensorMap::known;
    all.dimensions = static_cast<uint8_t>(dimensions), all.element_bytes = static_cast<uint8_t>(element);
    all.rounds_to_tf32 = type == tf32, all.row_bits = static_cast<uint8_t>(4 + swizzle);
    all.address = reinterpret_cast<uint64_t>(address);
    all.channels = static_cast<uint16_t>(channels), all.positions = static_cast<uint16_t>(positions);
    for (uint32_t d = 0; d < dimensions; d++) all.extents[d] = static_cast<uint32_t>(extents[d]);
    std::copy_n(strides, dimensions - 1, all.strides);
    for (int d = 0; d < axes; d++) {
        all.lower[d] = static_cast<int16_t>(lower[d]), all.upper[d] = static_cast<int16_t>(upper[d]);
        all.steps[d] = static_cast<uint16_t>(steps[d + 1]);
    }
    std::memset(map, 0, 128);
    std::memcpy(map, &all, sizeof all);
    return success;
}

CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t dimensions, void *address, const uint64_t *extents,
                                const uint64_t *strides, const uint32_t *block, const uint32_t *steps, int interleave,
                                int swizzle, int, int fill) {
    constexpr int float16 = 6, bfloat16 = 9, tf32 = 11;
    const bool known = (type == float16 || type == bfloat16 || type == tf32) && dimensions >= 3 && dimensions <= 5 &&
                       interleave == 0 && fill == 0 && swizzle >= 0 && swizzle <= 3;
    if (!known) return invalid_value;
    const uint32_t element = type == tf32 ? 4 : 2;
    bool fits = reinterpret_cast<uint64_t>(address) % 16 == 0 &&
                (swizzle > 0 ? block[0] * element == 16u << swizzle : block[0] * element % 16 == 0);
    for (uint32_t d = 0; d < dimensions; d++)
        fits = fits && extents[d] >= 1 && extents[d] <= uint64_t{1} << 32 && block[d] >= 1 && block[d] <= 256 && steps[d] == 1;
    for (uint32_t d = 0; d + 1 < dimensions; d++) fits = fits && strides[d] % 16 == 0 && strides[d] < uint64_t{1} << 40;
    if (!fits) return invalid_value;
    ptx_machine::TensorMap all{};
    all.mark = ptx_machine::TensorMap::known;
    all.dimensions = static_cast<uint8_t>(dimensions), all.element_bytes = static_cast<uint8_t>(element);
    all.rounds_to_tf32 = type == tf32, all.row_bits = static_cast<uint8_t>(4 + swizzle),
    all.address = reinterpret_cast<uint64_t>(address);
    for (uint32_t d = 0; d < dimensions; d++)
        all.extents[d] = static_cast<uint32_t>(extents[d]), all.block[d] = static_cast<uint16_t>(block[d]);
    std::copy_n(strides, dimensions - 1, all.strides);
    std::memset(map, 0, 128);
    std::memcpy(map, &all, sizeof all);
    return success;
}

CUresult cuLaunchKernelEx(const CudaLaunch *launch, void *function, void **parameters, void **) {
    const Kernel &kernel = *static_cast<Kernel *>(function);
    const Timing timing = emulated_timing();
    const auto dimensions = [](const unsigned *of) { return Dimensions{of[0], of[1], of[2]}; };
    Dimensions cluster{1, 1, 1};
    bool early = false;
    for (unsigned a = 0; a < launch->number_of_attributes; a++) {
        const CudaLaunchAttribute &attribute = launch->attributes[a];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            cluster = dimensions(attribute.cluster);
        else if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            early = attribute.launched_early;
        else
            return not_supported;
        constexpr unsigned most_everywhere = 8;
        if (emulated_capability() < 90 || cluster.x * cluster.y * cluster.z > most_everywhere) return invalid_value;
    }
    const CUresult result = without_exceptions([&] {
        run({kernel, dimensions(launch->grid), dimensions(launch->block), static_cast<int>(launch->shared_bytes),
             parameter_block(kernel, parameters), memory, timing, cluster, early});
    });
    if (result)
        std::fprintf(
            stderr,
            "ptx_machine: in kernel %s, grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u, %u bytes of shared memory\n",
            kernel.name.c_str(), launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
            launch->block[2], cluster.x, cluster.y, cluster.z, launch->shared_bytes);
    return result;
}

// ---- memory: the host's own, so that a kernel which forgets a copy is not found out

CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    constexpr size_t alignment = 256;
    if (bytes > SIZE_MAX - alignment) return out_of_memory;
    void *const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!block) return out_of_memory;
    std::memset(block, 0xff, bytes);  // NaN
    const std::lock_guard lock(mutex);
    memory.add(*address = reinterpret_cast<uint64_t>(block), bytes);
    return success;
}
CUresult cuMemFree_v2(uint64_t address) {
    const std::lock_guard lock(mutex);
    memory.remove(address);
    return std::free(at(address)), success;
}
CUresult cuMemHostAlloc(void **block, size_t bytes, unsigned) {
    return *block = std::malloc(bytes), *block ? success : out_of_memory;
}
CUresult cuMemFreeHost(void *block) {
    return std::free(block), success;
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    return *free = *total = size_t{4} << 30, success;
}

CUresult cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    return std::memcpy(at(to), from, bytes), success;
}
CUresult cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, CUstream) {
    return std::memcpy(at(to), from, bytes), success;
}
CUresult cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    return std::memcpy(to, at(from), bytes), success;
}
CUresult cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, CUstream) {
    return std::memcpy(at(to), at(from), bytes), success;
}
CUresult cuMemcpy2D_v2(const CudaCopy2D *c) {
    const char *const from = c->source_kind == CU_MEMORYTYPE_HOST ? static_cast<const char *>(c->source_host)
                                                                  : at(c->source_device);
    char *const to =
        c->target_kind == CU_MEMORYTYPE_HOST ? static_cast<char *>(c->target_host) : at(c->target_device);
    for (size_t row = 0; row < c->rows; row++)
        std::memcpy(to + (c->target_y + row) * c->target_pitch + c->target_x,
                    from + (c->source_y + row) * c->source_pitch + c->source_x, c->row_bytes);
    return success;
}

CUresult cuMemcpy2DAsync_v2(const CudaCopy2D *c, CUstream) {
    return cuMemcpy2D_v2(c);
}

// ---- streams and events; no graphs, and time stands still

CUresult cuStreamCreate(CUstream *stream, unsigned) {
    return *stream = new char, success;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
    return delete static_cast<char *>(stream), success;
}
CUresult cuStreamGetCtx(CUstream, CUcontext *context) {
    return *context = &primary_context, success;
}
CUresult cuStreamSynchronize(CUstream) {
    return success;
}
CUresult cuStreamWaitEvent(CUstream, void *, unsigned) {
    return success;
}
CUresult cuEventCreate(void **event, unsigned) {
    return *event = new char, success;
}
CUresult cuEventDestroy_v2(void *event) {
    return delete static_cast<char *>(event), success;
}
CUresult cuEventRecord(void *, CUstream) {
    return success;
}
CUresult cuEventSynchronize(void *) {
    return success;
}
CUresult cuEventElapsedTime(float *milliseconds, void *, void *) {
    return *milliseconds = 1, success;
}
CUresult cuStreamBeginCapture_v2(CUstream, unsigned) {
    return not_supported;
}
CUresult cuStreamEndCapture(CUstream, void **) {
    return not_supported;
}
CUresult cuGraphInstantiateWithFlags(void **, void *, unsigned long long) {
    return not_supported;
}
CUresult cuGraphLaunch(void *, CUstream) {
    return not_supported;
}
CUresult cuGraphExecDestroy(void *) {
    return not_supported;
}
CUresult cuGraphDestroy(void *) {
    return not_supported;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    switch (error) {
        case out_of_memory:
            *text = "out of memory";
            break;
        case not_found:
            *text = "no such kernel";
            break;
        case launch_failed:
            *text = "ptx_machine stopped the kernel (see standard error)";
            break;
        case not_supported:
            *text = "not supported by ptx_machine";
            break;
        default:
            *text = "unknown error";
            break;
    }
    return success;
}

}  // extern "C"
