// What gathers of single channels take: see depthwise_gather_time.h.
//
// Instructions of a thread were counted in the machine code of sm_90 (k3, vectors of four and eight, float16). Of thirteen layers
// of one to three axes, k3 to k16, strides 1 to 8, what it chooses takes 1.02 to 1.05 of the fastest of these kernels (float16 and
// float32, both layouts; H200, 2026-11-27). What threads take whose parts lie apart was fitted to one, two, four and eight of them
// (k2 to k12, float16 and float32; H200, 2026-11-28).
#include "choice/depthwise_gather_time.h"

#include "choice/gather_parts.h"
#include "choice/waves.h"

namespace conv_transpose {

namespace {

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

}  // namespace

bool gathers_single_channels(const KernelTraits &k) {
    return k.device == Device::cuda && k.in_channels == 1 && k.parts > 0 && k.h200_tflops == 0;
}

double depthwise_gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
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
    return seconds_of_instruction * instructions * std::max(threads / share_of_h200(machine), least_threads);
}

}  // namespace conv_transpose
