// Streams and events: see device_stream.h.
#include "conv_transpose/device_stream.h"

#include <cstdint>

#include "device/cuda_driver.h"
#include "device/memory_checks.h"

namespace conv_transpose {

namespace {

// In the context that a plan with the default stream uses, where memory is allocated too (device_memory.cpp).
template <class Function>
void in_context(Device device, const char *what, Function function) {
    if (device == Device::cpu) return;
    const CudaDriver &driver = require_cuda_driver();
    const ScopedCudaContext scope(nullptr);
    check_cuda(scope.result(), "no context");
    check_cuda(function(driver), what);
}

}  // namespace

DeviceStream::DeviceStream(Device device) : device_(place(device)) {
    constexpr unsigned beside_the_default_stream = 1;
    in_context(device_, "cannot create a stream",
               [&](const CudaDriver &driver) { return driver.cuStreamCreate(&handle_, beside_the_default_stream); });
}

DeviceStream::~DeviceStream() {
    if (!handle_) return;
    const ScopedCudaContext scope(nullptr);
    cuda_driver()->cuStreamSynchronize(handle_);
    cuda_driver()->cuStreamDestroy(handle_);
}

void DeviceStream::copy_from_host(DeviceMemory &target, const void *source, std::size_t bytes) {
    if (device_ == Device::cpu || bytes == 0) return target.copy_from_host(source, bytes);
    require_copy(target, source, 0, bytes);
    in_context(device_, "cannot copy to the device", [&](const CudaDriver &driver) {
        return driver.cuMemcpyHtoDAsync(reinterpret_cast<uint64_t>(target.data()), source, bytes, handle_);
    });
}

void DeviceStream::copy_rows_to_host(const DeviceMemory &source, void *target, std::size_t target_pitch, std::size_t offset,
                                     std::size_t pitch, std::size_t row_bytes, std::size_t rows) {
    if (device_ == Device::cpu || row_bytes == 0 || rows == 0)
        return source.copy_rows_to_host(target, target_pitch, offset, pitch, row_bytes, rows);
    require_copy(source, target, offset, row_bytes, rows, pitch);
    CudaCopy2D copy{};
    copy.source_kind = CU_MEMORYTYPE_DEVICE, copy.source_device = reinterpret_cast<uint64_t>(source.data()) + offset;
    copy.source_pitch = pitch;
    copy.target_kind = CU_MEMORYTYPE_HOST, copy.target_host = target, copy.target_pitch = target_pitch;
    copy.row_bytes = row_bytes, copy.rows = rows;
    in_context(device_, "cannot copy from the device",
               [&](const CudaDriver &driver) { return driver.cuMemcpy2DAsync(&copy, handle_); });
}

DeviceEvent::DeviceEvent(Device device) : device_(place(device)) {
    constexpr unsigned without_times = 2;
    in_context(device_, "cannot create an event",
               [&](const CudaDriver &driver) { return driver.cuEventCreate(&handle_, without_times); });
}

DeviceEvent::~DeviceEvent() {
    if (!handle_) return;
    const ScopedCudaContext scope(nullptr);
    cuda_driver()->cuEventDestroy(handle_);
}

void DeviceEvent::record(const DeviceStream &stream) {
    in_context(device_, "cannot record an event",
               [&](const CudaDriver &driver) { return driver.cuEventRecord(handle_, stream.get().handle); });
}

void DeviceEvent::hold(const DeviceStream &stream) const {
    in_context(device_, "cannot wait for an event",
               [&](const CudaDriver &driver) { return driver.cuStreamWaitEvent(stream.get().handle, handle_, 0); });
}

void DeviceEvent::wait() const {
    in_context(device_, "the work failed", [&](const CudaDriver &driver) { return driver.cuEventSynchronize(handle_); });
}

}  // namespace conv_transpose
