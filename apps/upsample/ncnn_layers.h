// Layers of a .param file, by their type.
#ifndef UPSAMPLE_NCNN_LAYERS_H
#define UPSAMPLE_NCNN_LAYERS_H

#include <string>

#include "ncnn_model.h"
#include "ncnn_parameters.h"
#include "ncnn_weights.h"

namespace upsample {

/// Fills in the layer, with its weights; they lie in the .bin in the order of the layers.
void read_layer(const std::string &type, const NcnnParameters &p, NcnnWeights &weights, Layer &layer);

}  // namespace upsample

#endif
