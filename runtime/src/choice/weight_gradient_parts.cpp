// Cutting the sum of a weight gradient: see weight_gradient_parts.h.
#include "choice/weight_gradient_parts.h"

#include <algorithm>

#include "algorithm/machine_facts.h"
#include "choice/kernel_properties.h"
#include "choice/launch_ranges.h"
#include "choice/other_steps_time.h"
#include "choice/staged_columns.h"
#include "choice/views_of_rows.h"

namespace conv_transpose {

namespace {

constexpr int64_t max_floats_of_parts = int64_t{64} << 20;
constexpr int64_t positions_worth_a_part = 512;  // fewer are not worth a second pass

// Enough to occupy the machine; no more than what is worth a second pass.
int64_t wanted_parts(const Problem &p, const Tile &k) {
    const int64_t wanted = ceil_divide(k.wanted_blocks, blocks_of_part(p, k));
    return std::max<int64_t>(std::min({wanted, p.batch * input_positions(p) / positions_worth_a_part,
                                       max_floats_of_parts / p.weight_elements()}),
                             1);
}

}  // namespace

int64_t positions_of_bands(const Problem &p, const Tile &k) {
    if (stages_columns(k)) return staged_weight_tile(k.staged_shape, p).tiles();
    if (k.band_axes == 1) return p.height().input;
    if (k.band_axes == 2) return p.depth().input * p.height().input;
    if (k.run_rows == 1) return input_positions(p);
    const int64_t apart = p.height().dilation, runs = ceil_divide(p.height().input, k.run_rows * apart) * apart;
    return p.depth().input * runs * p.width().input;
}

int64_t blocks_of_part(const Problem &p, const Tile &k) {
    if (stages_columns(k)) return ceil_divide(p.groups, k.staged_shape.planes) * staged_weight_tile(k.staged_shape, p).task_tiles();
    return ceil_divide(p.groups, k.tile_groups) * ceil_divide(p.in_channels / p.groups, k.tile_in_channels) *
           ceil_divide(p.out_channels / p.groups, k.tile_out_channels) *
           ceil_divide(taps(p), k.tile_taps);
}

WeightGradientParts::WeightGradientParts(const Problem &p, const Tile &kernel, int64_t images_a_launch) {
    const int64_t wanted = wanted_parts(p, kernel);
    images_a_part = std::clamp<int64_t>(p.batch / wanted, 1, images_a_launch);
    const int64_t beyond_input =
        kernel.bands_of_output_rows ? (p.height().kernel - 1) * p.height().dilation / p.height().stride : 0;
    const int64_t rows = positions_of_bands(p, kernel) + beyond_input, chunks = ceil_divide(rows, kernel.chunk_rows);
    rows_a_band =
        ceil_divide(chunks, std::clamp<int64_t>(wanted / of_images(p.batch), 1, chunks)) * kernel.chunk_rows;
    bands = ceil_divide(rows, rows_a_band);
}

WeightGradientParts unpacked_parts(const Problem &p, const Tile &kernel) {
    return {p, kernel, LaunchRanges(p, output_positions(p)).images};
}

double seconds_of_a_part(int64_t floats) {
    constexpr double in_order = 20e-9, written_and_read = 2;
    return std::max(in_order, written_and_read * sizeof(float) * double(floats) / machines::H200::memory_bytes_per_second);
}

int64_t packed_part_elements(const Problem &p, const Tile &k) {
    return p.weight_elements() / taps(p) * round_up(taps(p), k.tile_taps);
}

int64_t part_stride(const Computation &c, const Tile &k) {
    return packed_part_elements(c.problem, k) + (c.joined_positions > 1 ? c.problem.in_channels : 0);
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
    cut_into_bands(p, k, fours * packed.input.positions());
}

double seconds_of_a_cluster(const Tile &k) { return cluster_time(double(k.tile_in_channels * k.tile_out_channels)); }

// Clusters whose blocks had to share multiprocessors waited for each other: 72 of five blocks took 13.2 us, 72 blocks alone 8.2
// (256 to 128 channels, k3 s2, N4 16x21, H200, 2026-11-23). Where a multiprocessor holds one block, 32 clusters of four, one of
// which waited, took 26.0 us, 32 of two 19.0 (k4 s2, 240 to 120, N4 32x32). They depend on the problem alone: on an H200's number
// of multiprocessors.
static int64_t most_blocks_of_cluster(const Tile &k, int64_t blocks, int64_t chunks) {
    constexpr int64_t of_all_gpus = 8, at_once = machines::H200::multiprocessors, of_pairs = 2;
    const int64_t of_larger = k.wanted_blocks <= at_once ? at_once * 7 / 8 : at_once;
    const int64_t most = std::min({chunks, of_all_gpus, std::max<int64_t>(of_larger / blocks, 1)});
    return most > of_pairs ? most : std::min({chunks, of_pairs, std::max<int64_t>(at_once / blocks, 1)});
}

// So that waves of blocks are full, but each block has enough to do before it stores its sums, and these are soon added.
void SlicedParts::cut_into_bands(const Problem &p, const KernelTraits &k, int64_t of_slice) {
    constexpr int64_t chunks_worth_a_store = 8;
    const int64_t blocks = blocks_of_part(p, k), chunks = ceil_divide(of_slice, k.chunk_positions);
    const int64_t most = k.adds_in_clusters ? most_blocks_of_cluster(k, blocks, chunks)
                         : k.writes_result  ? 1
                                            : std::min({chunks, max_grid(), 2 * k.wanted_blocks / blocks + 1,
                                                        max_floats_of_parts / packed_part_elements(p, k) / slices});
    const double chunk_flop = 2.0 * k.tile_in_channels * k.tile_out_channels * k.tile_taps * k.chunk_positions *
                              (k.packed_pictures ? 4 : 1);
    // Times are in those that a full wave takes for a chunk.
    const double wave_seconds = chunk_flop * double(k.wanted_blocks) / (std::max(k.h200_tflops, 1) * 1e12);
    const double part = seconds_of_a_part(packed_part_elements(p, k)) / wave_seconds;
    const double cluster = seconds_of_a_cluster(k) / wave_seconds;
    int64_t chunks_of_band = chunks;
    double least_time = 0;
    for (int64_t count = 1; count <= most; count = k.adds_in_clusters ? 2 * count : count + 1) {
        const int64_t of_band = ceil_divide(chunks, count);
        const double computing = double(ceil_divide(blocks * count, k.wanted_blocks) * (of_band + chunks_worth_a_store));
        const double adding = k.adds_in_clusters ? double(count > 1) * cluster : double(ceil_divide(chunks, of_band)) * part;
        if (count == 1 || computing + adding < least_time) least_time = computing + adding, chunks_of_band = of_band;
    }
    bands = ceil_divide(chunks, chunks_of_band);
    band_positions = chunks_of_band * k.chunk_positions;
}

bool turns_result(const KernelTraits &k, const Computation &c) {
    return k.family == Family::weight_gradient_implicit_gemm && k.writes_result && !channels_innermost(c.weight_format) &&
           taps(c.problem) > 1 && c.problem.out_channels > c.problem.groups;
}

// Enough for a block's threads, of channels that divide into whole tiles.
int64_t turned_channels(const Problem &p) {
    constexpr int64_t most_elements = 4096;
    const int64_t channels = p.out_channels / p.groups;
    for (int64_t tiles = 1;; tiles++)
        if (channels % tiles == 0 && (channels / tiles * taps(p) <= most_elements || tiles == channels)) return channels / tiles;
}

ChannelsLastParts::ChannelsLastParts(const Computation &c, const KernelTraits &k) {
    const Problem &p = c.problem;
    constexpr int64_t max_packed = int64_t{256} << 20;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const int64_t values = 16 / bytes_of(k.input.type);
    const auto must_pack = [&](int64_t channels, int64_t positions, TensorFormat format) {
        return !sums_as_it_lies(k) && (channels % values != 0 || (!channels_innermost(format) && positions > 1));
    };
    packs_input = must_pack(in, input_positions(p), c.read_format);
    packs_output = c.by_taps || must_pack(out, output_positions(p), c.written_format);
    const auto packed_channels = [&](int64_t given, bool by_taps) {
        return k.box_positions > 0 && !by_taps ? in_whole_sectors(given, values) : round_up(given, values);
    };
    input_channels = packs_input ? packed_channels(in, false) : in;
    output_channels = packs_output && !sums_as_it_lies(k) ? packed_channels(out, c.by_taps.has_value()) : out;
    input_elements = p.groups * input_channels * input_positions(p);
    output_elements = p.groups * output_channels * output_positions(p);
    const int64_t packed = (packs_input ? input_elements : 0) + (packs_output ? output_elements : 0);
    const int64_t given = c.by_taps ? c.by_taps->output_elements() / p.batch : 0;
    int64_t most = most_a_launch(p.batch, std::max({input_elements, output_elements, given}));
    if (packed > 0) most = std::min(most, std::clamp<int64_t>(max_packed / packed, 1, max_grid()));
    slices = ceil_divide(p.batch, most);
    images = ceil_divide(p.batch, slices);
    slices = ceil_divide(p.batch, images);
    // A window's rows have as many positions more as it has taps but one.
    const int64_t row = p.width().input, rows = input_positions(p) / row;
    cut_into_bands(p, k, sums_runs(k)    ? images * round_up(input_positions(p), k.box_positions)
                         : sums_boxes(k) ? images * rows * round_up(row, k.box_positions)
                                         : images * rows * (row + k.window - 1));
}

std::optional<Problem> in_one_row(const Problem &p) {
    Axis row;
    bool has_taps = false;  // the axes so far, the inner ones
    for (int i = max_rank - 1; i >= 0; i--) {
        const Axis &a = p.axes[i];
        if (has_taps && a.input > 1) return {};
        const int64_t inside = row.input;
        row.input *= a.input;
        if (a == Axis{.input = a.input}) continue;
        if (has_taps || a.stride > 1) return {};
        has_taps = true;
        row.kernel = a.kernel;
        row.padding = a.padding * inside, row.output_padding = a.output_padding * inside, row.dilation = a.dilation * inside;
    }
    Problem flat = p;
    flat.rank = 1;
    flat.axes = {Axis{}, Axis{}, row};
    return flat;
}

// Parts of the sum that lie together, of so many slices.
static std::string size_of_parts_rejection(const KernelTraits &k, const Problem &p, int64_t slices) {
    return packed_part_elements(p, k) > max_elements_32bit() / slices
               ? "the parts of the sum have more elements than 32 bits count" : "";
}

std::string packed_parts_rejection(const KernelTraits &k, const Problem &p) {
    const std::string reason = packed_pictures_rejection(k, p);
    return reason.empty() ? size_of_parts_rejection(k, p, PackedPictureParts(p, k, PackedPictures(p)).slices) : reason;
}

std::string channels_last_rejection(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    if (p.batch == 0) return "batch is 0";
    if (p.groups > max_grid()) return "there are more than 65535 groups";
    const auto lies_apart = [](TensorFormat format, int64_t channels, int64_t positions) {
        return channels_innermost(format) && channels > 1 && positions > 1;
    };
    if (sums_as_it_lies(k) && (lies_apart(c.read_format, p.in_channels, input_positions(p)) ||
                               lies_apart(c.written_format, p.out_channels, output_positions(p))))
        return "it reads channels_first as it lies";
    constexpr int64_t filled_up = 16;
    const double in = double(round_up(p.in_channels / p.groups, filled_up)) * p.groups * input_positions(p);
    const double out = double(round_up(p.out_channels / p.groups, filled_up)) * p.groups * output_positions(p);
    if (std::max({in, out, 2.0 * packed_part_elements(p, k)}) > max_elements_32bit())
        return "an image or the weights have more elements than 32 bits count";
    if (k.writes_result && taps(p) % k.tile_taps != 0)
        return "the number of kernel positions is no multiple of " + std::to_string(k.tile_taps);
    if (k.vectors_of_channels) {
        const ChannelsLastParts given(c, k);
        if (given.packs_input || given.packs_output) return "it reads channels_last as it lies";
    }
    // Where both tensors are packed there are the most slices.
    Computation packed = c;
    packed.read_format = packed.written_format = {};
    const ChannelsLastParts parts(packed, k);
    if (turns_result(k, c)) {
        constexpr int64_t shared_bytes = 48 << 10, spare_words = 1, word = 4;
        if ((turned_channels(p) + spare_words) * taps(p) * word > shared_bytes || p.in_channels / p.groups > max_grid())
            return "its weights are too many to be turned";
    }
    if (k.writes_result && parts.slices > 1) return "the sum has more than one part";
    return size_of_parts_rejection(k, p, parts.slices);
}

}  // namespace conv_transpose
