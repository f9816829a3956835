// Where a network's blobs lie on a GPU: of how many channels, which in another, and which take turns in a piece of memory.
#ifndef UPSAMPLE_DEVICE_BLOBS_H
#define UPSAMPLE_DEVICE_BLOBS_H

#include <cstdint>
#include <vector>

#include "blob_places.h"
#include "blob_slots.h"
#include "device_blob.h"
#include "network_run.h"

namespace upsample {

/// All blobs as they will lie; nothing is allocated.
std::vector<DeviceBlob> blobs_of(const Network &network, int64_t height, int64_t width, const RunOptions &options);

/// Blobs that are joined lie in the joined one where every convolution that reads or writes them takes wider pixels.
std::vector<BlobPlace> places_of(const Network &network, int64_t height, int64_t width, const std::vector<DeviceBlob> &blobs,
                                 bool joined);

BlobSlots slots_of(const NcnnModel &model, const std::vector<DeviceBlob> &blobs, const std::vector<BlobPlace> &places);

}  // namespace upsample

#endif
