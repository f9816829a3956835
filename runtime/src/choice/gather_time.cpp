// What threads take that gather: see gather_time.h.
#include "choice/gather_time.h"

#include <algorithm>
#include <numeric>

#include "choice/other_steps_time.h"
#include "choice/product_time.h"
#include "choice/staged_columns.h"
#include "choice/tensor_formats.h"
#include "choice/waves.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// What a gather computes along an axis: outputs, or inputs of an input gradient.
int64_t computed_positions(const KernelTraits &k, const Axis &a) {
    return std::max<int64_t>(k.operation == Operation::forward ? a.output() : a.input, 1);
}

// The axis whose positions are parts of threads.
const Axis &axis_of_parts(const KernelTraits &k, const Problem &p) { return k.part_axis == 1 ? p.height() : p.width(); }

// Threads that compute all positions of that axis. Neighbouring parts of a thread see the same inputs by different taps: they
// are a common step of stride and dilation apart. Others are far from each other, and begin at multiples of the stride.
int64_t threads_of_axis(const KernelTraits &k, const Axis &a) {
    const bool forward = k.operation == Operation::forward;
    const int64_t positions = computed_positions(k, a);
    if (!k.parts_are_neighbours) return std::min(round_up(ceil_divide(positions, k.parts), forward ? a.stride : 1), positions);
    const int64_t step = forward ? std::lcm(a.stride, a.dilation) : a.dilation;
    return ceil_divide(positions, k.parts * step) * step;
}

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

// Input gradients of one to four channels, whose addresses take more than their products, of 16 taps and more (38 times of layers
// of 5 to 60 us; H200, 2026-11-30).
double addresses_factor(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const bool few = k.operation == Operation::input_gradient && !k.any_layout && p.out_channels / p.groups <= 4;
    return few && taps(p) >= 16 ? 1.35 : 1;
}

// Input gradients in channels_last of few channels, whose lanes read pixels that lie apart: 1.25 to 1.5 times as long as of 80 and 96
// channels (six layers of 4 to 32 channels, k2 to k8); where a pixel has several lines of the cache, which do not stay there until
// others of their channels are read, 3.6 times (k7 s2, 4 from 256, 1.1 GB: 9.8 ms; float32, H200, 2026-12-01).
double pixels_apart_factor(const KernelTraits &k, const Computation &c) {
    constexpr int64_t few = 32, fewest_summed = 5, lines = 512;
    const Problem &p = c.problem;
    const bool measured = k.operation == Operation::input_gradient && !k.any_layout && channels_innermost(k.input);
    if (!measured || p.in_channels / p.groups > few || p.out_channels / p.groups < fewest_summed) return 1;
    return bytes_of(c.read_format.type) * p.out_channels >= lines ? 3.6 : 1.35;
}

// Lines of few summed channels stay in the first cache until their next taps.
bool sums_few_channels(const KernelTraits &k, const Computation &c) {
    constexpr int64_t few = 8;
    return k.operation == Operation::input_gradient && k.any_layout && !k.parts_are_neighbours && !has_channels_last(c) &&
           c.problem.out_channels / c.problem.groups <= few;
}

// So many sums of such channels: 104 times of layers of one to three axes, k1 to k20, strides 1 to 16, a fifth off (H200,
// 2026-11-30).
double few_channels_time(const Problem &p, double sums, double seconds_of_products) {
    constexpr double begin = 2.5e-6, sum = 0.73e-12, tap_of_three_axes = 0.076e-12, stride = 0.037;
    const double scattered = 1 + stride * std::clamp(double(p.width().stride), 1.0, 32.0);
    const double addresses = p.rank == 3 ? tap_of_three_axes * double(taps(p)) : 0;
    return begin + sums * (sum + addresses + scattered * seconds_of_products);
}

// A thread that has one position and goes through more channels waits for each product's loads, however few threads there are (one
// and two channels from 24 to 128, k3 to k5, 4,096 to 32,768 positions: 47 to 81 ns a product in float16, 58 to 98 in float32; H200,
// 2026-12-01).
double loads_in_turn_time(const KernelTraits &k, const Computation &c) {
    const double product = bytes_of(c.read_format.type) == 2 ? 6.5e-8 : 7.5e-8;
    const bool measured = k.operation == Operation::input_gradient && k.any_layout && k.parts == 1;
    return measured ? product * products_of_sum(k, c.problem) : 0;
}

/// The windows of taps that a thread goes through along the axis of its parts.
struct TapWindows {
    int64_t count;
    bool has_one_tap;  ///< a position sees no more

    TapWindows(const KernelTraits &k, const Axis &a) {
        const bool forward = k.operation == Operation::forward;
        const int64_t first_taps = !forward && k.parts_are_neighbours ? std::min(a.stride, a.kernel) : 1;
        const int64_t taps = forward || k.parts_are_neighbours ? ceil_divide(a.kernel, a.stride) : a.kernel;
        count = first_taps * ceil_divide(taps, k.taps_at_once), has_one_tap = taps == 1;
    }
};

// Taps of strict kernels stand behind tests, and cost nothing where they do not exist; parts far apart have addresses of their own.
double instructions_of_window(const KernelTraits &k, bool has_one_tap) {
    const bool tests = k.parts_are_neighbours && k.strict_propagation;
    const double vector = double(k.group_multiple), parts = double(k.parts), taps = double(k.taps_at_once);
    const double loop = !k.parts_are_neighbours ? 10 : tests ? 45 : 35, address = k.parts_are_neighbours ? 8 : 15;
    constexpr double load = 2;  // of an element, with its conversion
    const double inputs = parts + taps - 1, multiplied_taps = tests && has_one_tap ? 1 : taps;
    const double weights = taps * (vector + 3 * std::max(vector / 4, 1.0));
    return loop + inputs * (address + load * vector) + multiplied_taps * parts * vector + weights;
}

// An input gradient's lanes read a row of channels_first a stride apart, each of whose lines is a cycle of the first-level cache.
// That holds what warps see until their next taps, of up to 7 KB each; of 16 KB each tap reads its sector again (k32 s16, 1280
// channels of 938, float32: 118 us by two parts, 466 by eight, float16 47 and 64; k16 s8 41 and 64, 40 and 33; k20 s10 40 and 88,
// 37 and 33), neighbouring parts fewer (k16x16 s8x8 516 and 124; H200, 2026-11-28). So many windows see so many elements each.
double strided_rows_time(const KernelTraits &k, const Computation &c, double windows, double seen, const Machine &machine) {
    constexpr double warp = 32, line = 128, sector = 32, held = 7168, none_held = 16384, bytes_per_second = 3.4e12;
    if (k.operation != Operation::input_gradient || !k.any_layout || has_channels_last(c)) return 0;
    const double apart = double(bytes_of(c.read_format.type)) * double(c.problem.width().stride), loads = windows * seen;
    const double lines = std::min(std::ceil(warp * apart / line), warp);
    const double beyond = std::clamp((lines * line * seen - held) / (none_held - held), 0.0, 1.0);
    const double missed = k.parts_are_neighbours ? beyond * beyond : beyond;
    return loads / warp * lines / (machines::H200::loads_per_second * double(multiprocessors(machine))) +
           missed * loads * sector / (bytes_per_second * share_of_h200(machine));
}

// Of blocks that stage rows, whose instructions limit: fifteen layers of one and two axes, strides 1 to 20, in float16 and float32,
// most a tenth off (H200, 2026-11-28).
double staged_rows_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const StagedShape &shape = k.staged_shape;
    const auto row = staged_row(shape, p);
    constexpr double block = 1.23e-9, round = 0.38e-9, tap = 0.08e-9, bytes_per_second = 7.5e12, least_blocks = 1000;
    const double rows_of_taps = double(taps(p)) / double(p.width().kernel);
    const double rounds = double(ceil_divide(row.seen(), int64_t{shape.threads} * StagedShape::run));
    const double rows = double(p.batch) * double(p.groups) * double(input_positions(p)) / double(p.width().input);
    const double blocks = std::max(rows * double(row.tiles()) / share_of_h200(machine), least_blocks);
    const double bytes = double(bytes_of(c.read_format.type)) * (double(p.input_elements()) + double(p.output_elements()));
    return blocks * (block + rows_of_taps * (round * rounds + tap * double(p.width().kernel))) +
           bytes / (bytes_per_second * share_of_h200(machine));
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
    if (sums_few_channels(k, c)) return few_channels_time(p, sums / size, seconds_of_products);
    const double all = sums / size * (seconds_of_sum + seconds_of_products) * scattered_loads(k, c) * addresses_factor(k, c) *
                       pixels_apart_factor(k, c);
    return std::max(all, loads_in_turn_time(k, c));
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

bool gathers_single_channels(const KernelTraits &k) {
    return k.device == Device::cuda && k.in_channels == 1 && k.parts > 0 && k.h200_tflops == 0;
}

// Instructions of a thread were counted in the machine code of sm_90 (k3, vectors of four and eight, float16). Of thirteen layers
// of one to three axes, k3 to k16, strides 1 to 8, what is chosen takes 1.02 to 1.05 of the fastest of these kernels (float16 and
// float32, both layouts; H200, 2026-11-27). What threads take whose parts lie apart was fitted to one, two, four and eight of them
// (k2 to k12, float16 and float32; H200, 2026-11-28).
double depthwise_gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    if (stages_columns(k)) return staged_rows_time(k, c, machine);
    const Problem &p = c.problem;
    const bool forward = k.operation == Operation::forward;
    const Axis &cut = axis_of_parts(k, p);
    const TapWindows taps(k, cut);
    const double vector = double(k.group_multiple);
    double threads = double(p.batch) * double(p.out_channels) / vector * double(threads_of_axis(k, cut));
    double windows = double(taps.count);
    for (const Axis &a : p.axes) {
        if (&a == &cut) continue;
        threads *= double(computed_positions(k, a));
        windows *= double(a.kernel) / (forward ? double(a.stride) : 1);
    }
    constexpr double seconds_of_instruction = 5.3e-14, store = 6, store_of_element = 1.5;
    // Neighbouring parts are loaded together, so fewer threads hide what loads take.
    const bool neighbours = k.parts_are_neighbours;
    const double begin = neighbours ? (forward ? 330 : 150) : (forward ? 230 : 40), least_threads = neighbours ? 40e3 : 60e3;
    const double instructions = begin + windows * instructions_of_window(k, taps.has_one_tap) +
                                double(k.parts) * (store + store_of_element * vector);
    const double issuing = seconds_of_instruction * instructions * std::max(threads / share_of_h200(machine), least_threads);
    // A thread waits for the loads of each window (k5 of three axes by one tap at a time, 8 x 32 channels of 5x10x10: 31 us).
    constexpr double seconds_of_window = 0.22e-6;
    const bool sees_one_tap = !neighbours || (taps.has_one_tap && k.strict_propagation);
    const double seen = double(k.parts + (sees_one_tap ? 0 : k.taps_at_once - 1));
    return std::max({issuing, windows * seconds_of_window, strided_rows_time(k, c, threads * windows, seen, machine)});
}

}  // namespace conv_transpose
