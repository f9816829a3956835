// Launching: this library's own implementation of the three functions through which Halide's compiled code reaches a
// GPU (HalideRuntimeCuda.h lets clients override them).
//
// Halide's own would compile PTX at the first call with at most 64 registers, refuse more than 48 KB of shared memory,
// and take global locks. Here the embedded code is a fat binary; each is loaded once a process (a CUlibrary belongs to
// all contexts), and a launch is a look-up and one driver call on the caller's stream.
#include <cstdio>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "HalideRuntime.h"
#include "device/cuda_driver.h"
#include "device/run_context.h"
#include "device/tensor_map.h"

namespace conv_transpose {

namespace {

int fail(void *user_context, const char *what, CUresult result) {
    char message[256];
    std::snprintf(message, sizeof message, "CUDA: %s: %s", what, cuda_driver()->error_string(result));
    halide_error(user_context, message);
    return halide_error_code_gpu_device_error;
}

struct PreparedKernel {
    CUkernel kernel = nullptr;
    int shared_bytes = 0;         // that it may have
    bool launched_early = false;  // it waits by itself for the kernel before it (compiler/ptx/early_launch.h)
};

// The text of such kernels is for sm_90 or later. A graph that is being captured takes their launches from CUDA 12.3 on.
CUresult find_whether_early(PreparedKernel &prepared, CUdevice device) {
    constexpr int least_text = 90, least_driver = 12030;
    int text = 0, driver = 0;
    if (CUresult result = cuda_driver()->cuDriverGetVersion(&driver)) return result;
    if (CUresult result = cuda_driver()->cuKernelGetAttribute(&text, CU_FUNC_ATTRIBUTE_PTX_VERSION, prepared.kernel, device))
        return result;
    prepared.launched_early = text >= least_text && driver >= least_driver;
    return CUDA_SUCCESS;
}

// A loaded fat binary and those of its kernels that were launched.
class DeviceCode {
  public:
    CUresult load(const void *fat_binary) {
        return cuda_driver()->cuLibraryLoadData(&library_, fat_binary, nullptr, nullptr, 0, nullptr, nullptr, 0);
    }

    CUresult find(const char *name, int shared_bytes, PreparedKernel *kernel) {
        CUdevice device = 0;
        if (CUresult result = cuda_driver()->cuCtxGetDevice(&device)) return result;
        const Key key{name, device};
        {
            std::shared_lock lock(mutex_);
            if (const auto found = kernels_.find(key);
                found != kernels_.end() && found->second.shared_bytes >= shared_bytes) {
                *kernel = found->second;
                return CUDA_SUCCESS;
            }
        }
        std::unique_lock lock(mutex_);
        if (CUresult result = prepare(name, shared_bytes, device, kernel)) return result;
        kernels_[key] = *kernel;
        return CUDA_SUCCESS;
    }

  private:
    struct Key {
        std::string_view name;
        CUdevice device;
        bool operator==(const Key &) const = default;
    };
    struct Hash {
        size_t operator()(const Key &key) const { return std::hash<std::string_view>()(key.name) + key.device; }
    };
    CUlibrary library_ = nullptr;
    std::shared_mutex mutex_;
    std::unordered_map<Key, PreparedKernel, Hash> kernels_;

    static CUresult prepare_shared(CUkernel kernel, int shared_bytes, CUdevice device) {
        constexpr int without_opting_in = 48 * 1024;
        if (shared_bytes <= without_opting_in) return CUDA_SUCCESS;
        return cuda_driver()->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes,
                                                   kernel, device);
    }

    CUresult prepare(const char *name, int shared_bytes, CUdevice device, PreparedKernel *prepared) {
        CUkernel &kernel = prepared->kernel;
        prepared->shared_bytes = shared_bytes;
        if (CUresult result = cuda_driver()->cuLibraryGetKernel(&kernel, library_, name)) return result;
        if (CUresult result = prepare_shared(kernel, shared_bytes, device)) return result;
        if (CUresult result = find_whether_early(*prepared, device)) return result;
        // Loads the code into this context now; otherwise the driver would do it at the first launch, which a CUDA
        // graph that is being captured does not allow.
        void *loaded = nullptr;
        return cuda_driver()->cuKernelGetFunction(&loaded, kernel);
    }
};

// All code loaded so far, by the address of its fat binary. Never unloaded: at exit the driver may be gone already.
class LoadedCode {
  public:
    CUresult find(const void *fat_binary, DeviceCode **code) {
        {
            std::shared_lock lock(mutex_);
            if (const auto found = loaded_.find(fat_binary); found != loaded_.end()) {
                *code = found->second.get();
                return CUDA_SUCCESS;
            }
        }
        std::unique_lock lock(mutex_);
        if (const auto found = loaded_.find(fat_binary); found != loaded_.end()) {
            *code = found->second.get();
            return CUDA_SUCCESS;
        }
        // What cannot be loaded leaves nothing behind: the next try loads again.
        auto fresh = std::make_unique<DeviceCode>();
        if (CUresult result = fresh->load(fat_binary)) return result;
        *code = loaded_.emplace(fat_binary, std::move(fresh)).first->second.get();
        return CUDA_SUCCESS;
    }

    static LoadedCode &instance() {
        static LoadedCode *all = new LoadedCode;
        return *all;
    }

  private:
    std::shared_mutex mutex_;
    std::unordered_map<const void *, std::unique_ptr<DeviceCode>> loaded_;
};

// Runs what may throw (only allocation can) where exceptions cannot pass: under Halide's frames.
template <class Function>
int without_exceptions(void *user_context, Function function) {
    try {
        return function();
    } catch (const std::exception &error) {
        halide_error(user_context, error.what());
        return halide_error_code_out_of_memory;
    }
}

}  // namespace

}  // namespace conv_transpose

using namespace conv_transpose;

extern "C" {

int halide_cuda_initialize_kernels(void *user_context, void **state, const char *fat_binary, int) {
    return without_exceptions(user_context, [&] {
        DeviceCode *code = nullptr;
        if (CUresult result = LoadedCode::instance().find(fat_binary, &code))
            return fail(user_context, "cannot load the kernel", result);
        *state = code;
        return 0;
    });
}

void halide_cuda_finalize_kernels(void *, void *) {}

int halide_cuda_run(void *user_context, void *state, const char *entry_name, int blocks_x, int blocks_y, int blocks_z,
                    int threads_x, int threads_y, int threads_z, int shared_bytes, size_t arg_sizes[], void *args[],
                    int8_t arg_is_buffer[]) {
    return without_exceptions(user_context, [&] {
        PreparedKernel prepared;
        if (CUresult result = static_cast<DeviceCode *>(state)->find(entry_name, shared_bytes, &prepared))
            return fail(user_context, "cannot prepare the kernel", result);
        const auto *context = static_cast<const RunContext *>(user_context);
        if (context->rehearsal || int64_t{blocks_x} * blocks_y * blocks_z == 0) return 0;

        // A buffer is passed as its device address.
        constexpr size_t max_args = 256;
        uint64_t addresses[max_args];
        void *parameters[max_args + 1];
        size_t n = 0;
        for (; arg_sizes[n] != 0; n++) {
            if (n == max_args) {
                halide_error(user_context, "the kernel has too many parameters");
                return int{halide_error_code_internal_error};
            }
            parameters[n] = args[n];
            if (arg_is_buffer[n]) {
                addresses[n] = static_cast<halide_buffer_t *>(args[n])->device;
                parameters[n] = &addresses[n];
            }
        }
        // Behind those that Halide knows (compiler/ptx/shared_copies.h).
        if (context->tensor_maps) parameters[n] = const_cast<TensorMap *>(context->tensor_maps);
        const auto unsigned_of = [](int n) { return static_cast<unsigned>(n); };
        unsigned wanted = 0;
        CudaLaunchAttribute attributes[2]{};
        if (context->in_clusters && blocks_y > 1)
            attributes[wanted++] = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {}, {.cluster = {1, unsigned_of(blocks_y), 1}}};
        if (prepared.launched_early)
            attributes[wanted++] = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, {}, {.launched_early = 1}};
        const CudaLaunch launch{{unsigned_of(blocks_x), unsigned_of(blocks_y), unsigned_of(blocks_z)},
                                {unsigned_of(threads_x), unsigned_of(threads_y), unsigned_of(threads_z)},
                                unsigned_of(shared_bytes), context->stream, attributes, wanted};
        if (CUresult result = cuda_driver()->cuLaunchKernelEx(&launch, prepared.kernel, parameters, nullptr))
            return fail(user_context, "cannot launch the kernel", result);
        return 0;
    });
}

// Buffers always come with their device address, so there is never anything to copy or to allocate.
int halide_copy_to_device(void *, halide_buffer_t *, const halide_device_interface_t *) { return 0; }

// Never called through, for the same reason; its address marks a buffer as CUDA's.
const halide_device_interface_t *halide_cuda_device_interface() {
    static const halide_device_interface_t interface{};
    return &interface;
}

}  // extern "C"
