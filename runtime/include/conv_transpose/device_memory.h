// Memory for tensors on either device, for programs that do not use CUDA's own runtime: upsample, the benchmark, tests.
// A program that has its own device pointers needs none of this.
#ifndef CONV_TRANSPOSE_DEVICE_MEMORY_H
#define CONV_TRANSPOSE_DEVICE_MEMORY_H

#include <cstddef>
#include <memory>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Owns bytes on a device; movable. CPU memory is aligned to 64 bytes.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    /// Throws std::bad_alloc where there is not enough memory, Unsupported for cuda without a GPU. automatic is the device that
    /// plans take then, here as in all functions of devices.
    DeviceMemory(Device device, std::size_t bytes);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory &&other) noexcept;
    DeviceMemory &operator=(DeviceMemory &&other) noexcept;

    void *data() const noexcept { return data_; }
    float *floats() const noexcept { return static_cast<float *>(data_); }
    std::size_t bytes() const noexcept { return bytes_; }
    Device device() const noexcept { return device_; }

    /// Copies from or to the host, after all work enqueued before on the default stream; returns when it is done.
    /// Throws std::out_of_range where a copy reaches beyond the memory, std::runtime_error on a device error, such as one of an
    /// earlier kernel.
    void copy_from_host(const void *source, std::size_t bytes, std::size_t offset = 0);
    void copy_to_host(void *target, std::size_t bytes, std::size_t offset = 0) const;

    /// Copies `rows` rows of `row_bytes` each, which begin `pitch` bytes apart here and `target_pitch` there.
    void copy_rows_to_host(void *target, std::size_t target_pitch, std::size_t offset, std::size_t pitch,
                           std::size_t row_bytes, std::size_t rows) const;

  private:
    Device device_ = Device::cpu;
    void *data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Owns memory of the host that a device copies from and to without a detour: page-locked for CUDA, else
/// plain. Movable.
class HostMemory {
  public:
    HostMemory() = default;
    /// Throws as DeviceMemory does. `device` is the one that copies.
    HostMemory(Device device, std::size_t bytes);

    float *floats() const noexcept { return static_cast<float *>(data_.get()); }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    struct Free {
        Device device;
        void operator()(void *data) const noexcept;
    };
    std::unique_ptr<void, Free> data_{nullptr, Free{Device::cpu}};
    std::size_t bytes_ = 0;
};

/// Waits for everything enqueued on the stream. Throws std::runtime_error on a device error.
void synchronize(Device device, Stream stream = {});

/// Bytes free on the device: of the GPU, or of the machine's memory.
std::size_t free_memory(Device device);

}  // namespace conv_transpose

#endif
