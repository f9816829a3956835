// Enumerations of the public interface may hold any number, from a cast or from C.
#ifndef CONV_TRANSPOSE_RUNTIME_ENUMERATORS_H
#define CONV_TRANSPOSE_RUNTIME_ENUMERATORS_H

#include <string>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Throws InvalidProblem for a number beyond the last enumerator's.
template <class Enum>
void require_enumerator(const std::string &field, Enum value, Enum last, const std::string &valid) {
    const int number = static_cast<int>(value);
    if (number < 0 || number > static_cast<int>(last))
        throw InvalidProblem(field, field + " is " + std::to_string(number) + ", but it must be one of " +
                                        valid + ", which are 0 to " + std::to_string(static_cast<int>(last)));
}

inline void require_device(Device device) { require_enumerator("device", device, Device::cuda, "automatic, cpu and cuda"); }

}  // namespace conv_transpose

#endif
