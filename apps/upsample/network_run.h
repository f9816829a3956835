// Runs a network on one size of input: plans, weights and memory for it.
#ifndef UPSAMPLE_NETWORK_RUN_H
#define UPSAMPLE_NETWORK_RUN_H

#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "light_layers.h"
#include "network.h"

namespace upsample {

/// How a network is run.
struct RunOptions {
    conv_transpose::Device device = conv_transpose::Device::cpu;
    conv_transpose::Precision precision = conv_transpose::Precision::float32;
    int threads = 1;  ///< for layers without weights; the library's kernels have their own
};

/// Bytes that the blobs of a run on an input of this size take at most at a time.
std::size_t activation_bytes(const Network &network, int64_t height, int64_t width);

/// Bytes that a run takes altogether: blobs, weights, workspace, and what is staged on the host.
std::size_t run_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options);

/// Plans, weights and memory for inputs of one size. Not for several threads at once.
class NetworkRun {
  public:
    /// The network must outlive this. Throws std::bad_alloc where there is not enough memory.
    NetworkRun(const Network &network, int64_t height, int64_t width, const RunOptions &options);
    ~NetworkRun();

    /// `input` is host memory: (3, height, width). The output, (3, scale * (height - 2 * border), ...) at
    /// least, stays where it is.
    void run(const float *input);

    /// Copies a rectangle of a channel of the output to host memory, to rows that begin `pitch` samples apart.
    void copy_output(int channel, int64_t top, int64_t left, int64_t rows, int64_t columns, float *target,
                     int64_t pitch) const;

    const Network &network() const { return network_; }
    int64_t height() const { return shapes_[network_.model().input].height; }
    int64_t width() const { return shapes_[network_.model().input].width; }

    /// What the network takes off or leaves to be cut off on each side of an output.
    int64_t output_border() const { return output_border_; }

  private:
    struct Step;
    Step prepared(const Layer &layer) const;
    void run_step(Step &step);
    void run_light_layer(const Step &step);

    const Network &network_;
    RunOptions options_;
    std::vector<TensorShape> shapes_;
    int64_t output_border_ = 0;
    std::vector<int> slot_of_blob_;
    std::vector<conv_transpose::DeviceMemory> slots_;
    std::vector<Step> steps_;
    conv_transpose::DeviceMemory workspace_, phases_;
    std::vector<std::vector<float>> host_inputs_;
    std::vector<float> host_output_;
};

/// Runs that wait for the next picture, or frame, of the same size. For several threads.
class NetworkRuns {
  public:
    std::unique_ptr<NetworkRun> take(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    /// Keeps a run, in place of the one that was kept before: one is enough for frames of a video.
    void give_back(std::unique_ptr<NetworkRun> run);

  private:
    std::mutex mutex_;
    std::unique_ptr<NetworkRun> kept_;
};

}  // namespace upsample

#endif
