// Runs a network on one size of input: plans, weights and memory for it.
#ifndef UPSAMPLE_NETWORK_RUN_H
#define UPSAMPLE_NETWORK_RUN_H

#include <array>
#include <memory>
#include <mutex>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"
#include "network.h"

namespace upsample {

/// How a network is run.
struct RunOptions {
    conv_transpose::Device device = conv_transpose::Device::cpu;
    conv_transpose::Precision precision = conv_transpose::Precision::float32;
    int threads = 1;    ///< for layers without weights; the library's kernels have their own
    bool half = false;  ///< on a GPU: blobs and products of float16, sums of float32
};

/// Bytes that the blobs of a run on an input of this size take at most at a time.
std::size_t activation_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options);

/// Bytes of the host's memory that a run takes on a CPU altogether: blobs, weights and workspace.
std::size_t run_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options);

/// A rectangle of the output, and where it goes: planes and rows begin so many samples apart.
struct OutputPart {
    int64_t top = 0, left = 0, rows = 0, columns = 0;
    float *target = nullptr;
    int64_t plane = 0, pitch = 0;
};

/// Memory of the host for an input and an output under way: kept with the run, for page-locked memory is slow to get.
struct LaneMemory {
    conv_transpose::HostMemory input, output, colors;
};

/// Plans, weights and memory for inputs of one size. Not for several threads at once.
class NetworkRun {
  public:
    virtual ~NetworkRun() = default;

    /// How many inputs may be under way at the same time, each in a lane of its own.
    virtual int lanes() const = 0;

    /// Begins with an input, (3, height, width) in the host's memory, in a lane in which nothing is under way. Input and
    /// target belong to the run until wait().
    virtual void begin(int lane, const float *input, const OutputPart &part) = 0;

    /// Returns when the lane's output is where it belongs.
    virtual void wait(int lane) = 0;

    /// The caller's, where nothing is under way.
    LaneMemory &memory(int lane) { return memory_[lane]; }

    void run(const float *input, const OutputPart &part) {
        begin(0, input, part);
        wait(0);
    }

    const Network &network() const { return network_; }
    const RunOptions &options() const { return options_; }
    int64_t height() const { return height_; }
    int64_t width() const { return width_; }

    /// What the network takes off or leaves to be cut off on each side of an output.
    int64_t output_border() const { return output_border_; }

  protected:
    NetworkRun(const Network &network, int64_t height, int64_t width, const RunOptions &options);

    static constexpr int most_lanes = 2;

  private:
    const Network &network_;
    RunOptions options_;
    std::array<LaneMemory, most_lanes> memory_;
    int64_t height_, width_, output_border_;
};

/// The network must outlive it. Throws std::bad_alloc where there is not enough memory.
std::unique_ptr<NetworkRun> make_network_run(const Network &network, int64_t height, int64_t width,
                                             const RunOptions &options);

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
