#include "device_blob.h"

namespace upsample {

using conv_transpose::ElementType;

namespace {

using Dimension = DeviceView::Dimension;

DeviceView empty_view(const DeviceBlob &blob, int64_t offset) {
    DeviceView view;
    view.data = static_cast<char *>(blob.data) + offset * static_cast<int64_t>(blob.element_bytes());
    view.type = blob.format().type;
    return view;
}

}  // namespace

BlobPart all_of(const DeviceBlob &blob) {
    return {0, 0, 0, blob.stored, blob.shape.height, blob.shape.width};
}

DeviceView view_of(const DeviceBlob &blob, const BlobPart &part) { return view_in_order_of(blob, blob, part); }

DeviceView view_in_order_of(const DeviceBlob &like, const DeviceBlob &blob, const BlobPart &part) {
    DeviceView view = empty_view(blob, part.channel * blob.channel_stride() + part.top * blob.row_stride() +
                                           part.left * blob.column_stride());
    const Dimension channel{part.channels, blob.channel_stride() * part.channel_step},
        column{part.width, blob.column_stride() * part.step}, row{part.height, blob.row_stride() * part.step}, none{};
    view.dimensions = like.half ? std::array{channel, column, row, none, none} : std::array{column, row, channel, none, none};
    return view;
}

DeviceView a_channel_each(const DeviceBlob &like, void *values, ElementType type) {
    DeviceView view = view_of(like);
    view.data = values;
    view.type = type;
    for (Dimension &dimension : view.dimensions) dimension.stride = 0;
    view.dimensions[like.half ? 0 : 2].stride = 1;
    return view;
}

SquareCopy square_copy(const DeviceBlob &from, const DeviceBlob &to, int64_t factor, bool shuffled) {
    const int64_t f = factor, channels = to.shape.channels, height = from.shape.height, width = from.shape.width;
    const int64_t channel = from.channel_stride();
    const auto in_order = [&](Dimension c, Dimension x_inside, Dimension x, Dimension y_inside, Dimension y) {
        return to.half ? std::array{c, x_inside, x, y_inside, y} : std::array{x_inside, x, y_inside, y, c};
    };
    SquareCopy copy{empty_view(from, 0), empty_view(to, 0)};
    copy.from.dimensions =
        in_order({channels, shuffled ? f * f * channel : channel}, {f, shuffled ? channel : 0},
                 {width, from.column_stride()}, {f, shuffled ? f * channel : 0}, {height, from.row_stride()});
    copy.to.dimensions = in_order({channels, to.channel_stride()}, {f, to.column_stride()}, {width, f * to.column_stride()},
                                  {f, to.row_stride()}, {height, f * to.row_stride()});
    return copy;
}

}  // namespace upsample
