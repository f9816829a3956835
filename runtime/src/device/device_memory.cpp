// Memory on either device: see device_memory.h.
#include "conv_transpose/device_memory.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "device/cuda_driver.h"
#include "device/memory_checks.h"

namespace conv_transpose {

namespace {

// Allocation, copies and waiting happen in the context that a plan with the default stream uses.
template <class Function>
void in_context(Function function) {
    const CudaDriver &driver = require_cuda_driver();
    const ScopedCudaContext scope(nullptr);
    check_cuda(scope.result(), "no context");
    function(driver);
}

void check_allocation(CUresult result) {
    constexpr CUresult out_of_memory = 2;
    if (result == out_of_memory) throw std::bad_alloc();
    check_cuda(result, "cannot allocate memory");
}

void *allocate_on_host(std::size_t bytes) {
    constexpr std::size_t alignment = 64;
    if (bytes > std::numeric_limits<std::size_t>::max() - alignment) throw std::bad_alloc();
    void *data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!data) throw std::bad_alloc();
    return data;
}

uint64_t address(void *data, std::size_t offset) { return reinterpret_cast<uint64_t>(data) + offset; }

}  // namespace

DeviceMemory::DeviceMemory(Device device, std::size_t bytes) : device_(place(device)), bytes_(bytes) {
    if (bytes == 0) return;
    if (device_ == Device::cuda) {
        in_context([&](const CudaDriver &driver) {
            uint64_t pointer = 0;
            check_allocation(driver.cuMemAlloc(&pointer, bytes));
            data_ = reinterpret_cast<void *>(pointer);
        });
    } else {
        data_ = allocate_on_host(bytes);
    }
}

DeviceMemory::~DeviceMemory() {
    if (!data_) return;
    if (device_ == Device::cuda) {
        const ScopedCudaContext scope(nullptr);
        cuda_driver()->cuMemFree(address(data_, 0));
    } else {
        std::free(data_);
    }
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void DeviceMemory::copy_from_host(const void *source, std::size_t bytes, std::size_t offset) {
    if (bytes == 0) return;
    require_copy(*this, source, offset, bytes);
    if (device_ == Device::cpu) {
        std::memcpy(static_cast<char *>(data_) + offset, source, bytes);
        return;
    }
    in_context([&](const CudaDriver &driver) {
        check_cuda(driver.cuMemcpyHtoD(address(data_, offset), source, bytes), "cannot copy to the device");
        // From pageable memory the driver returns when the bytes are in its own buffer; without waiting, the
        // rest of the copy could land after a kernel on a stream that does not wait for the default one.
        check_cuda(driver.cuStreamSynchronize(nullptr), "cannot copy to the device");
    });
}

void DeviceMemory::copy_to_host(void *target, std::size_t bytes, std::size_t offset) const {
    if (bytes == 0) return;
    require_copy(*this, target, offset, bytes);
    if (device_ == Device::cpu) {
        std::memcpy(target, static_cast<const char *>(data_) + offset, bytes);
        return;
    }
    in_context([&](const CudaDriver &driver) {
        check_cuda(driver.cuMemcpyDtoH(target, address(data_, offset), bytes), "cannot copy from the device");
    });
}

void DeviceMemory::copy_rows_to_host(void *target, std::size_t target_pitch, std::size_t offset,
                                     std::size_t pitch, std::size_t row_bytes, std::size_t rows) const {
    if (row_bytes == 0 || rows == 0) return;
    require_copy(*this, target, offset, row_bytes, rows, pitch);
    if (device_ == Device::cpu) {
        const char *from = static_cast<const char *>(data_) + offset;
        for (std::size_t row = 0; row < rows; row++)
            std::memcpy(static_cast<char *>(target) + row * target_pitch, from + row * pitch, row_bytes);
        return;
    }
    in_context([&](const CudaDriver &driver) {
        CudaCopy2D copy{};
        copy.source_kind = CU_MEMORYTYPE_DEVICE, copy.source_device = address(data_, offset),
        copy.source_pitch = pitch;
        copy.target_kind = CU_MEMORYTYPE_HOST, copy.target_host = target, copy.target_pitch = target_pitch;
        copy.row_bytes = row_bytes, copy.rows = rows;
        check_cuda(driver.cuMemcpy2D(&copy), "cannot copy from the device");
    });
}

HostMemory::HostMemory(Device device, std::size_t bytes) : data_(nullptr, Free{place(device)}), bytes_(bytes) {
    if (bytes == 0) return;
    if (data_.get_deleter().device == Device::cpu) {
        data_.reset(allocate_on_host(bytes));
        return;
    }
    in_context([&](const CudaDriver &driver) {
        constexpr unsigned for_all_contexts = 1;
        void *data = nullptr;
        check_allocation(driver.cuMemHostAlloc(&data, bytes, for_all_contexts));
        data_.reset(data);
    });
}

void HostMemory::Free::operator()(void *data) const noexcept {
    if (device == Device::cpu) {
        std::free(data);
        return;
    }
    const ScopedCudaContext scope(nullptr);
    cuda_driver()->cuMemFreeHost(data);
}

void synchronize(Device device, Stream stream) {
    if (place(device) == Device::cpu) return;
    in_context([&](const CudaDriver &driver) {
        check_cuda(driver.cuStreamSynchronize(stream.handle), "the stream failed");
    });
}

std::size_t free_memory(Device device) {
    if (place(device) == Device::cpu)
        return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
               static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t free = 0, total = 0;
    in_context([&](const CudaDriver &driver) {
        check_cuda(driver.cuMemGetInfo(&free, &total), "cannot read free memory");
    });
    return free;
}

}  // namespace conv_transpose
