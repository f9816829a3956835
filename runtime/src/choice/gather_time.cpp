// What threads without a common tile take: see gather_time.h.
#include "choice/gather_time.h"

#include <algorithm>

#include "choice/gather_parts.h"
#include "choice/other_steps_time.h"
#include "choice/product_time.h"
#include "choice/tensor_formats.h"
#include "choice/waves.h"

namespace conv_transpose {

namespace {

// Phases along the width share warps, so the longest counts there.
double products_of_sum(const KernelTraits &k, const Problem &p) {
    const bool forward = k.operation == Operation::forward;
    double products = double(forward ? round_up(p.in_channels / p.groups, k.in_channel_multiple)
                                     : round_up(p.out_channels / p.groups, k.out_channel_multiple));
    for (const Axis &a : p.axes) {
        const int64_t stride = forward ? a.stride : 1;
        products *= &a == &p.width() ? double(ceil_divide(a.kernel, stride)) : double(a.kernel) / double(stride);
    }
    return products;
}

// Loads of lanes that lie apart: by all channels they take up to four times as long; an input gradient's are a stride apart, and at
// 16 take ten times as long (k16 s16, 24 to 24 channels; H200, 2026-11-23).
double scattered_loads(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const bool channels_last = has_channels_last(c);
    if (k.any_layout && channels_last) {
        const double pixel_bytes = double(bytes_of(c.read_format.type) * std::max(p.in_channels, p.out_channels));
        return std::clamp(pixel_bytes / 8, 1.0, 4.0);
    }
    const double stride = k.operation == Operation::forward || channels_last ? 1 : double(p.width().stride);
    return std::clamp(stride / 4, 1.0, 8.0);
}

}  // namespace

// Threads have some channels at a position of each part of an axis, and nothing in common. A sum takes 2 ps beside its products
// (H200, KernelBench 72, 75 and 81, 2026-11-22). Few threads take as long as one of them, whose loads nobody hides.
double gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const int64_t channels = (k.operation == Operation::forward ? p.out_channels : p.in_channels) / p.groups;
    const Axis &cut = axis_of_parts(k, p);
    const auto positions = [&](const Axis &a) { return computed_positions(k, a); };
    const double threads = double(p.batch) * double(p.groups) * double(ceil_divide(channels, k.block_channels)) *
                           double(product_of_axes(p, positions)) / double(positions(cut)) * double(threads_of_axis(k, cut));

    constexpr double threads_of_multiprocessor = 768, alone = 0.4, seconds_of_sum = 2e-12;
    const double size = share_of_h200(machine);
    const double least_threads = alone * threads_of_multiprocessor * machines::H200::multiprocessors * size;
    const double sums = double(k.parts * k.block_channels) * std::max(threads, least_threads);
    const double seconds_of_products = 2 * products_of_sum(k, p) / (k.h200_tflops * 1e12);
    return sums / size * (seconds_of_sum + seconds_of_products) * scattered_loads(k, c);
}

// One thread computes an element, its products one after another, from memory: 0.04 to 0.12 us each (H200, 2026-11-22), and half
// as long again where neighbouring channels, not positions, are neighbours (2026-11-23). No step packs its weights, and what is
// spared so may be more than what is left.
double serial_time(const KernelTraits &k, const Computation &c) {
    constexpr double shortest = 1e-7;
    const double product = has_channels_last(c) ? 1.2e-7 : 8e-8;
    const double spared = c.weight_operand == Operand::weight ? 0 : launch;
    return std::max(product * products_of_element(k, c.problem) - spared, shortest);
}

}  // namespace conv_transpose
