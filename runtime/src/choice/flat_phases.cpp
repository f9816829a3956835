// Products of all phases at once: see flat_phases.h.
#include "choice/flat_phases.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "problem/counting.h"

namespace conv_transpose {

namespace {

// The first and the last shift that a phase sees; none where it has no tap.
struct Window {
    int64_t first = std::numeric_limits<int64_t>::max(), last = -1;

    void add(const Window &other) { first = std::min(first, other.first), last = std::max(last, other.last); }
    int64_t extent() const { return std::max<int64_t>(last - first + 1, 0); }
};

// Of all phases of an axis. A phase's taps are those of its first kernel position, and every stride / gcd on.
std::vector<Window> windows(const Axis &a) {
    std::vector<Window> all(static_cast<size_t>(a.stride));
    const int64_t apart = a.stride / std::gcd(a.stride, a.dilation), reach = (a.kernel - 1) * a.dilation / a.stride;
    for (int64_t first = 0; first < std::min(a.kernel, apart); first++) {
        const int64_t last = first + (a.kernel - 1 - first) / apart * apart;
        all[static_cast<size_t>(first * a.dilation % a.stride)] = {reach - last * a.dilation / a.stride,
                                                                  reach - first * a.dilation / a.stride};
    }
    return all;
}

}  // namespace

double products_of_phases(const KernelTraits &k, const Problem &p, int64_t block_channels) {
    constexpr double most = 4096;  // of more entries zeros are not counted
    double phases = 1;
    for (const Axis &a : p.axes) phases *= double(a.stride);
    if (phases * double(block_channels) > most) return double(taps(p)) * double(block_channels);
    const int64_t entries = static_cast<int64_t>(phases) * block_channels, lanes = k.phase_lanes;
    const std::array<std::vector<Window>, 3> axes{windows(p.width()), windows(p.height()), windows(p.depth())};
    double products = 0;
    for (int64_t first = 0; first < entries; first += lanes) {
        std::array<Window, 3> seen;
        const int64_t last = std::min(first + lanes, entries) - 1;
        for (int64_t phase = first / block_channels; phase <= last / block_channels; phase++) {
            auto rest = static_cast<size_t>(phase);
            for (size_t d = 0; d < seen.size(); rest /= axes[d++].size()) seen[d].add(axes[d][rest % axes[d].size()]);
        }
        products += double(lanes * seen[0].extent() * seen[1].extent() * seen[2].extent());
    }
    return products;
}

}  // namespace conv_transpose
