// How a layout orders channels and positions, of a picture or of a kernel: the only place of the runtime that turns a layout
// into strides.
#ifndef CONV_TRANSPOSE_RUNTIME_LAYOUT_STRIDES_H
#define CONV_TRANSPOSE_RUNTIME_LAYOUT_STRIDES_H

#include <cstdint>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Elements from a position to the next, and from a channel to the next.
struct LayoutStrides {
    LayoutStrides(Layout layout, int64_t channels, int64_t positions)
        : position(layout == Layout::channels_last ? channels : 1), channel(layout == Layout::channels_last ? 1 : positions) {}

    int64_t position, channel;
};

}  // namespace conv_transpose

#endif
