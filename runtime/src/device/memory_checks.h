// What a caller of device_memory.h and its neighbours may get wrong: which device, and how much of its memory.
#ifndef CONV_TRANSPOSE_RUNTIME_MEMORY_CHECKS_H
#define CONV_TRANSPOSE_RUNTIME_MEMORY_CHECKS_H

#include <stdexcept>
#include <string>

#include "conv_transpose/device_memory.h"
#include "problem/enumerators.h"

namespace conv_transpose {

/// cpu or cuda; automatic is the device that plans take then. Throws InvalidProblem for a number that is no device.
inline Device place(Device wanted) {
    require_device(wanted);
    return wanted != Device::automatic ? wanted : cuda_available() ? Device::cuda : Device::cpu;
}

/// Throws std::invalid_argument without the host's memory, std::out_of_range where a copy would reach beyond the device's:
/// `rows` of so many bytes, which begin `pitch` bytes apart, the first at `offset`.
inline void require_copy(const DeviceMemory &memory, const void *host, std::size_t offset, std::size_t bytes, std::size_t rows = 1,
                         std::size_t pitch = 1) {
    if (!host) throw std::invalid_argument("the host's memory is null, but " + std::to_string(bytes) + " bytes are to be copied");
    const std::size_t all = memory.bytes();
    if (offset > all || bytes > all - offset || (pitch > 0 && rows - 1 > (all - offset - bytes) / pitch))
        throw std::out_of_range("a copy of " + std::to_string(rows) + " x " + std::to_string(bytes) +
                                " bytes from byte " + std::to_string(offset) +
                                " on reaches beyond the device's memory, which has " + std::to_string(all));
}

}  // namespace conv_transpose

#endif
