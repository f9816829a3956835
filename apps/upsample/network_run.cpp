// Which run a device has, and runs that are kept: see network_run.h.
#include "network_run.h"

#include "host_network.h"
#include "picture.h"
#ifdef UPSAMPLE_CUDA
#include "device_network.h"
#endif

namespace upsample {

using conv_transpose::Device;

NetworkRun::NetworkRun(const Network &network, int64_t height, int64_t width, const RunOptions &options)
    : network_(network), options_(options), height_(height), width_(width) {
    const int64_t wanted = network.scale() * (height - 2 * network.border());
    output_border_ = (network.shapes(height, width)[network.model().output].height - wanted) / 2;
}

std::unique_ptr<NetworkRun> make_network_run(const Network &network, int64_t height, int64_t width,
                                             const RunOptions &options) {
    if (options.device == Device::cpu) return std::make_unique<HostNetwork>(network, height, width, options);
#ifdef UPSAMPLE_CUDA
    return std::make_unique<DeviceNetwork>(network, height, width, options);
#else
    throw PictureError("this build has no CUDA kernels");
#endif
}

std::size_t activation_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options) {
#ifdef UPSAMPLE_CUDA
    if (options.device == Device::cuda) return DeviceNetwork::blob_bytes(network, height, width, options);
#endif
    return HostNetwork::blob_bytes(network, height, width);
}

std::size_t run_bytes(const Network &network, int64_t height, int64_t width, const RunOptions &options) {
    return HostNetwork::bytes(network, height, width, options);
}

std::unique_ptr<NetworkRun> NetworkRuns::take(const Network &network, int64_t height, int64_t width,
                                              const RunOptions &options) {
    std::unique_ptr<NetworkRun> run;
    {
        const std::lock_guard lock(mutex_);
        run = std::move(kept_);
    }
    const bool fits = run && &run->network() == &network && run->height() == height && run->width() == width &&
                      run->options().half == options.half;
    if (fits) return run;
    run.reset();  // first, so that both are not there at the same time
    return make_network_run(network, height, width, options);
}

void NetworkRuns::give_back(std::unique_ptr<NetworkRun> run) {
    const std::lock_guard lock(mutex_);
    kept_.swap(run);
}

}  // namespace upsample
