// Where the blobs of a network lie that are joined: side by side from the beginning, so that nothing is copied.
#ifndef UPSAMPLE_BLOB_PLACES_H
#define UPSAMPLE_BLOB_PLACES_H

#include <cstdint>
#include <functional>
#include <vector>

#include "layer_convolution.h"
#include "ncnn_model.h"

namespace upsample {

/// A blob lies in itself, or from a channel on in a wider one that other layers join it into.
struct BlobPlace {
    int root = 0;
    int64_t channel = 0;
};

/// Each blob in itself.
std::vector<BlobPlace> places_apart(int blobs);

/// `may_move` tells whether the layers around a blob read and write it in some channels of a wider one.
std::vector<BlobPlace> places_joined(const NcnnModel &model, const std::vector<TensorShape> &shapes,
                                     const std::function<bool(int blob)> &may_move);

/// The roots alone, as assign_slots() takes them.
std::vector<int> roots_of(const std::vector<BlobPlace> &places);

}  // namespace upsample

#endif
