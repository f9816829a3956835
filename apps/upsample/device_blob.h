// How a blob of a network lies in a GPU's memory, and the parts of it that kernels read and write.
#ifndef UPSAMPLE_DEVICE_BLOB_H
#define UPSAMPLE_DEVICE_BLOB_H

#include <algorithm>

#include "layer_convolution.h"
#include "layer_kernels.h"

namespace upsample {

/// Channels first in float32; channels last in float16, as tensor cores want them.
struct DeviceBlob {
    TensorShape shape;
    int64_t stored = 0;  ///< channels with those that only fill up, which are zero or what becomes of zero
    bool half = false;
    void *data = nullptr;
    int64_t pixel = 0;  ///< channels from a pixel to the next, where they are some of a wider blob's; else 0

    conv_transpose::TensorFormat format() const {
        using namespace conv_transpose;
        return half ? TensorFormat{ElementType::float16, Layout::channels_last} : TensorFormat{};
    }
    std::size_t element_bytes() const { return half ? 2 : 4; }
    std::size_t bytes() const { return stored * shape.height * shape.width * element_bytes(); }

    int64_t channel_stride() const { return half ? 1 : shape.height * shape.width; }
    int64_t column_stride() const { return half ? std::max(pixel, stored) : 1; }
    int64_t row_stride() const { return column_stride() * shape.width; }
};

/// What a view takes of a blob: from a place on, so many samples, which lie `step` samples apart in rows and columns.
struct BlobPart {
    int64_t channel = 0, top = 0, left = 0;
    int64_t channels = 0, height = 0, width = 0;
    int64_t channel_step = 1, step = 1;
};

/// All of a blob, with the channels that fill it up.
BlobPart all_of(const DeviceBlob &blob);

/// Three dimensions, in the order of the blob's memory.
DeviceView view_of(const DeviceBlob &blob, const BlobPart &part);
inline DeviceView view_of(const DeviceBlob &blob) { return view_of(blob, all_of(blob)); }

/// One float32 value a channel, or an element of the blob's type, as large as the blob: it is repeated.
DeviceView a_channel_each(const DeviceBlob &like, void *values, conv_transpose::ElementType type);

/// The part in the order of `like`'s memory, for copies between blobs that lie differently.
DeviceView view_in_order_of(const DeviceBlob &like, const DeviceBlob &blob, const BlobPart &part);

/// The copy by which every pixel of `from` becomes a square of `factor`: a channel each (pixel shuffle), or all the same.
struct SquareCopy {
    DeviceView from, to;
};
SquareCopy square_copy(const DeviceBlob &from, const DeviceBlob &to, int64_t factor, bool shuffled);

}  // namespace upsample

#endif
