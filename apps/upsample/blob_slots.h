// Which blobs of a network share memory: those that are not alive at the same time.
#ifndef UPSAMPLE_BLOB_SLOTS_H
#define UPSAMPLE_BLOB_SLOTS_H

#include <cstddef>
#include <vector>

#include "ncnn_model.h"

namespace upsample {

struct BlobSlots {
    std::vector<int> of_blob;
    std::vector<int> of_layer;       ///< that it may write while it runs; -1 where it wants none
    std::vector<std::size_t> bytes;  ///< of each slot
    std::size_t total_bytes() const;
};

/// For blobs of so many bytes each, and layers that may or may not work in place: then the output lies where the first
/// input lies. A blob may be a part of another one, its root, with which it shares memory; else it is its own root. Layers may
/// want memory while they run.
BlobSlots assign_slots(const NcnnModel &model, const std::vector<std::size_t> &blob_bytes,
                       const std::vector<bool> &layer_works_in_place, const std::vector<int> &root_of_blob,
                       const std::vector<std::size_t> &layer_bytes = {});

}  // namespace upsample

#endif
