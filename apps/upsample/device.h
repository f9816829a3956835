// Where the computing happens, and memory there that is kept from one use to the next.
#ifndef UPSAMPLE_DEVICE_H
#define UPSAMPLE_DEVICE_H

#include <cstddef>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace upsample {

/// What automatic means on this machine: CUDA where a GPU is usable. Throws conv_transpose::Unsupported when
/// CUDA is asked for and there is none.
conv_transpose::Device resolve(conv_transpose::Device device);

/// Makes the memory large enough, discarding its content when it is not. Throws std::bad_alloc.
void reserve(conv_transpose::DeviceMemory &memory, conv_transpose::Device device, std::size_t bytes);

/// Likewise, of the host.
void reserve(conv_transpose::HostMemory &memory, conv_transpose::Device device, std::size_t bytes);

/// Memory on the device with a copy of `bytes` bytes from the host.
conv_transpose::DeviceMemory copy_to_device(conv_transpose::Device device, const void *source,
                                            std::size_t bytes);

/// Throws PictureError with the status' message unless it is ok.
void check(const conv_transpose::Status &status);

}  // namespace upsample

#endif
