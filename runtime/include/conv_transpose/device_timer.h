// Time and facts of a device, for programs that measure: the benchmark and the autotuner. No CUDA toolkit is
// needed.
#ifndef CONV_TRANSPOSE_DEVICE_TIMER_H
#define CONV_TRANSPOSE_DEVICE_TIMER_H

#include <functional>
#include <memory>
#include <string>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace conv_transpose {

/// Work that can be repeated and timed. On CUDA it is recorded as a graph on a stream of its own, so that its
/// kernels follow each other without waiting for the host, and timed by events; on the CPU it is called and
/// timed by the clock.
class TimedWork {
  public:
    enum class Submission { graph, calls };

    /// `enqueue` is called with the stream to use: once, here, for a graph; at every run() otherwise, as always on the
    /// CPU. Throws std::runtime_error when a call of it fails or the work cannot be recorded.
    TimedWork(Device device, std::function<Status(Stream)> enqueue, Submission submission = Submission::graph);
    ~TimedWork();
    TimedWork(TimedWork &&) noexcept;
    TimedWork &operator=(TimedWork &&) noexcept;

    /// Runs all of it, waits for its end, and returns milliseconds. Throws std::runtime_error on a device
    /// error.
    double run();

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

/// What a measurement needs to know of the device.
struct DeviceFacts {
    std::string name;
    /// The largest cache that all cores share.
    std::size_t cache_bytes = 0;
    int compute_capability = 0;  ///< 90 is sm_90; 0 for a CPU
    int multiprocessors = 0;     ///< cores, for a CPU
    double clock_ghz = 0;        ///< the highest; 0 where it is not known
};

/// The facts are those of the GPU that a plan with the default stream uses, or of this machine's processor.
DeviceFacts device_facts(Device device);

/// Enqueues a copy of bytes from the beginning of `source` to `offset` in `target`, which may be the same memory where
/// they do not overlap. CUDA only.
Status copy_on_device(DeviceMemory &target, std::size_t offset, const DeviceMemory &source, std::size_t bytes,
                      Stream stream);

}  // namespace conv_transpose

#endif
