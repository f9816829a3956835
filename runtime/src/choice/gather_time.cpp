// What threads without a common tile take: see gather_time.h.
#include "choice/gather_time.h"

#include <algorithm>
#include <numeric>

#include "algorithm/machine_facts.h"
#include "choice/other_steps_time.h"
#include "choice/product_time.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

using machines::H200;

// Where threads have some channels at a position of each part of a row, and nothing in common (schedules/cuda_gather.h).
// Phases along the width share warps, so the longest counts. An element takes 2 ps beside its products (H200, KernelBench 72,
// 75 and 81, 2026-11-22); where lanes lie apart by all channels, up to four times as long. Fewer threads than a machine holds
// take as long as one of them, whose loads nobody hides. An input gradient's lanes are a stride apart: at 16 it takes ten times as
// long (k16 s16, 24 to 24 channels; 2026-11-23).
double gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const bool forward = k.operation == Operation::forward;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const auto extent = [&](const Axis &a) { return std::max<int64_t>(forward ? a.output() : a.input, 1); };
    const auto step = [&](const Axis &a) { return forward ? a.stride : 1; };
    const Axis &cut = k.part_axis == 1 ? p.height() : p.width();
    const int64_t all = extent(cut), of_taps = k.parts_are_neighbours ? cut.dilation / std::gcd(cut.stride, cut.dilation) : 1,
                  apart_by = forward ? cut.stride * of_taps : k.parts_are_neighbours ? cut.dilation : 1,
                  part = k.parts_are_neighbours ? ceil_divide(all, k.parts * apart_by) * apart_by
                                                : std::min(round_up(ceil_divide(all, k.parts), apart_by), all);
    const double sums = double(k.parts * k.block_channels),
                 summed = double(forward ? round_up(in, k.in_channel_multiple) : round_up(out, k.out_channel_multiple));
    const double threads = double(p.batch) * double(p.groups) * double(ceil_divide(forward ? out : in, k.block_channels)) *
                           double(product_of_axes(p, extent)) / double(all) * double(part);
    double products = summed;  // of an element
    for (const Axis &a : p.axes)
        products *= &a == &p.width() ? double(ceil_divide(a.kernel, step(a))) : double(a.kernel) / double(step(a));

    constexpr double threads_a_multiprocessor = 768, alone = 0.4, element = 2e-12;
    const double size = double(std::max(machine.multiprocessors, 1)) / H200::multiprocessors;
    const double elements = sums * std::max(threads, alone * threads_a_multiprocessor * H200::multiprocessors * size);
    const bool channels_last =
        channels_innermost(c.read_format) || channels_innermost(c.written_format);
    const double pixel = double(bytes_of(c.read_format.type) * std::max(p.in_channels, p.out_channels)),
                 stride = forward || channels_last ? 1 : double(p.width().stride),
                 apart = k.any_layout && channels_last ? std::clamp(pixel / 8, 1.0, 4.0) : std::clamp(stride / 4, 1.0, 8.0);
    return elements / size * (element + 2 * products / (k.h200_tflops * 1e12)) * apart;
}

// Where one thread computes an element, its products one after another, from memory: 0.04 to 0.12 us each (H200, 2026-11-22), and
// half as long again where neighbouring channels, not positions, are neighbours (2026-11-23).
// No step packs its weights, and what is spared so may be more than what is left.
double serial_time(const KernelTraits &k, const Computation &c) {
    constexpr double shortest = 1e-7;
    const bool channels_last = channels_innermost(c.read_format) || channels_innermost(c.written_format);
    const double product = channels_last ? 1.2e-7 : 8e-8;
    const double spared = c.weight_operand == Operand::weight ? 0 : launch;
    return std::max(product * products_of_element(k, c.problem) - spared, shortest);
}

}  // namespace conv_transpose
