// Estimates of time from tile sizes and measured rates: see weight_gradient_time.h.
//
// Its constants were fitted to what an H200 took on 2026-11-21 for tests/shapes/tuning_other.txt, random.txt and
// seventeen layers of common networks, by up to ten kernels each: in each precision it picks the fastest, or one
// within 5 %.
#include "choice/weight_gradient_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithm/machine_facts.h"
#include "choice/kernel_properties.h"
#include "choice/launch_ranges.h"
#include "choice/tensor_formats.h"
#include "choice/waves.h"
#include "choice/weight_gradient_parts.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

constexpr double bytes_per_second = H200::memory_bytes_per_second, float_bytes = sizeof(float);
constexpr double launch_of_step = 2e-6;  // in seconds, as all times here

// The time of blocks that go through so many positions each: multiprocessors wait for the one with the most blocks.
double products_time(const Tile &k, double blocks, double positions, const Machine &machine) {
    const double flop = 2.0 * k.tile_in_channels * k.tile_out_channels * k.tile_taps * positions;
    return most_blocks(blocks, machine) * H200::multiprocessors * flop / (k.h200_tflops * 1e12);
}

double packed_time(const KernelTraits &k, const Problem &p, const Machine &machine) {
    const PackedPictures packed(p);
    const PackedPictureParts cut(p, k, packed);
    const double pictures = double(packed.input_elements(p, k)) + double(packed.output_elements(p, k));
    const double packing = 2 * float_bytes * pictures * packed.fours / bytes_per_second;
    constexpr double worth_a_store = 16;
    const double products =
        products_time(k, double(cut.count()) * double(blocks_of_part(p, k)), 4 * (cut.band_positions + worth_a_store), machine);
    const double sums = double(cut.count()) * seconds_of_a_part(packed_part_elements(p, k));
    return packing + products + sums + (3 * cut.slices + 1) * launch_of_step;
}

// The share of its rate that a multiprocessor reaches with fewer blocks than run there at a time, which do not fill each
// other's gaps.
double share_of_rate(const Tile &k, double blocks, const Machine &machine) {
    return std::sqrt(std::min(most_blocks(blocks, machine) * H200::multiprocessors / double(k.wanted_blocks), 1.0));
}

constexpr double whole_row = 1.3e-9;  // that a multiprocessor's copy engine copies: up to 128 bytes

// How much longer a row takes, of rows that lie so many bytes apart: two requests where it begins inside of a line of the
// second-level cache, and a sector more where it begins inside of one.
double unaligned_row_factor(int64_t bytes_apart, double in_sector) {
    constexpr int64_t line = 128, sector = 32;
    constexpr double in_line = 0.6;
    const int64_t begins_at = std::gcd(bytes_apart, line);  // multiples of so many bytes
    return 1 + in_line * (1 - double(begins_at) / line) + in_sector * (1 - double(std::min(begins_at, sector)) / sector);
}

// Rows of the input have half of 128 bytes, and take as long. Estimates of 23 layers by up to three kernels are then 0.90 to 1.29
// of what they take, and the fastest kernel is chosen, or one within 3 % (float16, H200, 2026-11-23).
double copies_of_pairs(const KernelTraits &k, const Problem &p) {
    constexpr double in_sector = 1;
    const int64_t row = bytes_of(k.input.type) * p.width().input;
    return whole_row * (double(k.tile_in_channels) * unaligned_row_factor(row, in_sector) +
                        double(k.tile_out_channels) * unaligned_row_factor(2 * row, in_sector)) / double(k.box_positions);
}

// What the boxes take of a kernel that reads tensor maps; those beyond the last channel are the last once more. It was fitted with
// rates and stores to 1,138 times of 132 weight gradients in float16 by up to 18 kernels: the choice takes 1.016 of the fastest on
// average, 1.18 at worst; fitted to half of them, 1.024 of the others (H200, 2026-11-23, when rows of zeros took 4.3 ns).
double copies_time(const KernelTraits &k, const Problem &p, const ChannelsLastParts &cut, double blocks, const Machine &machine) {
    if (k.box_positions == 0 || k.window > 1 || sums_runs(k)) return 0;
    const auto copies = [&](int64_t channels, int64_t tile) {
        const int64_t bytes = bytes_of(k.input.type), row = 128 / bytes;
        constexpr double in_sector = 2.5;
        return whole_row * unaligned_row_factor(bytes * p.groups * channels, in_sector) * double(ceil_divide(tile, row));
    };
    const double rows = k.reads_pairs ? copies_of_pairs(k, p)
                                      : copies(cut.input_channels, k.tile_in_channels) +
                                            double(k.tile_taps) * copies(cut.output_channels, k.tile_out_channels);
    return most_blocks(blocks, machine) * double(cut.band_positions) * rows;
}

// Of channels_last, in TF32.
bool reads_boxes_of_floats(const KernelTraits &k) { return k.vectors_of_channels && k.box_positions > 0; }

// How much longer windows take that read rows of 16 bytes: output gradients of up to 8 channels of 16 bits (k5, 3 to 8 channels, in
// channels_last 1.49 to 1.6 times what others take, of 16 to 128 channels 0.91 to 1.0; H200, 2026-12-01).
double narrow_rows_factor(const KernelTraits &k, const ChannelsLastParts &cut) {
    return k.box_positions > 0 && k.window > 1 && cut.output_channels * bytes_of(k.input.type) <= 16 ? 1.55 : 1;
}

// What the stores of a block are worth, in positions.
double worth_a_store(const KernelTraits &k, double element) {
    if ((sums_as_it_lies(k) || k.vectors_of_channels) && k.box_positions == 0) return 16;
    if (reads_boxes_of_floats(k)) return 180;  // fitted with rates to 45 layers (H200, 2026-11-28)
    if (sums_boxes(k)) return k.tile_out_channels > 64 ? 384 : 768 / element;
    // The next tile is on its way meanwhile (thirteen layers, H200, 2026-11-23).
    if (k.resident_blocks > 0) return k.tile_out_channels > 128 ? 150 : 110;
    // Blocks with a multiprocessor for themselves.
    if (k.adds_in_clusters && k.wanted_blocks <= H200::multiprocessors) return k.tile_out_channels > 64 ? 480 : 260;
    // Rows of 16 bytes: five layers of few positions (H200, 2026-11-23).
    if (k.adds_in_clusters) return 370;
    return k.box_positions == 0 ? 185 : k.writes_result ? 480 : 460;
}

// How much longer a kernel takes whose copies or loads of single floats bring a sector of memory each: FCN-32s at a stride of 32, on
// an H200, 2026-11-22; 16 groups of one to 40 channels at a stride of 16, 2.58 ms, 2026-11-28. At 8 nothing was seen of it.
double lone_sectors_factor(const KernelTraits &k, const Problem &p) {
    const bool copies_single = sums_as_it_lies(k) && !sums_boxes(k), loads_single = k.family == Family::weight_gradient;
    return (copies_single || loads_single) && p.width().stride >= 16 ? 2.5 : 1;
}

// Weights of 16 bits that are turned to channels_first: a block stages all taps of a tile of channels, one round after the other
// (ten layers of 0.07 to 41 million weights and 9 to 256 taps; H200, 2026-11-23).
double turning_time(const Problem &p) {
    const auto positions = double(taps(p));
    return (1.8e-12 + 1.5e-14 * positions) * double(p.weight_elements()) + 3.5e-8 * positions;
}

// The share of reading, or of products, that the other does not hide: threads copy four bytes at a time, tiles of few channels read
// much anew, and rows of clusters have few chunks on their way. Of 74 layers in float16 by up to 18 kernels the choice then takes
// 1.033 of the fastest on average, 1.32 at worst (H200, 2026-11-23).
double share_not_hidden(const KernelTraits &k) {
    if (reads_boxes_of_floats(k)) return 0.1;
    if (sums_as_it_lies(k)) return sums_boxes(k) ? 0 : 0.1;
    if (bytes_of(k.input.type) != 2) return 0;
    if (k.box_positions == 0) return k.tile_in_channels < 64 ? 0.7 : 0.1;
    return k.adds_in_clusters && k.wanted_blocks > H200::multiprocessors ? 0.3 : 0;
}

// What packs taps finds each element by itself, and is read once more.
double packing_time(const Computation &c, const ChannelsLastParts &cut, double input_bytes, double output_bytes) {
    constexpr double gathered_element = 1.6e-12;
    const double gathering = c.by_taps ? gathered_element * c.problem.batch * double(cut.output_elements) : 0;
    return gathering + 2 * ((cut.packs_input ? input_bytes : 0) + (cut.packs_output ? output_bytes : 0)) / bytes_per_second;
}

double implicit_gemm_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const ChannelsLastParts cut(c, k);
    const double element = bytes_of(c.read_format.type);  // in bytes
    const double blocks = double(cut.bands) * double(blocks_of_part(p, k));
    const double computing = products_time(k, blocks, double(cut.band_positions) + worth_a_store(k, element), machine) /
                             share_of_rate(k, blocks, machine) * lone_sectors_factor(k, p) * narrow_rows_factor(k, cut);
    const double products = double(cut.slices) * std::max(computing, copies_time(k, p, cut, blocks, machine));
    const double input = element * p.batch * cut.input_elements, output = element * p.batch * cut.output_elements;
    const double packing = packing_time(c, cut, input, output);
    const double sums = k.writes_result ? 0 : double(cut.count()) * seconds_of_a_part(packed_part_elements(p, k));
    const double adding = k.adds_in_clusters && cut.bands > 1 ? seconds_of_a_cluster(k) : 0;
    const bool turned = turns_result(k, c);
    const double turning = turned ? turning_time(p) : 0;
    const double launches = double(cut.slices) * (1 + cut.packs_input + cut.packs_output) + (!k.writes_result || turned);
    // Where taps are packed the sum is too low by a fifth: of 59 choices for few channels what is taken then takes 1.03 of the
    // fastest of six kernels on average, 1.15 at worst (H200, 2026-11-22).
    // Those that read maps of float32 are not (six layers, TF32: 0.62 to 0.93 of what it was with this; H200, 2026-12-01).
    const double margin = c.by_taps && !(sums_boxes(k) && element == 4) ? 1.25 : 1;
    // Fitted with the share that is not hidden to 24 layers (H200, 2026-11-29).
    const double reading_rate = reads_boxes_of_floats(k) ? 4e12 : bytes_per_second;
    const double reading = (input + output * share_seen(p)) / reading_rate,
                 both = std::max(products, reading) + share_not_hidden(k) * std::min(products, reading);
    constexpr double launch_of_short_step = 1.3e-6;
    return margin * (packing + both + sums + adding + turning + launches * (element == 2 ? launch_of_short_step : launch_of_step));
}

// A gather that writes the weights themselves, in one launch: each block goes through all positions, a warp's at a time, whose loads
// it waits for (43 times of 2 to 29 us in float16, 18 within a tenth; H200, 2026-12-01).
double gathered_time(const KernelTraits &k, const Problem &p, const Machine &machine) {
    constexpr double begin = 1.8e-6, seconds_of_loads = 0.5e-6, seconds_of_block = 0.4e-6;
    const double steps = double(ceil_divide(p.batch * input_positions(p), k.chunk_rows)), blocks = double(blocks_of_part(p, k));
    return begin + steps * seconds_of_loads + most_blocks(blocks, machine) * seconds_of_block +
           products_time(k, blocks, steps * double(k.chunk_rows), machine);
}

double unpacked_time(const KernelTraits &k, const Problem &p, const Machine &machine) {
    const WeightGradientParts parts = unpacked_parts(p, k);
    const double positions =
        double(parts.images_a_part) * parts.rows_a_band * round_up(p.width().input, k.chunk_columns);
    // CUDA cores store sums one by one.
    const double worth_a_store = k.precision == Precision::float32 ? 256 : 0;
    const double products =
        products_time(k, double(parts.count(p)) * double(blocks_of_part(p, k)), positions + worth_a_store, machine) *
        lone_sectors_factor(k, p);
    const double tensors =
        float_bytes * (double(p.input_elements()) + double(p.output_elements())) / bytes_per_second;
    const double sums = float_bytes * 2 * parts.count(p) * p.weight_elements() / bytes_per_second;
    return std::max(products, tensors) + sums + 2 * launch_of_step;
}

}  // namespace

double weight_gradient_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    if (k.family == Family::weight_gradient_implicit_gemm) return implicit_gemm_time(k, c, machine);
    if (k.any_layout) return gathered_time(k, p, machine);
    return k.packed_pictures ? packed_time(k, p, machine) : unpacked_time(k, p, machine);
}

}  // namespace conv_transpose
