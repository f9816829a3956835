// Status: its message is cut to what fits.
#include <cstdio>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

Status::Status(Code code, const char *message) noexcept : code_(code) {
    std::snprintf(message_, sizeof message_, "%s", message);
}

}  // namespace conv_transpose
