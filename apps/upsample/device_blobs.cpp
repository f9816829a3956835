#include "device_blobs.h"

#include <algorithm>

#include "light_layers.h"

namespace upsample {

namespace {

/// Tensor cores multiply from 8 summed and 16 computed channels on.
constexpr int64_t summed_channels = 8, computed_channels = 16;
int64_t up_to_multiple(int64_t channels, int64_t least) { return std::max((channels + 7) / 8 * 8, least); }

int64_t stored_channels(const Layer &layer, const std::vector<DeviceBlob> &blobs, int64_t channels) {
    const int64_t first = blobs[layer.inputs[0]].stored;
    switch (layer.kind) {
        case LayerKind::convolution:
        case LayerKind::deconvolution:
        case LayerKind::inner_product:
            return up_to_multiple(channels, computed_channels);
        case LayerKind::concat:
            return up_to_multiple(channels, summed_channels);
        case LayerKind::relu:
        case LayerKind::prelu:
        case LayerKind::crop:
        case LayerKind::pooling:
            return first;
        case LayerKind::eltwise:
        case LayerKind::scale:
            return blobs[layer.inputs[1]].stored == first ? first : channels;
        default:
            return channels;
    }
}

}  // namespace

std::vector<DeviceBlob> blobs_of(const Network &network, int64_t height, int64_t width, const RunOptions &options) {
    const NcnnModel &model = network.model();
    std::vector<DeviceBlob> blobs;
    for (const TensorShape &shape : network.shapes(height, width))
        blobs.push_back({shape, shape.channels, options.half, nullptr});
    if (!options.half) return blobs;
    blobs[model.input].stored = summed_channels;
    for (const Layer &layer : model.layers)
        blobs[layer.output].stored = stored_channels(layer, blobs, blobs[layer.output].shape.channels);
    return blobs;
}

std::vector<BlobPlace> places_of(const Network &network, int64_t height, int64_t width, const std::vector<DeviceBlob> &blobs,
                                 bool joined) {
    const NcnnModel &model = network.model();
    if (!joined) return places_apart(model.blobs);
    return places_joined(model, network.shapes(height, width), [&](int blob) {
        const bool pooled = std::any_of(model.layers.begin(), model.layers.end(), [&](const Layer &reader) {
            return reader.kind == LayerKind::pooling && reader.inputs[0] == blob;  // by sums of dense pictures
        });
        return !pooled && blobs[blob].shape.channels % 8 == 0 && blobs[blob].stored == blobs[blob].shape.channels &&
               blobs[blob].half;
    });
}

BlobSlots slots_of(const NcnnModel &model, const std::vector<DeviceBlob> &blobs,
                   const std::vector<BlobPlace> &places) {
    std::vector<std::size_t> bytes;
    for (const DeviceBlob &blob : blobs) bytes.push_back(blob.bytes());
    std::vector<bool> in_place;
    const std::vector<int> roots = roots_of(places);
    for (const Layer &layer : model.layers) {
        const auto is_whole = [&](int blob) { return roots[blob] == blob; };
        in_place.push_back(works_in_place(layer.kind) && blobs[layer.output].stored == blobs[layer.inputs[0]].stored &&
                           is_whole(layer.output) && is_whole(layer.inputs[0]));
    }
    return assign_slots(model, bytes, in_place, roots);
}

}  // namespace upsample
