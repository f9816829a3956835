#include "blob_slots.h"

#include <algorithm>
#include <numeric>

namespace upsample {
namespace {

/// The step after which each blob is no longer needed.
std::vector<int> last_uses(const NcnnModel &model) {
    std::vector<int> last(model.blobs, -1);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        for (const int blob : model.layers[i].inputs) last[blob] = static_cast<int>(i);
    }
    last[model.output] = static_cast<int>(model.layers.size());
    return last;
}

}  // namespace

std::size_t BlobSlots::total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}); }

BlobSlots assign_slots(const NcnnModel &model, const std::vector<std::size_t> &blob_bytes,
                       const std::vector<bool> &layer_works_in_place) {
    BlobSlots slots;
    slots.of_blob.resize(model.blobs);
    std::vector<int> free;
    const auto take = [&](int blob) {
        if (free.empty()) {
            free.push_back(static_cast<int>(slots.bytes.size()));
            slots.bytes.push_back(0);
        }
        const int slot = free.back();
        free.pop_back();
        slots.of_blob[blob] = slot;
        slots.bytes[slot] = std::max(slots.bytes[slot], blob_bytes[blob]);
    };
    const std::vector<int> last = last_uses(model);
    take(model.input);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const Layer &layer = model.layers[i];
        const bool in_place = layer_works_in_place[i] && last[layer.inputs[0]] == static_cast<int>(i);
        if (in_place) {
            slots.of_blob[layer.output] = slots.of_blob[layer.inputs[0]];
        } else {
            take(layer.output);
        }
        std::vector<int> ended;
        for (std::size_t k = in_place ? 1 : 0; k < layer.inputs.size(); ++k) {
            const int blob = layer.inputs[k];
            if (last[blob] != static_cast<int>(i) || (in_place && blob == layer.inputs[0])) continue;
            if (std::find(ended.begin(), ended.end(), blob) == ended.end()) ended.push_back(blob);
        }
        for (const int blob : ended) free.push_back(slots.of_blob[blob]);
    }
    return slots;
}

}  // namespace upsample
