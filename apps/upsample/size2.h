// A pair of sizes, of a picture or of a kernel.
#ifndef UPSAMPLE_SIZE2_H
#define UPSAMPLE_SIZE2_H

#include <cstdint>

namespace upsample {

struct Size2 {
    int64_t height = 0, width = 0;
    friend bool operator==(const Size2 &a, const Size2 &b) { return a.height == b.height && a.width == b.width; }
    friend bool operator!=(const Size2 &a, const Size2 &b) { return !(a == b); }
};

}  // namespace upsample

#endif
