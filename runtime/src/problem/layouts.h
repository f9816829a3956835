// What the runtime knows of layouts, a row each: whatever asks how a tensor lies asks here.
#ifndef CONV_TRANSPOSE_RUNTIME_LAYOUTS_H
#define CONV_TRANSPOSE_RUNTIME_LAYOUTS_H

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

struct NamedLayout {
    const char *name;
    bool channels_innermost;  ///< else positions are
};

/// In the order of Layout.
inline constexpr NamedLayout named_layouts[] = {{"channels_first", false}, {"channels_last", true}};
static_assert(std::size(named_layouts) == static_cast<std::size_t>(Layout::channels_last) + 1);

constexpr bool channels_innermost(Layout layout) { return named_layouts[static_cast<int>(layout)].channels_innermost; }
constexpr bool channels_innermost(const TensorFormat &format) { return channels_innermost(format.layout); }

/// Elements from a position to the next, and from a channel to the next, of a picture or of a kernel.
struct LayoutStrides {
    LayoutStrides(Layout layout, int64_t channels, int64_t positions)
        : position(channels_innermost(layout) ? channels : 1), channel(channels_innermost(layout) ? 1 : positions) {}

    int64_t position, channel;
};

}  // namespace conv_transpose

#endif
