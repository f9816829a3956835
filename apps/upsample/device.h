// Where the computing happens: memory on the plan's device and copies to and from it. CUDA is reached through
// its driver at run time, so that one binary serves machines with and without a GPU.
#ifndef UPSAMPLE_DEVICE_H
#define UPSAMPLE_DEVICE_H

#include <cstddef>
#include <cstdint>

#include "conv_transpose/conv_transpose.h"

namespace upsample {

/// What automatic means on this machine: CUDA where a GPU is usable. Throws conv_transpose::Unsupported when
/// CUDA is asked for and there is none.
conv_transpose::Device resolve(conv_transpose::Device device);

/// Memory on a device, aligned as a plan's workspace must be. Growing discards the content.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    DeviceMemory(conv_transpose::Device device, std::size_t bytes) { reserve(device, bytes); }
    ~DeviceMemory() { release(); }
    DeviceMemory(DeviceMemory &&other) noexcept;
    DeviceMemory &operator=(DeviceMemory &&other) noexcept;

    /// Throws std::bad_alloc.
    void reserve(conv_transpose::Device device, std::size_t bytes);

    void upload(const void *from, std::size_t bytes, std::size_t offset = 0);

    /// Waits for the work that was enqueued before it.
    void download(void *to, std::size_t bytes, std::size_t offset = 0) const;

    float *floats() const { return static_cast<float *>(data_); }
    void *data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    conv_transpose::Workspace workspace() const { return {data_, bytes_}; }

  private:
    void release() noexcept;

    conv_transpose::Device device_ = conv_transpose::Device::cpu;
    void *data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Throws PictureError with the status' message unless it is ok.
void check(const conv_transpose::Status &status);

}  // namespace upsample

#endif
