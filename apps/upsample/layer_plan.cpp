#include "layer_plan.h"

namespace upsample {

using conv_transpose::DeviceMemory;

LayerPlan::LayerPlan(const LayerConvolution &convolution, const std::vector<float> &weight, const std::vector<float> &bias)
    : plan_(convolution.problem, convolution.options),
      phases_(convolution.phases),
      weight_(copy_to_device(plan_.device(), weight.data(), weight.size() * sizeof(float))),
      bias_(copy_to_device(plan_.device(), bias.data(), bias.size() * sizeof(float))),
      packed_(plan_.packed_weight_bytes() > 0) {
    if (!packed_) return;
    DeviceMemory packed(plan_.device(), plan_.packed_weight_bytes());
    check(plan_.pack_weight(weight_.floats(), packed.data()));
    conv_transpose::synchronize(plan_.device());  // the plain weights go now
    weight_ = std::move(packed);
}

void LayerPlan::run(const void *input, void *output, const DeviceMemory &workspace, conv_transpose::Stream stream) const {
    conv_transpose::Arguments arguments;
    arguments.input = input;
    (packed_ ? arguments.packed_weight : arguments.weight) = weight_.data();
    arguments.bias = bias_.data();
    arguments.output = output;
    check(plan_.run(arguments, {workspace.data(), workspace.bytes()}, stream));
}

}  // namespace upsample
