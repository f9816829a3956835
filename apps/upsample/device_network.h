// A network's run on a GPU. Everything between input and output stays there: what has weights runs by the library, the rest
// by kernels of this program (layer_kernels.h). Inputs and outputs are copied beside the computing of other lanes.
#ifndef UPSAMPLE_DEVICE_NETWORK_H
#define UPSAMPLE_DEVICE_NETWORK_H

#include <array>
#include <optional>
#include <vector>

#include "blob_places.h"
#include "conv_transpose/device_stream.h"
#include "device_blob.h"
#include "layer_plan.h"
#include "network_run.h"

namespace upsample {

class DeviceNetwork : public NetworkRun {
  public:
    DeviceNetwork(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    static std::size_t blob_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    int lanes() const override { return lane_count; }
    void begin(int lane, const float *input, const OutputPart &part) override;
    void wait(int lane) override { lanes_[lane].written.wait(); }

  private:
    static constexpr int lane_count = most_lanes;

    /// An input and an output under way, each dense in float32.
    struct Lane {
        conv_transpose::DeviceMemory input, output;
        conv_transpose::DeviceEvent uploaded, computed, written;
        Lane(std::size_t input_bytes, std::size_t output_bytes);
    };

    /// What a layer has beside its kernel.
    struct Step {
        std::optional<LayerPlan> plan;                   // of a layer with weights
        std::optional<conv_transpose::Plan> sum;         // of a pooling: the sums of planes
        conv_transpose::DeviceMemory slopes;             // of a PReLU, one a channel
        bool rectified = false;                          // its result, by the PReLU behind it, in the same pass; or that PReLU
        conv_transpose::DeviceMemory columns, rows;      // of an interpolation: places, then weights
    };

    void prepare(const RunOptions &options);
    Step prepared(const Layer &layer, const RunOptions &options) const;
    std::optional<LayerPlan> plan_of(const Layer &layer, const Layer *rectifier, const RunOptions &options) const;
    const Layer *rectifier_behind(const Layer &layer) const;
    bool is_rectified(int blob) const;
    void run_layer(const Layer &layer, const Step &step);
    void run_plan(const Layer &layer, const LayerPlan &plan);
    void join(const Layer &layer);
    void pool(const Layer &layer, const conv_transpose::Plan &sum);
    void combine(const Layer &layer);

    std::vector<BlobPlace> places_;
    std::vector<DeviceBlob> blobs_;
    std::vector<conv_transpose::DeviceMemory> memory_;
    std::vector<Step> steps_;
    conv_transpose::DeviceMemory workspace_, rearranged_, sums_;
    std::array<Lane, lane_count> lanes_;
    conv_transpose::DeviceStream uploading_, computing_, writing_;  // the last, so that they end before the memory does
};

}  // namespace upsample

#endif
