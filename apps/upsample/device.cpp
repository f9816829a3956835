#include "device.h"

#include "picture.h"

namespace upsample {

using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::HostMemory;

Device resolve(Device device) {
    const bool usable = device != Device::cpu && conv_transpose::cuda_available();
    if (device == Device::cuda && !usable)
        throw conv_transpose::Unsupported("device: cuda was asked for, but no GPU is usable here");
    return usable ? Device::cuda : Device::cpu;
}

void reserve(DeviceMemory &memory, Device device, std::size_t bytes) {
    if (memory.device() == device && memory.bytes() >= bytes) return;
    memory = DeviceMemory();  // first, so that both are not there at the same time
    memory = DeviceMemory(device, bytes);
}

void reserve(HostMemory &memory, Device device, std::size_t bytes) {
    if (memory.bytes() >= bytes) return;
    memory = HostMemory();
    memory = HostMemory(device, bytes);
}

DeviceMemory copy_to_device(Device device, const void *source, std::size_t bytes) {
    DeviceMemory memory(device, bytes);
    if (bytes > 0) memory.copy_from_host(source, bytes);
    return memory;
}

void check(const conv_transpose::Status &status) {
    if (!status.ok()) throw PictureError(status.message());
}

}  // namespace upsample
