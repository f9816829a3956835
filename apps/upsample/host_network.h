// A network's run on the CPU: what has weights by the library, the rest by loops over channels.
#ifndef UPSAMPLE_HOST_NETWORK_H
#define UPSAMPLE_HOST_NETWORK_H

#include <optional>
#include <vector>

#include "blob_places.h"
#include "blob_slots.h"
#include "layer_plan.h"
#include "network_run.h"

namespace upsample {

class HostNetwork : public NetworkRun {
  public:
    HostNetwork(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    static std::size_t blob_bytes(const Network &network, int64_t height, int64_t width);

    /// All that a run takes.
    static std::size_t bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    int lanes() const override { return 1; }
    void begin(int lane, const float *input, const OutputPart &part) override;
    void wait(int) override {}

  private:
    float *blob(int number) const;
    void run_layer(std::size_t number);

    int threads_;
    std::vector<TensorShape> shapes_;
    std::vector<BlobPlace> places_;
    BlobSlots slots_;
    std::vector<conv_transpose::DeviceMemory> memory_;
    std::vector<std::optional<LayerPlan>> plans_;  // of the layers that have weights
    conv_transpose::DeviceMemory workspace_;
};

}  // namespace upsample

#endif
