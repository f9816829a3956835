// Tiles of flat matrix products: see flat_tiles.h.
#include "choice/flat_tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "choice/launch_limits.h"
#include "device/machine.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// Cells of an axis, as algorithm/flat_places.h counts them.
struct Extent {
    int64_t cells, low, high, pitch, seen;  // the last of those that have data

    int64_t reach() const { return high - low; }
};

int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Extent extent_of(const Axis &a, bool forward) {
    Extent e;
    int64_t first, last;  // that have data
    if (forward) {
        const int64_t phase = a.padding % a.stride, phases = std::min(a.stride, a.output());
        e.cells = ceil_divide(a.output(), a.stride);
        e.low = -floor_divide((a.kernel - 1) * a.dilation - phase, a.stride), e.high = (phases - 1 + phase) / a.stride;
        first = -(a.padding / a.stride), last = first + a.input - 1;
    } else {
        e.cells = a.input;
        e.low = 0, e.high = (a.kernel - 1) * a.dilation / a.stride;
        first = a.padding / a.stride, last = (a.padding + a.output() - 1) / a.stride;
    }
    e.seen = std::max<int64_t>(std::min(last + 1, e.cells + e.high) - std::max(first, e.low), 0);
    e.pitch = std::max({e.cells + e.high - std::max(first, e.low), std::min(last + 1, e.cells + e.high) - e.low, e.cells});
    return e;
}

int64_t vector_of(const KernelTraits &k) { return k.cpu_level == CpuLevel::avx512 ? 16 : k.cpu_level == CpuLevel::avx2 ? 8 : 4; }

// Whether a register tile reads an operand for each of its sums, and one more, which the caches then deliver too slowly where
// layers are not small: the rate of such kernels was measured on those (fitted to 168 layers, Xeon with AVX-512, 2026-11-23).
bool has_one_vector(const KernelTraits &k) {
    const bool channels_in_vectors = k.any_layout || k.turns_channels;
    return !k.packs_groups && (channels_in_vectors ? k.weight_channel_multiple : k.tile_places) == vector_of(k);
}

// What packing takes of each weight of an input gradient, in panels and in tiles of channels.
constexpr double panel_packing = 0.84, tile_packing = 0.28;

}  // namespace

FlatTiles::FlatTiles(const KernelTraits &k, const Problem &p, TensorFormat read, TensorFormat written) {
    const bool forward = k.operation == Operation::forward;
    const Extent x = extent_of(p.width(), forward), y = extent_of(p.height(), forward), z = extent_of(p.depth(), forward);
    const auto phases_of = [&](const Axis &a) { return forward ? std::min(a.stride, a.output()) : 1; };
    const auto planes_of = [&](const Axis &a) { return forward ? 1 : std::min(a.stride, a.kernel); };
    const FlatChannels channels(k, p);
    // So many are copied together.
    const double copied_channels = k.packs_groups ? double(k.weight_channel_multiple) : channels.summed;
    const double summed = copied_channels * product_of_axes(p, planes_of);
    double results = double(product_of_axes(p, phases_of)) * k.weight_channel_multiple;
    // What is copied of the picture, and the results of a panel, stay in the second cache, beside weights (with 512 and 256 KB of
    // 512 layers took 1.09 times as long, ten on average; EPYC, 2026-11-23).
    const double second_cache = static_cast<double>(second_cache_floats()), result_floats = second_cache / 8;
    double copied_floats = second_cache / 4;
    constexpr int64_t several = 8;
    int64_t least = 192;
    // The picture is read once, and its products with all taps stay in the second cache; but what two tiles see is multiplied
    // for both.
    const int64_t entries = channels.computed * taps(p);
    if (k.computes_taps) {
        copied_floats = 2 * second_cache, results += double(entries) / 2;
        least = std::clamp<int64_t>(3 * x.pitch * (y.reach() + z.reach() * y.pitch), 512, 4096);
    }
    const int64_t most = k.packs_groups || k.computes_taps ? 4096 : 1024;
    const int64_t wanted =
        std::clamp(static_cast<int64_t>(std::min(copied_floats / summed, result_floats / results)), least, most);

    // Where taps see several rows, tiles of some rows copy fewer of them twice.
    const bool sees_rows = y.reach() + z.reach() > 0 && !k.packs_groups;
    const int64_t widest = sees_rows ? std::max<int64_t>(wanted / 8, 128) : wanted;
    const int64_t segments = ceil_divide(x.cells, widest + widest / 4);
    // A segment has a cell more, since it may begin within one; with that it fills register tiles.
    const int64_t in_segment = round_up(ceil_divide(x.cells, segments) + 1, k.tile_places);
    segment_cells = segments == 1 ? x.cells : in_segment - 1;
    const int64_t row_cells = segments == 1 ? x.cells : in_segment;
    const int64_t pitch = segments == 1 ? x.pitch : row_cells + x.reach();
    rows = double(p.batch) * y.pitch * z.pitch;
    const int64_t all_rows = static_cast<int64_t>(std::min(rows, double(max_elements_32bit())));
    const int64_t a_share = std::max(ceil_divide(all_rows * segments, several), ceil_divide(least, pitch));
    const int64_t most_rows = std::clamp<int64_t>(std::min(wanted / pitch, a_share), 1, std::max<int64_t>(all_rows, 1));
    // Register tiles are whole; and rows that taps see beyond a tile's own are copied again.
    const int64_t seen_rows = y.reach() + z.reach() * y.pitch;
    const double image_rows = double(y.pitch * z.pitch), cells_of_places = double(y.cells * z.cells * segment_cells) / image_rows;
    const double images = double(p.batch), dense = double(y.seen * z.seen);
    const auto positions_for = [&](int64_t n) {
        const double of_rows = std::min(double(n + seen_rows) / image_rows, images) * dense;
        return std::ceil(of_rows) * double(std::min(x.seen, row_cells + x.reach()));
    };
    const auto computed = [&](int64_t n) {
        if (n == 0) return 0.0;
        const double all = k.only_cells ? std::ceil(double(n) * cells_of_places)
                           : k.computes_taps ? positions_for(n)
                                             : double((n - 1) * pitch + row_cells);
        return double(round_up(static_cast<int64_t>(all), k.tile_places));
    };
    const auto copied_for = [&](int64_t n) { return n == 0 ? 0.0 : double((n + seen_rows) * pitch); };
    const auto of_all = [&](int64_t n, auto of_tile) { return double(all_rows / n) * of_tile(n) + of_tile(all_rows % n); };
    double least_cost = 0;
    tile_rows = 0;
    // Cells of whole images are stored together, however short rows are.
    const int64_t unit = k.only_cells && x.cells < vector_of(k) && image_rows <= most_rows ? image_rows : 1;
    for (int64_t n = most_rows / unit * unit; n > std::max<int64_t>(most_rows / 2, most_rows - 64) || tile_rows == 0; n -= unit) {
        const double cost = of_all(n, computed) + 0.1 * of_all(n, copied_for);
        if (tile_rows == 0 || cost < least_cost) tile_rows = n, least_cost = cost;
    }
    // Each block of panels copies for itself: as many as make enough tasks.
    const int64_t panels = ceil_divide(channels.computed, k.weight_channel_multiple);
    const double tasks = double(ceil_divide(all_rows, tile_rows)) * double(segments) * double(channels.groups);
    const double wanted_blocks = k.computes_taps ? double(entries) * computed(tile_rows) / second_cache : several / tasks;
    const int64_t blocks = std::clamp<int64_t>(static_cast<int64_t>(wanted_blocks), 1, panels);
    block_panels = ceil_divide(panels, blocks);
    // A block's entries fill register tiles.
    const int64_t tile_entries = k.cpu_level == CpuLevel::avx2 ? 6 : 8, filling = tile_entries / std::gcd(tile_entries, taps(p));
    if (k.computes_taps && blocks > 1 && block_panels > filling) block_panels -= block_panels % filling;
    // A register tile's operands in rows, of many channels, do not stay in the first cache.
    const bool on_avx2 = forward && k.cpu_level == CpuLevel::avx2 && !k.packs_groups && !k.any_layout;
    const double most_near = on_avx2 ? 8000 : 20000;
    constexpr double far = 0.9;
    const bool in_rows = !k.computes_taps && !k.any_layout && !k.turns_channels;
    const bool gradient = !forward && k.cpu_level == CpuLevel::avx2 && !k.packs_groups;
    const bool is_far = in_rows && !gradient && double(k.tile_places) * channels.summed > most_near;
    const double rate = double(k.fma_percent) * (is_far ? far : 1) * (forward && has_one_vector(k) ? 0.88 : 1);
    // Where groups are channels, the time is a group's share.
    const double share = k.packs_groups ? 1 / double(p.groups) : 1;
    // Entries of whole register tiles, each of which is added once.
    constexpr double adding = 4;
    const double of_entries = double(round_up(entries, tile_entries)) + double(entries) * adding / channels.summed;
    const double computed_channels = k.computes_taps ? of_entries / double(taps(p)) : double(panels * k.weight_channel_multiple);
    relative_time = of_all(tile_rows, computed) * double(segments) * computed_channels * share / rate;

    // Elements that are copied and stored take so many products' time: scattered one by one, or as vectors along rows. Channels
    // of a picture of one pixel are neighbours in any layout.
    const auto is_apart = [](TensorFormat f, int64_t positions) { return !channels_innermost(f) && positions > 1; };
    const bool reads_apart = is_apart(read, forward ? input_positions(p) : output_positions(p)),
               writes_apart = is_apart(written, forward ? output_positions(p) : input_positions(p));
    const bool reads_strided = !forward && x.cells > 1 && p.width().stride > 1;
    // With AVX2 a product takes longer beside them (fitted to 228 layers: 2 % more than the fastest kernel of each takes, at the
    // mean; EPYC, 2026-11-23). Depthwise problems were fitted anew when turning became shuffles.
    const bool turns_copies = k.turns_channels && !k.joined_terms;
    double read_time = 0;
    if (on_avx2) read_time = k.turns_channels ? 19 : 17;
    else if (k.turns_channels) read_time = gradient ? (turns_copies ? 20 : 15) : k.packs_groups ? 90 : 130;
    else if (k.any_layout) read_time = !reads_apart ? 0 : k.packs_groups ? 300 : 50;
    else if (reads_strided) read_time = gradient ? 40 : k.packs_groups ? 130 : 0;
    else if (gradient) read_time = 7;
    // Input gradients, fitted to 137 layers (1 % more than the fastest kernel of each takes, at the mean; EPYC with AVX2,
    // 2026-11-23): where copies are turned, a tap's sum over few channels ends before it is fast, and whole vectors of channels are
    // turned; else operands of many channels come from as many lines; and pictures that do not stay in the second cache are read
    // for each panel.
    if (gradient) {
        const double begins = 2.7, near = 8, beyond = k.turns_channels ? 0.4 : 0.1;
        relative_time *= turns_copies ? (channels.summed + begins) / channels.summed
                                      : 1 + beyond * std::max(0.0, 1 - near / channels.summed);
        if (copied_for(tile_rows) * summed > 4 * second_cache) relative_time *= 1.5;
        if (turns_copies) read_time *= double(round_up(static_cast<int64_t>(channels.summed), vector_of(k))) / channels.summed;
    }
    const double vectors = double(round_up(segment_cells, 16)) / double(segment_cells);
    // Phases of larger strides are put side by side one by one (fitted to 168 layers, Xeon with AVX-512, 2026-11-23).
    const double turned_time = forward && p.width().stride > 8 ? 160 : forward ? 70 : 40;
    const double written_time = on_avx2         ? (k.turns_channels ? 63 : 25)
                                : !k.any_layout ? (k.turns_channels ? turned_time : gradient ? 40 : 50) * vectors
                                : writes_apart  ? 400
                                                : 0;
    const double copied = of_all(tile_rows, copied_for) * double(segments) * double(product_of_axes(p, planes_of) * blocks);
    const double positions = of_all(tile_rows, [&](int64_t n) { return double(n * segment_cells); }) * double(segments);
    const double taps_of_phase = double(taps(p)) / double(product_of_axes(p, phases_of));
    relative_time += copied * read_time / double(taps(p)) / 100;
    relative_time += positions * double(channels.computed) * share * written_time / (channels.summed * taps_of_phase) / 100;
    if (on_avx2) {
        const double row_time = k.turns_channels ? 230 : 600, phases_of_rows = double(phases_of(p.height()) * phases_of(p.depth()));
        const double stored_rows = of_all(tile_rows, [](int64_t n) { return double(n); }) * double(segments) * phases_of_rows;
        relative_time += stored_rows * double(channels.computed) * row_time / (channels.summed * double(taps(p))) / 100;
    }
    if (gradient) relative_time += double(channels.computed) * panel_packing;
}

namespace {

// Register tiles of a vector of cells (fitted to 70 layers of five kernels, EPYC, 2026-11-23).
double time_of_tiles(const KernelTraits &k, const Problem &p) {
    constexpr double element_time = 17;  // that is copied, or stored
    constexpr int64_t block_channels = 128;
    const double cells = double(p.batch) * double(ceil_divide(p.height().output(), p.height().stride)) *
                         double(round_up(ceil_divide(p.width().output(), p.width().stride), vector_of(k)));
    const int64_t out = p.out_channels / p.groups;
    const double computed = cells * double(round_up(out, k.weight_channel_multiple));
    const double phases = double(p.height().stride * p.width().stride), summed = double(p.in_channels / p.groups);
    const double copied = cells * double(ceil_divide(out, block_channels)), stored = computed * phases / summed;
    return computed / double(k.fma_percent) + (copied + stored) * element_time / double(taps(p)) / 100;
}

// Products, of whole columns and channels; for each block weights that come from the second cache; the stores; and packing (fitted
// to 70 layers, EPYC with AVX2, 2026-11-23).
double time_of_channels(const KernelTraits &k, const Problem &p) {
    constexpr double of_block = 0.2, stored = 0.6;
    const int64_t height = p.height().input, width = p.width().input, in = p.in_channels / p.groups;
    const double blocks = double(ceil_divide(height, k.block_positions.height) * ceil_divide(width, k.block_positions.width));
    const double products = double(height * round_up(width, k.tile_places)) / double(k.fma_percent) + blocks * of_block;
    const double terms = double(p.out_channels / p.groups) * double(taps(p));
    return double(p.batch) * (products * double(round_up(in, k.weight_channel_multiple)) +
                              double(height * width * in) * stored / terms) +
           double(in) * tile_packing;
}

}  // namespace

double relative_time(const KernelTraits &k, const Problem &p, TensorFormat read, TensorFormat written) {
    if (is_flat(k)) return FlatTiles(k, p, read, written).relative_time;
    return k.operation == Operation::forward ? time_of_tiles(k, p) : time_of_channels(k, p);
}

namespace {

// Rows that taps of neighbouring rows see: a run of them, and another for each plane that they reach, if that is further.
double rows_seen_by(int64_t rows, const Extent &y, const Extent &z) {
    const int64_t run = rows + y.reach();
    return double(run) + double(z.reach()) * double(std::min(run, y.pitch));
}

}  // namespace

FlatGradientTiles::FlatGradientTiles(const KernelTraits &k, const Problem &p, int64_t images, bool channels_inside) {
    const Extent x = extent_of(p.width(), false), y = extent_of(p.height(), false), z = extent_of(p.depth(), false);
    // Rows are copied as they lie.
    const int64_t planes =
        product_of_axes(p, [&](const Axis &a) { return &a == &p.width() ? a.stride : std::min(a.stride, a.kernel); });
    // Where groups are the channels, a task has one panel, and all taps are what a panel computes.
    const int64_t groups = k.packs_groups ? 1 : p.groups;
    // About as many each.
    const auto block = [](int64_t all, int64_t most) {
        const int64_t of_block = ceil_divide(all, ceil_divide(all, most));
        return std::pair{of_block, ceil_divide(all, of_block)};
    };
    const int64_t out_channels = p.out_channels / p.groups;
    const auto [outputs, out_blocks] = block(out_channels, channels_inside ? out_channels : 108);
    // The output gradient is copied for each block of input channels: where few taps see an element of it, those are large, but
    // so that their sums stay in the second cache.
    constexpr int64_t sums = 192 << 10, least_inputs = 160;
    const int64_t worth_a_copy = least_inputs * std::max<int64_t>(4 * planes / taps(p), 1);
    const int64_t most_inputs = std::max(std::min(worth_a_copy, sums / (outputs * taps(p))), least_inputs);
    const auto [inputs, in_blocks] = block(ceil_divide(p.in_channels / groups, k.tile_in_channels),
                                           k.packs_groups ? 1 : std::max<int64_t>(most_inputs / k.tile_in_channels, 1));
    block_inputs = inputs, block_outputs = outputs;

    // What is copied stays in the second cache.
    constexpr int64_t copied_floats = 96 << 10, least = 64, most = 1024;
    const int64_t lanes = inputs * k.tile_in_channels, seen = (k.packs_groups ? lanes : outputs) * planes;
    const int64_t wanted = std::clamp(copied_floats / (lanes + seen), least, most);
    int64_t segments = ceil_divide(x.cells, wanted + wanted / 4);
    segment_cells = ceil_divide(x.cells, segments);
    const int64_t pitch = segments == 1 ? x.pitch : segment_cells + 1 + x.reach();
    rows = double(images) * y.pitch * z.pitch;
    const int64_t all_rows = static_cast<int64_t>(std::min(rows, double(max_elements_32bit())));
    // Tiles of many rows copy fewer of them twice, and their products begin less often (cycles of a core with AVX2, which half and
    // twice as much changed by less than 1 %, at the mean of 28 layers; EPYC, 2026-11-23).
    constexpr double begins = 10, from_third_cache = 1.1;
    const double products = double(lanes * (k.packs_groups ? 2 : outputs)) * double(taps(p)) / 16;
    double least_time = 0;
    tile_rows = 1;
    for (int64_t n = 1; n <= std::min(most / pitch, all_rows); n++) {
        const double of_rows = double(n), copied = rows_seen_by(n, y, z) * double(seen);
        const bool stays = double(pitch) * (of_rows * double(lanes) + copied) <= copied_floats;
        const double begun = 1 + begins / (of_rows * double(x.cells));
        const double time = products * begun * (stays ? 1 : from_third_cache) + copied / of_rows;
        if (n == 1 || time < least_time) tile_rows = n, least_time = time;
    }
    if (all_rows > 0) tile_rows = ceil_divide(all_rows, ceil_divide(all_rows, tile_rows));  // of about as many

    // Parts make tasks, and each of them writes all weights.
    constexpr int64_t wanted_tasks = 4, positions_worth_a_part = 512, most_part_floats = int64_t{16} << 20;
    const int64_t tiles = ceil_divide(all_rows, tile_rows), tasks = in_blocks * out_blocks * groups;
    segments = ceil_divide(x.cells, segment_cells);
    const int64_t wanted_parts =
        std::min({ceil_divide(wanted_tasks, tasks), images * input_positions(p) / positions_worth_a_part,
                  most_part_floats / std::max<int64_t>(p.weight_elements(), 1)});
    part_tiles = ceil_divide(tiles, std::clamp<int64_t>(wanted_parts, 1, tiles));
    const int64_t of_tiles = ceil_divide(tiles, part_tiles);
    part_segments = ceil_divide(segments, std::clamp<int64_t>(wanted_parts / of_tiles, 1, segments));
    parts = of_tiles * ceil_divide(segments, part_segments);
}

}  // namespace conv_transpose
