// Finding them: see blob_places.h.
#include "blob_places.h"

#include <algorithm>

namespace upsample {

std::vector<BlobPlace> places_apart(int blobs) {
    std::vector<BlobPlace> places(blobs);
    for (int blob = 0; blob < blobs; ++blob) places[blob].root = blob;
    return places;
}

// From the last on: what is joined of the first of another's inputs is a part of that.
std::vector<BlobPlace> places_joined(const NcnnModel &model, const std::vector<TensorShape> &shapes,
                                     const std::function<bool(int blob)> &may_move) {
    std::vector<BlobPlace> places = places_apart(model.blobs);
    std::vector<const Layer *> roots;
    for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
        if (layer->kind != LayerKind::concat || places[layer->output].root != layer->output) continue;
        const auto begins = [&](const Layer *root) {
            return root->inputs.size() >= layer->inputs.size() &&
                   std::equal(layer->inputs.begin(), layer->inputs.end(), root->inputs.begin());
        };
        if (const auto root = std::find_if(roots.begin(), roots.end(), begins); root != roots.end()) {
            places[layer->output] = {(*root)->output, 0};
            continue;
        }
        const auto is_free = [&](int blob) {
            const bool once = std::count(layer->inputs.begin(), layer->inputs.end(), blob) == 1;
            const bool is_root = std::any_of(roots.begin(), roots.end(), [&](const Layer *r) { return r->output == blob; });
            return once && !is_root && places[blob].root == blob && blob != model.input && may_move(blob);
        };
        if (!std::all_of(layer->inputs.begin(), layer->inputs.end(), is_free)) continue;
        int64_t channel = 0;
        for (const int blob : layer->inputs) {
            places[blob] = {layer->output, channel};
            channel += shapes[blob].channels;
        }
        roots.push_back(&*layer);
    }
    return places;
}

std::vector<int> roots_of(const std::vector<BlobPlace> &places) {
    std::vector<int> roots;
    for (const BlobPlace &place : places) roots.push_back(place.root);
    return roots;
}

}  // namespace upsample
