// Axes of flat matrix products: see flat_extent.h.
#include "choice/flat_extent.h"

#include <algorithm>
#include <numeric>

#include "problem/counting.h"

namespace conv_transpose {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

FlatExtent::FlatExtent(const Axis &a, bool forward) {
    int64_t first, last;  // that have data
    if (forward) {
        const int64_t phase = a.padding % a.stride, phases = std::min(a.stride, a.output());
        cells = ceil_divide(a.output(), a.stride);
        low = -floor_divide((a.kernel - 1) * a.dilation - phase, a.stride), high = (phases - 1 + phase) / a.stride;
        first = -(a.padding / a.stride), last = first + a.input - 1;
    } else {
        cells = a.input;
        low = 0, high = (a.kernel - 1) * a.dilation / a.stride;
        first = a.padding / a.stride, last = (a.padding + a.output() - 1) / a.stride;
    }
    find_pitch(first, last);
}

FlatExtent::FlatExtent(const Axis &a, bool forward, int64_t tile) : FlatExtent(a, forward) {
    if (forward) {
        cells = ceil_divide(a.output() + a.padding % a.stride, a.stride);
        low = -((a.kernel - 1) * a.dilation / a.stride), high = 0;
        find_pitch(-(a.padding / a.stride), a.input - 1 - a.padding / a.stride);
    }
    pitch = round_up(pitch, tile);
}

int64_t phases_of(const Axis &a) { return std::min(a.stride, a.output()); }

int64_t phases_of(const Problem &p) {
    return product_of_axes(p, [](const Axis &a) { return phases_of(a); });
}

int64_t live_phases_of_rows(const Problem &p, int64_t vector) {
    const auto live = [&](const Axis &a, int64_t results_before) {
        const int64_t with_taps = std::min(a.kernel, a.stride / std::gcd(a.stride, a.dilation));
        return with_taps < a.stride && results_before >= vector ? with_taps : phases_of(a);
    };
    const int64_t row = p.width().output();
    return live(p.height(), row) * live(p.depth(), row * p.height().output());
}

// Of an input so many results of a tap are there. Of long kernels some taps stand for all.
double seen_share(const Axis &a, int64_t cells, double together) {
    constexpr int64_t most = 256;
    const int64_t step = ceil_divide(a.kernel, most);
    double seen = 0;
    for (int64_t k = 0; k < a.kernel; k += step) {
        const int64_t before = a.padding - k * a.dilation;  // a result of input i lies at i * stride - before
        const int64_t first = std::max<int64_t>(-floor_divide(-before, a.stride), 0);
        const int64_t last = std::min(floor_divide(a.output() - 1 + before, a.stride), a.input - 1);
        if (last >= first) seen += std::min((double(last - first) + together) / double(cells), 1.0);
    }
    return seen / double(ceil_divide(a.kernel, step));
}

void FlatExtent::find_pitch(int64_t first, int64_t last) {
    seen = std::max<int64_t>(std::min(last + 1, cells + high) - std::max(first, low), 0);
    pitch = std::max({cells + high - std::max(first, low), std::min(last + 1, cells + high) - low, cells});
}

}  // namespace conv_transpose
