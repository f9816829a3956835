#include "blob_slots.h"

#include <algorithm>
#include <numeric>

namespace upsample {
namespace {

/// The step after which each root is no longer needed.
std::vector<int> last_uses(const NcnnModel &model, const std::vector<int> &root_of_blob) {
    std::vector<int> last(model.blobs, -1);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        for (const int blob : model.layers[i].inputs) last[root_of_blob[blob]] = static_cast<int>(i);
    }
    last[root_of_blob[model.output]] = static_cast<int>(model.layers.size());
    return last;
}

/// The least of the free slots that are large enough is better; where none is, the largest is, which then grows. Among equals
/// the last is taken: it is still in a cache.
int take_slot(BlobSlots &slots, std::vector<int> &free, std::size_t wanted) {
    if (free.empty()) {
        free.push_back(static_cast<int>(slots.bytes.size()));
        slots.bytes.push_back(0);
    }
    const auto is_better = [&](int a, int b) {
        const std::size_t of_a = slots.bytes[a], of_b = slots.bytes[b];
        return of_b < wanted ? of_a >= of_b : of_a >= wanted && of_a <= of_b;
    };
    auto best = free.begin();
    for (auto slot = free.begin(); slot != free.end(); ++slot)
        if (is_better(*slot, *best)) best = slot;
    const int slot = *best;
    free.erase(best);
    slots.bytes[slot] = std::max(slots.bytes[slot], wanted);
    return slot;
}

}  // namespace

std::size_t BlobSlots::total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}); }

BlobSlots assign_slots(const NcnnModel &model, const std::vector<std::size_t> &blob_bytes,
                       const std::vector<bool> &layer_works_in_place, const std::vector<int> &root_of_blob,
                       const std::vector<std::size_t> &layer_bytes) {
    BlobSlots slots;
    std::vector<int> slot_of_root(model.blobs, -1), free;
    const auto taken = [&](std::size_t wanted) { return take_slot(slots, free, wanted); };
    const auto take = [&](int root) {
        if (slot_of_root[root] < 0) slot_of_root[root] = taken(blob_bytes[root]);  // unless another part did
    };
    const std::vector<int> last = last_uses(model, root_of_blob);
    take(root_of_blob[model.input]);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const Layer &layer = model.layers[i];
        const int output = root_of_blob[layer.output], first = root_of_blob[layer.inputs[0]];
        const bool in_place = layer_works_in_place[i] && last[first] == static_cast<int>(i) && slot_of_root[output] < 0;
        if (in_place) {
            slot_of_root[output] = slot_of_root[first];
        } else {
            take(output);
        }
        const bool wants_memory = !layer_bytes.empty() && layer_bytes[i] > 0;
        slots.of_layer.push_back(wants_memory ? taken(layer_bytes[i]) : -1);
        if (wants_memory) free.push_back(slots.of_layer.back());
        std::vector<int> ended;
        for (const int blob : layer.inputs) {
            const int root = root_of_blob[blob];
            const bool ends = last[root] == static_cast<int>(i) && root != output && !(in_place && root == first);
            if (ends && std::find(ended.begin(), ended.end(), root) == ended.end()) ended.push_back(root);
        }
        for (const int root : ended) free.push_back(slot_of_root[root]);
    }
    for (const int root : root_of_blob) slots.of_blob.push_back(slot_of_root[root]);
    return slots;
}

}  // namespace upsample
