// How sums are cut into parts: see partial_sums.h.
#include "choice/partial_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithm/machine_facts.h"
#include "choice/estimated_time.h"
#include "choice/launch_limits.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/product_time.h"

namespace conv_transpose {

namespace {

// A part of fewer steps of its kernel's loop costs more than it gains: its sums are stored and read once more. Steps of what
// the copy engine stages are short, so that adding a part takes as long as one of them: 256 steps in 16 parts 11 us, in 64
// parts 24 (TF32, 8192 channels to 100 of 128 positions, H200, 2026-11-22).
int64_t most_parts(const KernelTraits &k, int64_t steps) {
    return maps_weights(k) ? std::min(steps / 4, static_cast<int64_t>(std::sqrt(double(steps)))) : steps / 16;
}

// Fewer are hardly begun.
constexpr double least_steps_of_part = 4;

// Shorter blocks even out what multiprocessors have to do, of phases of unequal length, too (H200, 2026-11-23: k5 s2, 1024 to 256
// channels of 8x10x8, in 3 parts 1.51 ms, in 12 1.14; float16 in channels_last 0.214 in one, 0.107 in 3). Where pictures are packed
// for the copy engine, more parts than fit at once took 0.64 to 1.33 times as long as what was chosen, most of them longer; of
// input gradients in channels_last up to 1.9 times (k16 s8, 256 from 40 channels, 64x85, 193 us in two parts, 102 in one;
// 2026-11-27).
double most_waves(const KernelTraits &k, const Problem &p) {
    if (k.box_positions == 0) return 4;
    const double longest = longest_block(k, p);
    return (longest > 1 || (maps_weights(k) && k.operation == Operation::forward) ? 2 : 1) * longest;
}

// Blocks of a cluster are on multiprocessors of one group at a time, of which an H200 has seven of sixteen and one of twelve, as
// far as could be seen: 16 clusters of seven and 32 of four took a wave more, 24 of four and 21 of five did not (2026-11-23 and
// 27).
int64_t clusters_at_once(int64_t blocks) { return 7 * (16 / blocks) + 12 / blocks; }

// A cluster has at most eight blocks on every GPU that has them.
constexpr int64_t most_of_cluster = 8;

}  // namespace

int64_t partial_sums(const KernelTraits &k, const Problem &p, int64_t undivided) {
    if (k.split_target_blocks == 0 || p.groups != 1 || p.batch == 0) return 1;
    // Pixels so far apart fill L1 with the window of one block: HiFi-GAN's first layer (stride 8) took 0.250
    // ms in two parts, 0.153 in one (H200). Channels that are neighbours fill lines whatever the stride is.
    const bool far_apart = k.operation == Operation::input_gradient && !channels_innermost(k.output) &&
                           !k.taps_as_channels;  // whose steps see neighbours
    if (far_apart && p.width().stride >= 8) return 1;
    const ProductBlocks work(k, p);
    const int64_t summed = k.operation == Operation::forward ? p.in_channels : p.out_channels;
    if (summed_channels(k, p) % k.weight_in_channel_multiple != 0 || work.blocks > double(k.split_target_blocks)) return 1;
    // Parts are groups, and a launch has them all: weights that are read by tensor maps begin at its first.
    int64_t parts = std::min({k.split_target_blocks / std::max<int64_t>(static_cast<int64_t>(work.blocks), 1),
                              most_parts(k, work.steps), work.chunks, max_grid()});
    while (parts > 1 && (work.chunks % parts != 0 || summed % (parts * undivided) != 0)) parts--;
    const double elements = double(k.operation == Operation::forward ? p.output_elements() : p.input_elements());
    const double spanned = std::max(elements * double(parts), double(std::max(p.input_elements(), p.output_elements())));
    return spanned > double(max_elements_32bit()) || p.batch > max_grid() ? 1 : std::max<int64_t>(parts, 1);
}

int64_t best_parts_of_steps(const KernelTraits &k, const Computation &computation) {
    const Problem &p = computation.problem;
    if (k.split_target_blocks == 0 || p.batch == 0 || p.batch > max_grid()) return 1;
    // With channels innermost a group's lie apart by those of all, a part's by all positions.
    if (channels_innermost(k.output) && p.groups != 1) return 1;
    const ProductBlocks work(k, p);
    const double elements = double(k.operation == Operation::forward ? p.output_elements() : p.input_elements());
    if (double(p.input_elements()) > max_elements_32bit() || double(p.output_elements()) > max_elements_32bit()) return 1;
    const double most = std::min({most_waves(k, p) * double(k.split_target_blocks) / std::max(work.blocks, 1.0),
                                  double(work.steps) / least_steps_of_part, double(max_elements_32bit()) / std::max(elements, 1.0),
                                  double(max_grid()) / double(p.groups)});
    Machine machine;
    machine.multiprocessors = machines::H200::multiprocessors;
    Computation cut = computation;
    cut.parts_of_steps = true;
    int64_t best = 1;
    double shortest = k.makes_parts ? std::numeric_limits<double>::infinity() : estimated_time({k, cut}, machine);
    for (int64_t parts = 2; double(parts) <= most; parts += std::max<int64_t>(parts / 4, 1)) {
        if (k.adds_in_clusters && (parts > most_of_cluster || work.blocks > double(clusters_at_once(parts)))) break;
        cut.partial_sums = parts;
        if (const double time = estimated_time({k, cut}, machine); time < shortest) best = parts, shortest = time;
    }
    return best;
}

Computation with_split_sum(const KernelTraits &kernel, const Computation &computation) {
    Computation split = computation;
    if (computation.has_wide_pixels()) return split;  // parts are dense
    // Those in channels_last are turned when they are added.
    if (computation.written_turned && channels_innermost(computation.written_format)) return split;
    if (computation.cells || computation.joined_groups > 1) return split;  // packed kernels of later inputs are shifted
    if (kernel.splits_steps) {
        split.partial_sums = best_parts_of_steps(kernel, computation);
        split.parts_of_steps = split.partial_sums > 1;
        return split;
    }
    split.partial_sums = partial_sums(kernel, computation.problem, summed_phases(computation));
    Problem &p = split.problem;
    p.groups *= split.partial_sums;
    (kernel.operation == Operation::forward ? p.out_channels : p.in_channels) *= split.partial_sums;
    return split;
}

}  // namespace conv_transpose
