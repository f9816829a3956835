// What gathers of single channels take: see depthwise_gather_time.h.
//
// Instructions of a thread were counted in the machine code of sm_90 (k3, vectors of four and eight, float16). Of thirteen layers
// of one to three axes, k3 to k16, strides 1 to 8, what it chooses takes 1.02 to 1.05 of the fastest of these kernels (float16 and
// float32, both layouts; H200, 2026-11-27). What threads take whose parts lie apart was fitted to one, two, four and eight of them
// (k2 to k12, float16 and float32; H200, 2026-11-28).
#include "choice/depthwise_gather_time.h"

#include <algorithm>
#include <numeric>

#include "algorithm/machine_facts.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

/// The axis whose positions are a thread's parts, and what a thread does along it.
struct Parts {
    int64_t windows, threads;  ///< of its taps; of all its positions
    bool has_one_tap;          ///< a position sees no more

    Parts(const KernelTraits &k, const Axis &a, bool forward) {
        const int64_t stride = std::max<int64_t>(a.stride, 1), gcd = std::gcd(stride, a.dilation);
        const int64_t extent = std::max<int64_t>(forward ? a.output() : a.input, 1);
        const bool neighbours = k.parts_are_neighbours;
        const int64_t apart = forward ? stride * (neighbours ? a.dilation / gcd : 1) : neighbours ? a.dilation : 1;
        const int64_t first_taps = !forward && neighbours ? std::min(stride, a.kernel) : 1;
        const int64_t taps = forward || neighbours ? ceil_divide(a.kernel, stride) : a.kernel;
        windows = first_taps * ceil_divide(taps, k.taps_at_once), has_one_tap = taps == 1;
        threads = neighbours ? ceil_divide(extent, k.parts * apart) * apart
                             : std::min(round_up(ceil_divide(extent, k.parts), apart), extent);
    }
};

// Taps of strict kernels stand behind tests, and cost nothing where they do not exist; parts far apart have addresses of their own.
double instructions_of_window(const KernelTraits &k, const Parts &along) {
    const bool tests = k.parts_are_neighbours && k.strict_propagation;
    const double vector = double(k.group_multiple), parts = double(k.parts), taps = double(k.taps_at_once);
    const double loop = !k.parts_are_neighbours ? 10 : tests ? 45 : 35, address = k.parts_are_neighbours ? 8 : 15,
                 used = tests && along.has_one_tap ? 1 : taps;
    constexpr double of_vector = 2;
    const double weights = taps * (vector + 3 * std::max(vector / 4, 1.0));
    return loop + (parts + taps - 1) * (address + of_vector * vector) + used * parts * vector + weights;
}

}  // namespace

bool gathers_single_channels(const KernelTraits &k) {
    return k.device == Device::cuda && k.in_channels == 1 && k.parts > 0 && k.h200_tflops == 0;
}

double depthwise_gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const bool forward = k.operation == Operation::forward;
    const Axis &cut = k.part_axis == 1 ? p.height() : p.width();
    const Parts parts(k, cut, forward);
    double threads = double(p.batch) * double(p.out_channels) / double(k.group_multiple) * double(parts.threads);
    double windows = double(parts.windows);
    for (const Axis &a : p.axes) {
        if (&a == &cut) continue;
        threads *= double(std::max<int64_t>(forward ? a.output() : a.input, 1));
        windows *= double(a.kernel) / (forward ? double(a.stride) : 1);
    }
    constexpr double store = 6, instruction = 5.3e-14;
    const bool windows_of_parts = k.parts_are_neighbours;  // loaded together, so fewer threads hide what loads take
    const double begin = windows_of_parts ? (forward ? 330 : 150) : (forward ? 230 : 40),
                 least_threads = windows_of_parts ? 40e3 : 60e3;
    const double vector = double(k.group_multiple);
    const double of_thread = begin + windows * instructions_of_window(k, parts) +
                             double(k.parts) * (store + 1.5 * vector);
    const double size = double(std::max(machine.multiprocessors, 1)) / H200::multiprocessors;
    return instruction * of_thread * std::max(threads / size, least_threads);
}

}  // namespace conv_transpose
