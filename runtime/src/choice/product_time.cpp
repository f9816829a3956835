// What implicit matrix products take: see product_time.h.
#include "choice/product_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "algorithm/machine_facts.h"
#include "choice/block_overhead.h"
#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/product_memory_time.h"
#include "choice/tensor_formats.h"
#include "choice/waves.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

double blocks_of(const KernelTraits &k, const Problem &p) {
    if (k.counts_through_images) return ProductBlocks(k, p).blocks;
    const bool forward = k.operation == Operation::forward;
    const int64_t channels = (forward ? p.out_channels : p.in_channels) / p.groups;
    const Size2 tile = k.block_positions,
                picture = forward ? Size2{spanned_output(k, p, p.height()), spanned_output(k, p, p.width())}
                                  : plane_of(p, &Axis::input);
    const double tiles = double(ceil_divide(picture.height, tile.height)) * double(ceil_divide(picture.width, tile.width));
    return double(p.batch) * tiles * double(ceil_divide(channels, k.block_channels)) * double(p.groups);
}

// Taps that see a phase of an axis; the first phases have the most.
int64_t taps_of_phase(const Axis &a, int64_t phase) {
    const int64_t live = a.stride / std::gcd(a.stride, a.dilation);
    return phase < live ? ceil_divide(std::max<int64_t>(a.kernel - phase, 0), live) : 0;
}

// Groups that are joined. Input gradients wait for lines of the output gradient that taps of large strides read anew: fourteen
// layers with strides of 2 to 8, in one axis and in two, in float16 and TF32 (H200, 2026-11-23). Of 16 bits all take less than as
// many channels of one group (nine layers of groups of 4 to 16 channels, forward and input gradient; 2026-11-30).
double joined_groups_factor(const KernelTraits &k, const Computation &c) {
    if (c.joined_groups == 1) return 1;
    const double of_element = bytes_of(k.output.type) == 2 ? 0.8 : 1;
    if (c.operation != Operation::input_gradient) return of_element;
    return of_element * std::sqrt(std::sqrt(double(product_of_axes(c.problem, [](const Axis &a) { return a.stride; }))));
}

// Taps of the phases that have blocks of their own, the most first.
std::vector<int64_t> taps_of_each_phase(const KernelTraits &k, const Problem &p) {
    std::vector<int64_t> all{1};
    for (const Axis &a : p.axes) {
        if (channel_phases(k, p, a) > 1) continue;
        std::vector<int64_t> products;
        for (const int64_t others : all)
            for (int64_t phase = 0; phase < a.stride; phase++) products.push_back(others * taps_of_phase(a, phase));
        all = std::move(products);
    }
    std::sort(all.rbegin(), all.rend());
    return all;
}

// Blocks begin at once, the longest first. How long those of the first multiprocessor are, in averages of all.
std::vector<double> blocks_of_first(const KernelTraits &k, const Problem &p, double blocks, int count) {
    const std::vector<int64_t> taps = taps_of_each_phase(k, p);
    const double phases = double(taps.size()), all = std::max(std::accumulate(taps.begin(), taps.end(), 0.0), 1.0);
    std::vector<double> lengths;
    for (double block = 0; block < blocks; block += double(count))
        lengths.push_back(double(taps[static_cast<std::size_t>(block / blocks * phases)]) * phases / all);
    return lengths;
}

// What blocks of these lengths take together on a multiprocessor, where so many equal ones take `together` of a wave.
template <class Together>
double longest_stay(const std::vector<double> &lengths, const Together &together) {
    double time = 0, before = 0;
    for (std::size_t left = lengths.size(); left > 0; left--) {
        time += (lengths[left - 1] - before) * together(double(left));
        before = lengths[left - 1];
    }
    return time;
}

}  // namespace

double longest_block(const KernelTraits &k, const Problem &p) {
    if (!k.counts_through_images || k.operation != Operation::forward) return 1;
    const auto of_phases = [&](const auto &count) {
        return double(product_of_axes(p, [&](const Axis &a) { return channel_phases(k, p, a) > 1 ? 1 : count(a); }));
    };
    return of_phases([](const Axis &a) { return taps_of_phase(a, 0); }) * of_phases([](const Axis &a) { return a.stride; }) /
           of_phases([](const Axis &a) { return a.kernel; });
}

double products_of_element(const KernelTraits &k, const Problem &p) {
    const int64_t summed = summed_channels(k, p), chunk = k.weight_in_channel_multiple;
    const double products = double(taps_of_phases(k, p)) / block_phases(k, p) * round_up(summed, chunk);
    // Boxes of 128 bytes that are half empty come as slowly as two (k2 s2, 32 to 16 channels, 2 x 48^3: 0.046 ms), of packed
    // pictures those of three axes; smaller ones do not (k4 s2, 64 from 16, 544x960: 0.172 ms by 256 x 64, 2026-11-23), but where
    // weights come so, too (k4, 144 from 12, 4 x 24x48x48: 0.53 ms by 128 x 192, k4 s2, 160 from one, 0.15; 2026-11-28).
    const int64_t bytes = chunk * bytes_of(k.output.type);
    const bool kept = k.kept_steps > 0 && k.output.type == ElementType::float32;
    const bool measured = k.box_positions > 0 && !kept && (maps_weights(k) ? bytes >= 64 : k.rank == 3 && bytes == 128);
    return products * (k.operation != Operation::forward && measured && 2 * summed <= chunk ? 2 : 1);
}

namespace {

// The share of a full wave's time that a block takes which has a multiprocessor to itself: it is faster than with neighbours, but
// does not fill it.
double share_of_block_alone(const KernelTraits &k) {
    if (loads_weights_as_given(k)) return 0.05;  // it waits for elements one by one
    // Each of two that the copy engine serves waits for its own copies: one alone is hardly faster (4 x 4, 2048 channels: 104 us,
    // 109 both). That is not so where weights, too, come in boxes (8 x 6, 2048 channels, by 128 x 64: 53 us).
    if (k.box_positions > 0 && k.operation == Operation::forward && !maps_weights(k) && channels_innermost(k.output) &&
        k.blocks_per_multiprocessor == 2)
        return 0.8;
    // On CUDA cores it takes half as long as with others (twelve layers, H200, 2026-11-22), of input gradients less (fitted to 256
    // times, 2026-11-23), but not of the largest blocks (twelve layers, 2026-11-28).
    constexpr double large_tile = 128 * 128;
    if (is_gradient_on_cuda_cores(k)) return double(area(k.block_positions)) * double(k.block_channels) >= large_tile ? 0.5 : 0.15;
    if (is_forward_on_cuda_cores(k) && k.window == 1) return 0.25;
    // Tiles beside others have fewer stages, for which one alone waits (k3 s3, 128 to 64, 4 x 8x10x8: 15 us by 40 of 128 x 64).
    const bool has_few_stages = k.resident_blocks > 0 && k.blocks_per_multiprocessor > 1;
    return has_few_stages ? 0.5 : 0.4;
}

// Waves that the blocks take, of which the last may not be full, and how much more the products of its longest block take.
struct WavesTaken {
    double all, of_longest = 0;
};
WavesTaken waves_of(const KernelTraits &k, const Problem &p, double blocks, const Machine &machine) {
    const Waves waves(blocks, k, machine);
    if (waves.rest <= 0) return {waves.full};
    const double alone = share_of_block_alone(k);
    const auto share_of_wave = [&](double blocks_there) { return partial_wave(blocks_there, alone, k); };
    const double blocks_there = most_blocks(waves.rest, machine), last = share_of_wave(blocks_there);
    // One of the longest shares a multiprocessor with others (six layers of k3 s2 in float16 and TF32, H200, 2026-11-28).
    if (!is_forward_on_cuda_cores(k)) return {waves.full + last, (longest_block(k, p) - 1) / blocks_there * last};
    // Where the longest come first, shorter ones fill up what they leave, and the first multiprocessor has most of the only wave.
    if (waves.full > 0) return {waves.full + last};
    return {std::max(longest_stay(blocks_of_first(k, p, blocks, multiprocessors(machine)), share_of_wave), last)};
}

}  // namespace

// The problem has a group for each part of a split sum, unless its steps are cut.
double product_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const double products = products_of_element(k, p);
    const double parts = c.parts_of_steps ? double(c.partial_sums) : 1, blocks = blocks_of(k, p) * parts;
    const double block_flop = 2.0 * double(area(k.block_positions)) * k.block_channels * products / parts;
    const double wave_flop = H200::multiprocessors * k.blocks_per_multiprocessor * block_flop;
    const double overhead = block_overhead(k, p, products);
    const double wave = wave_flop / (k.h200_tflops * 1e12) * joined_groups_factor(k, c) * split_lines_factor(k, c);
    // Nothing hides such stores where blocks are few (k4 s2 p1 when it was stored so, 64 to 32 channels, 32 x 94: 14 us of 12).
    const bool bares_stores = k.box_positions > 0 && most_blocks(blocks, machine) <= 1 && stores_at_odd_elements(k, p);
    // What comes beside products is the same of blocks with few taps and with many.
    const WavesTaken waves = waves_of(k, p, blocks, machine);
    const double computing = waves.all * (wave + overhead) + waves.of_longest * wave + (bares_stores ? overhead : 0);
    // Neither hides all of the other.
    constexpr double bare = 0.05;
    const double pictures = pictures_time(k, c), moving = std::max(pictures, least_moving_time(k, c));
    return std::max(computing, moving) + bare * std::min(computing, pictures) + before_first_block(k) +
           scattered_stores_time(k, c) + bare_stores_time(k, c) + single_stores_time(k, c) + other_groups_time(k, c);
}

}  // namespace conv_transpose
