// What weight gradients of single channels take: see depthwise_gradient_time.h.
//
// Its constants were fitted to one half of 98 depthwise problems of one to three axes, k2 to k12, strides 1 to 8, in float32 and
// float16 and both layouts, by all kernels that accept them (H200, 2026-11-27). Of the other half most estimates are 0.6 to 1.4 of
// what kernels take. Of 32 others, drawn afterwards, the choice takes 1.03 of the fastest kernel's time in float16, 1.08 in
// channels_last (1.16 and 1.18 by the order in the registry). Estimates of runs of two taps along three axes are half of the time.
#include "choice/depthwise_gradient_time.h"

#include <algorithm>
#include <cmath>

#include "algorithm/machine_facts.h"
#include "choice/staged_columns.h"
#include "choice/tensor_formats.h"
#include "choice/waves.h"
#include "choice/weight_gradient_parts.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

constexpr int64_t warp = 32;

/// The blocks of all parts. So many waves take as long as one, and work that is shared among all multiprocessors takes longer by
/// a factor where some of them have none.
struct BlockWaves {
    double waves, idle_factor;

    BlockWaves(double blocks, double blocks_per_multiprocessor, const Machine &machine) {
        const double each = blocks / double(multiprocessors(machine));
        waves = std::ceil(each / blocks_per_multiprocessor), idle_factor = std::max(each, 1.0) / each;
    }
};

/// What a kind of kernel takes, in seconds.
struct Costs {
    double launch;                     ///< twice where parts are added
    double blocks_per_multiprocessor;  ///< not in seconds
    double wave;                       ///< until the sums of its lanes are added
    double warp_product;               ///< of one tap, of a multiprocessor
    double stride;   ///< of a row of a tile, likewise, for each element that lanes lie further apart
    double latency;  ///< of a product of a block's lanes, one after the other
};

// Lanes have positions, or runs of a column, or vectors of four or eight groups, or runs of these. Those of fours have the most
// registers, and what loads take is not hidden.
Costs costs_of(const KernelTraits &k) {
    if (k.tile_groups == 1 && k.run_rows > 1) return {0.4e-6, 8, 4.8e-6, 1.3e-9, 1.5e-9, 0};
    if (k.tile_groups == 1) return {1.1e-6, 8, 2.5e-6, 4e-9, 1.6e-9, 0};
    if (k.run_rows > 1) return {1.3e-6, 5, 1.5e-6, k.group_multiple > 4 ? 1e-9 : 6.8e-10, 0, 0};
    if (bytes_of(k.input.type) == 2 && k.chunk_rows >= warp) return {1.3e-6, 4, 1.5e-6, 1.6e-9, 0, 0};
    return {1.3e-6, 8, 0, 2.7e-9, 0, 7.7e-8};
}

double memory_time(const Computation &c) {
    const Problem &p = c.problem;
    return double(bytes_of(c.read_format.type)) * (double(p.input_elements()) + double(p.output_elements())) /
           H200::memory_bytes_per_second;
}

// Where channels are innermost, each lane reads sectors of its own: those of a position's input, and those that its taps see and
// its neighbours' do not. Blocks of other channels read them again, from the second-level cache; runs of a column have most lines
// between them.
double scattered_sectors_time(const KernelTraits &k, const Computation &c, double elements) {
    constexpr double sector = 32, taps_of_a_row = 4;
    const Problem &p = c.problem;
    const double seen = std::min({double(p.width().stride), double(p.width().kernel), taps_of_a_row});
    const double bytes = std::min(double(bytes_of(c.read_format.type)) * double(p.groups), sector);
    return elements * (1 + seen) * bytes * (k.run_rows > 1 ? 2 : 1) / H200::second_level_bytes_per_second;
}

// Taps of a row that a tile has, of as many rows as its window.
double tile_row_taps(const KernelTraits &k) { return double(k.tile_taps) / double(k.window); }

// Where a row has fewer taps than a tile, each row takes addresses of its own.
double rows_of_a_tile(const KernelTraits &k, const Problem &p) {
    if (k.tile_groups > 1 || taps(p) == p.width().kernel) return 1;
    return std::max(tile_row_taps(k) / double(p.width().kernel), 1.0);
}

// Runs of vectors read for each window what they see and their inputs anew: windows that are half empty took 1.2 to 1.7 times as
// long as full ones (k3 s2 and k8 s8).
double half_empty_windows(const KernelTraits &k, const Problem &p) {
    if (k.tile_groups == 1 || k.run_rows == 1) return 1;
    const Axis &y = p.height();
    const int64_t places = std::min(y.stride, y.kernel) * round_up(ceil_divide(y.kernel, y.stride), k.tile_taps);
    return 2 * y.kernel <= places ? 1.8 : 1;
}

double gathered_time(const KernelTraits &k, const Computation &c, const WeightGradientParts &parts, const Machine &machine) {
    const Problem &p = c.problem;
    const Costs costs = costs_of(k);
    const bool has_groups = k.tile_groups > 1;
    const int64_t positions = positions_of_bands(p, k), band = std::min(parts.rows_a_band, positions);
    const double part_blocks = double(blocks_of_part(p, k)), images = double(p.batch);
    const BlockWaves blocks(part_blocks * double(parts.count(p)), costs.blocks_per_multiprocessor, machine);
    if (!has_groups && has_channels_last(c)) {
        constexpr double wave = 4.8e-6;
        const double elements = part_blocks * images * double(positions) * double(k.run_rows) * blocks.idle_factor;
        return blocks.waves * wave + scattered_sectors_time(k, c, elements);
    }
    const double taps_of_run = double(k.run_rows * k.tile_taps);
    const double warps = has_groups ? double(positions) : double(ceil_divide(positions, band) * ceil_divide(band, warp));
    const double products = part_blocks * images * warps * taps_of_run / double(multiprocessors(machine)) * blocks.idle_factor;
    const double products_in_turn = double(parts.images_a_part) * double(ceil_divide(band, k.chunk_rows)) * taps_of_run;
    constexpr int64_t most_apart = 8;
    constexpr double share_of_reading = 0.6;  // the rest of it is hidden
    const double lanes_apart = double(std::min(p.width().stride, most_apart) - 1);
    return blocks.waves * (costs.wave + costs.latency * products_in_turn) +
           products * (costs.warp_product * rows_of_a_tile(k, p) * half_empty_windows(k, p) +
                       costs.stride * lanes_apart / tile_row_taps(k)) +
           share_of_reading * memory_time(c);
}

// Blocks stage boxes, and go through them by runs of positions.
double staged_time(const KernelTraits &k, const Computation &c, const WeightGradientParts &parts, const Machine &machine) {
    const Problem &p = c.problem;
    const StagedShape &shape = k.staged_shape;
    const auto tile = staged_weight_tile(shape, p);
    constexpr double blocks_per_multiprocessor = 6, wave = 1.9e-6, staged_element = 1.9e-10, product = 1e-11;
    constexpr double share_of_reading = 0.7;  // the rest of it is hidden
    const double part_blocks = double(blocks_of_part(p, k));
    const BlockWaves blocks(part_blocks * double(parts.count(p)), blocks_per_multiprocessor, machine);
    const double boxes =
        part_blocks * double(p.batch) * double(tile.tiles()) / double(multiprocessors(machine)) * blocks.idle_factor;
    const double staged = double(shape.planes * tile.box_x * tile.box_z * tile.pitch);
    const double products =
        double(ceil_divide(tile.x * tile.z * tile.groups, tile.lanes)) * shape.parts * shape.window * shape.threads;
    const double of_planes = shape.planes > 1 ? 1.8 : 1;  // lanes of groups read columns of their own
    return blocks.waves * wave + of_planes * boxes * (staged * staged_element + products * product) +
           share_of_reading * memory_time(c);
}

// Warps go through rows of pictures in channels_first, with the sums of all taps (k4 s2, fourteen layers of 24 to 330 us: 0.7 to
// 1.4 of what it takes; H200, 2026-11-27).
double rows_time(const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    constexpr double least = 25e-6, position = 9.1e-12;
    return least + position / share_of_h200(machine) * double(p.batch) * double(p.groups) * double(p.height().input) *
                       double(round_up(p.width().input, warp));
}

}  // namespace

bool sums_single_channels(const KernelTraits &k) {
    return k.device == Device::cuda && k.family == Family::weight_gradient && k.in_channels == 1 && k.h200_tflops == 0;
}

double depthwise_gradient_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    if (k.rank < max_rank) return rows_time(c, machine);
    const Problem &p = c.problem;
    const WeightGradientParts parts = unpacked_parts(p, k);
    const bool staged = stages_columns(k);
    constexpr double launch_of_staged = 1.7e-6;
    const double launch = staged ? launch_of_staged : costs_of(k).launch;
    const double adding = k.writes_result ? 0 : launch + double(parts.count(p)) * seconds_of_a_part(packed_part_elements(p, k));
    return launch + adding + (staged ? staged_time(k, c, parts, machine) : gathered_time(k, c, parts, machine));
}

}  // namespace conv_transpose
