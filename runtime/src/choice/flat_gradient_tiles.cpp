// Tiles of weight gradients: see flat_gradient_tiles.h.
#include "choice/flat_gradient_tiles.h"

#include <algorithm>

#include "choice/flat_extent.h"
#include "choice/launch_limits.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// Rows that taps of neighbouring rows see: a run of them, and another for each plane that they reach, if that is further.
double rows_seen_by(int64_t rows, const FlatExtent &y, const FlatExtent &z) {
    const int64_t run = rows + y.reach();
    return double(run) + double(z.reach()) * double(std::min(run, y.pitch));
}

// How many rows an image has, gaps included.
double row_pitch(const Problem &p) {
    return double(FlatExtent(p.height(), false).pitch) * double(FlatExtent(p.depth(), false).pitch);
}

// So many tasks are made, if there is enough to compute.
constexpr int64_t wanted_tasks = 4;

// The output gradient is copied for each block of input channels: where few taps see an element of it, those are large, but so
// that their sums stay in the second cache. Sums of several lanes are as many times larger, and long rows are copied faster, so
// that a block has no more input channels than it copies rows of the other picture.
int64_t most_inputs_of_block(const KernelTraits &k, const Problem &p, int64_t outputs, int64_t planes) {
    constexpr int64_t sums = 192 << 10, least = 160, least_of_lanes = 32;
    const int64_t of_sums = sums / (outputs * taps(p) * k.sum_lanes);
    if (k.sum_lanes > 1) return std::max(std::min(outputs * planes, of_sums), least_of_lanes);
    const int64_t worth_a_copy = least * std::max<int64_t>(4 * planes / taps(p), 1);
    return std::max(std::min(worth_a_copy, of_sums), least);
}

// How many of `all` a block has, at most so many; blocks have about as many each.
int64_t share_of_block(int64_t all, int64_t most) { return ceil_divide(all, ceil_divide(all, most)); }

}  // namespace

FlatGradientTiles::FlatGradientTiles(const KernelTraits &k, const Problem &p, int64_t images, bool channels_inside) {
    constexpr int64_t positions_worth_a_part = 512, most_part_floats = int64_t{16} << 20;
    const int64_t most_parts = std::min(images * input_positions(p) / positions_worth_a_part,
                                        most_part_floats / std::max<int64_t>(p.weight_elements(), 1));
    if (k.packs_groups && !k.any_layout) share_rows(p, images, most_parts);
    else if (k.min_channels_of_place) take_one_tile(k, p, images, channels_inside);
    else cut(k, p, images, channels_inside, most_parts);
}

// Pictures are read as they lie, by a task for each part, which has a share of the rows.
void FlatGradientTiles::share_rows(const Problem &p, int64_t images, int64_t most_parts) {
    constexpr int64_t most_tasks = 16;
    segment_cells = tile_rows = part_segments = part_tiles = block_inputs = block_outputs = 1;
    rows = double(images) * double(p.height().input) * double(p.depth().input);
    parts = std::clamp<int64_t>(most_parts, 1, most_tasks);
}

void FlatGradientTiles::cut(const KernelTraits &k, const Problem &p, int64_t images, bool channels_inside, int64_t most_parts) {
    const FlatExtent x(p.width(), false), y(p.height(), false), z(p.depth(), false);
    // Rows are copied as they lie, but where taps see runs of places.
    const bool by_matrices = k.cpu_level == CpuLevel::amx, sees_runs = by_matrices && !k.joins_row_taps;
    const int64_t planes = product_of_axes(
        p, [&](const Axis &a) { return &a == &p.width() && !sees_runs ? a.stride : std::min(a.stride, a.kernel); });
    // Where groups are the channels, a task has one panel, and all taps are what a panel computes.
    const int64_t groups = k.packs_groups ? 1 : p.groups;
    const int64_t out_channels = p.out_channels / p.groups;
    int64_t outputs = share_of_block(out_channels, channels_inside ? out_channels : 108);
    const int64_t most_inputs = most_inputs_of_block(k, p, outputs, planes);
    const int64_t panels = ceil_divide(p.in_channels / groups, k.tile_in_channels);
    int64_t inputs = share_of_block(panels, k.packs_groups ? 1 : std::max<int64_t>(most_inputs / k.tile_in_channels, 1));
    // Few places have no parts: smaller blocks make tasks, each of which copies the input, or the output gradient, for itself.
    const auto tasks_of = [&](int64_t block_inputs, int64_t block_outputs) {
        return ceil_divide(panels, block_inputs) * ceil_divide(out_channels, block_outputs) * groups;
    };
    constexpr int64_t least_entries = 192;
    const int64_t more = ceil_divide(wanted_tasks, tasks_of(inputs, outputs) * std::max<int64_t>(most_parts, 1));
    if (more > 1 && channels_inside) inputs = ceil_divide(inputs, more);
    else if (more > 1) outputs = share_of_block(outputs, std::max(ceil_divide(outputs, more), ceil_divide(least_entries, taps(p))));
    // Vectors of channels are turned.
    if (sees_runs && !channels_inside) outputs = round_up(outputs, vector_of(k));
    block_inputs = inputs, block_outputs = outputs;

    // What is copied stays in the second cache: for matrix instructions in two bytes, on processors that have a larger one.
    constexpr int64_t least = 64;
    const int64_t copied_floats = by_matrices ? 512 << 10 : 96 << 10;
    const int64_t most = by_matrices ? 2048 : k.sum_lanes > 1 ? 4096 : 1024;
    const int64_t lanes = inputs * k.tile_in_channels, seen = (k.packs_groups ? lanes : outputs) * planes;
    const int64_t wanted = std::clamp(copied_floats / (lanes + seen), least, most);
    segment_cells = share_of_block(x.cells, wanted + wanted / 4);
    const int64_t pitch = segment_cells == x.cells ? x.pitch : segment_cells + 1 + x.reach();
    rows = double(images) * y.pitch * z.pitch;
    const int64_t all_rows = static_cast<int64_t>(std::min(rows, double(max_elements_32bit())));
    // Tiles of many rows copy fewer of them twice, and their products begin less often (cycles of a core with AVX2, which half and
    // twice as much changed by less than 1 %, at the mean of 28 layers; EPYC, 2026-11-23).
    constexpr double begins = 10, from_third_cache = 1.1;
    const double products = double(lanes * (k.packs_groups ? 2 : outputs)) * double(taps(p)) / (by_matrices ? 512 : 16);
    double least_time = 0;
    tile_rows = 1;
    for (int64_t n = 1; n <= std::min(most / pitch, all_rows); n++) {
        const double of_rows = double(n), copied = rows_seen_by(n, y, z) * double(seen);
        const bool stays = double(pitch) * (of_rows * double(lanes) + copied) <= copied_floats;
        const double begun = 1 + begins / (of_rows * double(x.cells));
        const double time = products * begun * (stays ? 1 : from_third_cache) + copied / of_rows;
        if (n == 1 || time < least_time) tile_rows = n, least_time = time;
    }
    if (all_rows > 0) tile_rows = share_of_block(all_rows, tile_rows);
    cut_into_parts(ceil_divide(all_rows, tile_rows), ceil_divide(x.cells, segment_cells), tasks_of(inputs, outputs), most_parts);
}

// Parts make tasks, and each of them writes all weights.
void FlatGradientTiles::cut_into_parts(int64_t tiles, int64_t segments, int64_t tasks, int64_t most_parts) {
    const int64_t wanted_parts = std::min(ceil_divide(wanted_tasks, tasks), most_parts);
    part_tiles = ceil_divide(tiles, std::clamp<int64_t>(wanted_parts, 1, tiles));
    const int64_t of_tiles = ceil_divide(tiles, part_tiles);
    part_segments = ceil_divide(segments, std::clamp<int64_t>(wanted_parts / of_tiles, 1, segments));
    parts = of_tiles * ceil_divide(segments, part_segments);
}

// What taps see stays in the second cache, for all input channels.
void FlatGradientTiles::take_one_tile(const KernelTraits &k, const Problem &p, int64_t images, bool channels_inside) {
    constexpr double seen_floats = 32 << 10;
    const int64_t out_channels = p.out_channels / p.groups;
    rows = double(images) * row_pitch(p);
    segment_cells = p.width().input, tile_rows = std::max<int64_t>(static_cast<int64_t>(rows), 1);
    part_segments = part_tiles = parts = 1;
    block_inputs = ceil_divide(p.in_channels / p.groups, k.tile_in_channels), block_outputs = out_channels;
    if (channels_inside) return;
    const double of_channel = double(taps(p)) * double(tile_rows * segment_cells);
    const int64_t most =
        std::clamp<int64_t>(static_cast<int64_t>(seen_floats / of_channel), 1, ceil_divide(out_channels, wanted_tasks));
    // The last block, too, has a register tile.
    int64_t blocks = ceil_divide(out_channels, most);
    do block_outputs = ceil_divide(out_channels, blocks);
    while (--blocks > 0 && ((out_channels - 1) % block_outputs + 1) * taps(p) < k.tile_out_channels);
}

double gradient_places(const Problem &p) { return double(p.batch) * row_pitch(p) * double(p.width().input); }

}  // namespace conv_transpose
