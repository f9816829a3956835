#include "device.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "picture.h"

namespace upsample {
namespace {

using conv_transpose::Device;

/// The few driver functions that are needed. Their types are CUDA's own with handles as void pointers.
class CudaDriver {
  public:
    static const CudaDriver &get() {
        static const CudaDriver driver;
        return driver;
    }

    int (*allocate)(void **, std::size_t) = nullptr;
    int (*free)(void *) = nullptr;
    int (*to_device)(void *, const void *, std::size_t) = nullptr;
    int (*to_host)(void *, const void *, std::size_t) = nullptr;

    /// Makes the device's primary context current on this thread; it is the one that other libraries use too.
    void use() const {
        if (set_current(context) != 0) throw PictureError("CUDA: the device's context cannot be used");
    }

  private:
    CudaDriver() {
        library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library) throw conv_transpose::Unsupported("CUDA: the driver library libcuda.so.1 is not here");
        int (*initialise)(unsigned) = nullptr;
        int (*device_get)(int *, int) = nullptr;
        int (*retain)(void **, int) = nullptr;
        find(initialise, "cuInit");
        find(device_get, "cuDeviceGet");
        find(retain, "cuDevicePrimaryCtxRetain");
        find(set_current, "cuCtxSetCurrent");
        find(allocate, "cuMemAlloc_v2");
        find(free, "cuMemFree_v2");
        find(to_device, "cuMemcpyHtoD_v2");
        find(to_host, "cuMemcpyDtoH_v2");
        int device = 0;
        if (initialise(0) != 0 || device_get(&device, 0) != 0 || retain(&context, device) != 0) {
            throw conv_transpose::Unsupported("CUDA: the driver finds no usable device");
        }
    }

    template <typename Function>
    void find(Function &function, const char *name) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (!function) throw conv_transpose::Unsupported(std::string("CUDA: the driver has no ") + name);
    }

    void *library = nullptr;
    void *context = nullptr;
    int (*set_current)(void *) = nullptr;
};

constexpr std::size_t host_alignment = 64;

}  // namespace

Device resolve(Device device) {
    const bool usable = device != Device::cpu && conv_transpose::cuda_available();
    if (device == Device::cuda && !usable) {
        throw conv_transpose::Unsupported("device: cuda was asked for, but no GPU is usable here");
    }
    return usable ? Device::cuda : Device::cpu;
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept {
    *this = std::move(other);
}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void DeviceMemory::reserve(Device device, std::size_t bytes) {
    if (data_ && device == device_ && bytes <= bytes_) return;
    release();
    device_ = device;
    if (bytes == 0) return;
    if (device == Device::cuda) {
        const CudaDriver &driver = CudaDriver::get();
        driver.use();
        if (driver.allocate(&data_, bytes) != 0) {
            data_ = nullptr;
            throw std::bad_alloc();
        }
    } else {
        data_ = ::operator new(bytes, std::align_val_t(host_alignment));
    }
    bytes_ = bytes;
}

void DeviceMemory::release() noexcept {
    if (data_ && device_ == Device::cuda) {
        CudaDriver::get().free(data_);
    } else if (data_) {
        ::operator delete(data_, std::align_val_t(host_alignment));
    }
    data_ = nullptr;
    bytes_ = 0;
}

void DeviceMemory::upload(const void *from, std::size_t bytes, std::size_t offset) {
    char *to = static_cast<char *>(data_) + offset;
    if (device_ == Device::cpu) {
        std::memcpy(to, from, bytes);
    } else if (CudaDriver::get().to_device(to, from, bytes) != 0) {
        throw PictureError("CUDA: a copy to the device failed");
    }
}

void DeviceMemory::download(void *to, std::size_t bytes, std::size_t offset) const {
    const char *from = static_cast<const char *>(data_) + offset;
    if (device_ == Device::cpu) {
        std::memcpy(to, from, bytes);
    } else if (CudaDriver::get().to_host(to, from, bytes) != 0) {
        throw PictureError("CUDA: a copy from the device failed; an earlier kernel may have");
    }
}

void check(const conv_transpose::Status &status) {
    if (!status.ok()) throw PictureError(status.message());
}

}  // namespace upsample
