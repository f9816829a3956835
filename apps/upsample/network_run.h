// Runs a network on one size of input: plans, weights and memory for it.
#ifndef UPSAMPLE_NETWORK_RUN_H
#define UPSAMPLE_NETWORK_RUN_H

#include <vector>

#include "device.h"
#include "network.h"

namespace upsample {

/// Bytes that the blobs of a run on an input of this size take at most at a time.
std::size_t activation_bytes(const Network &network, int64_t height, int64_t width);

/// Plans, weights and memory for inputs of one size. Not for several threads at once.
class NetworkRun {
  public:
    NetworkRun(const Network &network, int64_t height, int64_t width, conv_transpose::Device device,
               conv_transpose::Precision precision);
    ~NetworkRun();

    /// `input` is host memory: (3, height, width). The output, (3, scale * (height - 2 * border), ...), stays
    /// where it is.
    void run(const float *input);

    /// Copies the top left of a channel of the output to host memory, to rows that begin `pitch` samples
    /// apart.
    void copy_output(int channel, int64_t rows, int64_t columns, float *target, int64_t pitch) const;

  private:
    struct Step;
    Step prepared(const Layer &layer, conv_transpose::Precision precision) const;
    void run_step(Step &step);
    void run_on_host(const Step &step);

    const Network &network_;
    conv_transpose::Device device_;
    std::vector<TensorShape> shapes_;
    std::vector<int> slot_of_blob_;
    std::vector<conv_transpose::DeviceMemory> slots_;
    std::vector<Step> steps_;
    conv_transpose::DeviceMemory workspace_, phases_;
    std::vector<std::vector<float>> host_inputs_;
    std::vector<float> host_output_;
};

}  // namespace upsample

#endif
