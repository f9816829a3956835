// Cutting the sum of a weight gradient: see weight_gradient_parts.h.
#include "choice/weight_gradient_parts.h"

#include <algorithm>

#include "choice/launch_ranges.h"

namespace conv_transpose {

namespace {

constexpr int64_t max_floats_of_parts = int64_t{64} << 20;

// Enough to occupy the machine; no more than what is worth a second pass.
int64_t wanted_parts(const Problem &p, const Tile &k) {
    const int64_t wanted = ceil_divide(k.wanted_blocks, blocks_of_part(p, k));
    return std::max<int64_t>(std::min({wanted, p.batch * input_positions(p) / k.positions_worth_a_part,
                                       max_floats_of_parts / p.weight_elements()}),
                             1);
}

// What bands count.
int64_t positions_of(const Problem &p, int axes) {
    if (axes == 1) return p.height().input;
    return axes == 2 ? p.depth().input * p.height().input : input_positions(p);
}

}  // namespace

int64_t blocks_of_part(const Problem &p, const Tile &k) {
    return p.groups * ceil_divide(p.in_channels / p.groups, k.tile_in_channels) *
           ceil_divide(p.out_channels / p.groups, k.tile_out_channels) *
           ceil_divide(taps(p), k.tile_taps);
}

WeightGradientParts::WeightGradientParts(const Problem &p, const Tile &kernel, int64_t images_a_launch) {
    const int64_t wanted = wanted_parts(p, kernel);
    images_a_part = std::clamp<int64_t>(p.batch / wanted, 1, images_a_launch);
    const int64_t beyond_input =
        kernel.bands_of_output_rows ? (p.height().kernel - 1) * p.height().dilation / p.height().stride : 0;
    const int64_t rows = positions_of(p, kernel.band_axes) + beyond_input, chunks = ceil_divide(rows, kernel.chunk_rows);
    rows_a_band =
        ceil_divide(chunks, std::clamp<int64_t>(wanted / of_images(p.batch), 1, chunks)) * kernel.chunk_rows;
    bands = ceil_divide(rows, rows_a_band);
}

int64_t packed_part_elements(const Problem &p, const Tile &k) {
    return p.weight_elements() / taps(p) * round_up(taps(p), k.tile_taps);
}

PackedPictureParts::PackedPictureParts(const Problem &p, const KernelTraits &k,
                                       const PackedPictures &packed) {
    constexpr int64_t max_packed = int64_t{128} << 20;
    const int64_t of_four = packed.input_elements(p, k) + packed.output_elements(p, k);
    const int64_t image =
        std::max(p.in_channels * input_positions(p), p.out_channels * output_positions(p));
    const int64_t most = std::clamp<int64_t>(max_packed / of_four, 1, packed.fours);
    fours = ceil_divide(packed.fours, ceil_divide(packed.fours, most));
    fours = std::clamp<int64_t>(packed.fours_of(max_elements_32bit() / image), 1, fours);
    slices = ceil_divide(packed.fours, fours);
    cut_into_bands(p, k, fours * area(packed.input));
}

// So that rounds of blocks are full, but each block has enough to do before it stores its sums.
void PackedPictureParts::cut_into_bands(const Problem &p, const Tile &k, int64_t of_slice) {
    constexpr int64_t chunks_worth_a_store = 8;
    const int64_t blocks = blocks_of_part(p, k), chunks = ceil_divide(of_slice, k.chunk_positions);
    const int64_t most = std::min({chunks, max_grid(), 2 * k.wanted_blocks / blocks + 1,
                                   max_floats_of_parts / packed_part_elements(p, k) / slices});
    int64_t chunks_of_band = chunks, least_time = 0;
    for (int64_t b = 1; b <= most; b++) {
        const int64_t of_band = ceil_divide(chunks, b);
        const int64_t time = ceil_divide(blocks * b, k.wanted_blocks) * (of_band + chunks_worth_a_store);
        if (b == 1 || time < least_time) least_time = time, chunks_of_band = of_band;
    }
    bands = ceil_divide(chunks, chunks_of_band);
    band_positions = chunks_of_band * k.chunk_positions;
}

}  // namespace conv_transpose
