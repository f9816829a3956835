// A layer with weights, ready to run on a device: its plan, and its weights in the plan's own order.
#ifndef UPSAMPLE_LAYER_PLAN_H
#define UPSAMPLE_LAYER_PLAN_H

#include <vector>

#include "device.h"
#include "layer_convolution.h"

namespace upsample {

class LayerPlan {
  public:
    /// The weights are (in, out / groups, kh, kw) of the problem, the bias one a channel or none. Waits until they are
    /// packed.
    LayerPlan(const LayerConvolution &convolution, const std::vector<float> &weight, const std::vector<float> &bias);

    const conv_transpose::Problem &problem() const { return plan_.problem(); }
    int64_t phases() const { return phases_; }
    std::size_t workspace_bytes() const { return plan_.workspace_bytes(packed_); }

    /// Enqueues. Throws PictureError.
    void run(const void *input, void *output, const conv_transpose::DeviceMemory &workspace,
             conv_transpose::Stream stream) const;

  private:
    conv_transpose::Plan plan_;
    int64_t phases_;
    conv_transpose::DeviceMemory weight_, bias_;
    bool packed_;
};

}  // namespace upsample

#endif
