// Tensor maps of views: see view.h.
#include "plan/view.h"

#include "choice/picture_frame.h"

namespace conv_transpose {

PictureMap picture_map(const KernelTraits &kernel, const Problem &p, const View &picture) {
    const auto &d = picture.dimensions();
    const int64_t bytes = bytes_of(picture.type());
    const int axes = kernel.rank;
    PictureMap map;
    map.element = picture.type() == ElementType::float16    ? PictureMap::Element::float16
                  : picture.type() == ElementType::bfloat16 ? PictureMap::Element::bfloat16
                                                            : PictureMap::Element::tf32;
    map.axes = axes;
    map.extents[0] = d[axes].extent * d[axes + 1].extent;  // of all groups, side by side
    for (int i = 0; i < axes; i++) {
        const FrameAxis frame(kernel, p.axes[2 - i], i == 0);
        map.extents[1 + i] = d[i].extent, map.strides[i] = d[i].stride * bytes;
        map.lower[i] = static_cast<int>(frame.first), map.upper[i] = static_cast<int>(frame.behind(d[i].extent));
        map.traversal[i] = static_cast<uint32_t>(frame.step);
    }
    map.extents[1 + axes] = d[axes + 2].extent, map.strides[axes] = d[axes + 2].stride * bytes;
    map.channels = static_cast<uint32_t>(kernel.weight_in_channel_multiple);
    map.positions = static_cast<uint32_t>(kernel.box_positions);
    return map;
}

}  // namespace conv_transpose
