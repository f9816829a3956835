// Streams and events of a device, for programs that do not use CUDA's own runtime and let copies run beside kernels:
// upsample. On a CPU everything happens at once, in the order of the calls.
#ifndef CONV_TRANSPOSE_DEVICE_STREAM_H
#define CONV_TRANSPOSE_DEVICE_STREAM_H

#include <cstddef>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace conv_transpose {

/// A stream of its own: it does not wait for the default stream, nor that for it.
class DeviceStream {
  public:
    /// Throws std::runtime_error on a device error, Unsupported for cuda without a GPU.
    explicit DeviceStream(Device device);
    /// Waits for all that was enqueued.
    ~DeviceStream();
    DeviceStream(const DeviceStream &) = delete;
    DeviceStream &operator=(const DeviceStream &) = delete;

    Stream get() const noexcept { return {handle_}; }

    /// Enqueue copies. The host's memory should be HostMemory, and is the device's until the copy is done. Throw
    /// std::runtime_error on a device error.
    void copy_from_host(DeviceMemory &target, const void *source, std::size_t bytes);
    /// As DeviceMemory::copy_rows_to_host().
    void copy_rows_to_host(const DeviceMemory &source, void *target, std::size_t target_pitch, std::size_t offset,
                           std::size_t pitch, std::size_t row_bytes, std::size_t rows);

  private:
    Device device_;
    void *handle_ = nullptr;
};

/// A place in a stream that others wait for. Throws as the stream does.
class DeviceEvent {
  public:
    explicit DeviceEvent(Device device);
    ~DeviceEvent();
    DeviceEvent(const DeviceEvent &) = delete;
    DeviceEvent &operator=(const DeviceEvent &) = delete;

    /// Behind all that was enqueued so far.
    void record(const DeviceStream &stream);
    /// What is enqueued on the stream from now on waits; for nothing, if the event was never recorded.
    void hold(const DeviceStream &stream) const;
    /// The caller waits.
    void wait() const;

  private:
    Device device_;
    void *handle_ = nullptr;
};

}  // namespace conv_transpose

#endif
