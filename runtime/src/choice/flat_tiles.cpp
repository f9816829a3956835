// Tiles of flat matrix products: see flat_tiles.h.
#include "choice/flat_tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "choice/flat_extent.h"
#include "choice/flat_phases.h"
#include "choice/launch_limits.h"
#include "device/machine.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// So many tasks are made for several threads, if there is enough to compute.
constexpr int64_t several = 8;

// A tile of Winograd's algorithm has so many places at most, if its rows do.
constexpr int64_t most_of_winograd = 768;

// Larger tiles are taken where they cost so much less.
constexpr double less = 0.98;

// Cuts a problem for a kernel: along x into segments, these into tiles of some rows, and panels into blocks.
class Cut {
  public:
    Cut(const KernelTraits &k, const Problem &p, bool shared)
        : k_(k), p_(p), tasks_(shared ? several : 1), channels_(k, p),
          forward_(k.operation == Operation::forward), x_(extent(p.width(), k.winograd_cells.width)),
          y_(extent(p.height(), k.winograd_cells.height)), z_(extent(p.depth(), 0)), seen_rows_(y_.reach() + z_.reach() * y_.pitch),
          image_rows_(double(y_.pitch * z_.pitch)), channel_entries_(k.phase_lanes > 0 ? phases_of(p) : taps(p)),
          entries_(channels_.computed * channel_entries_) {}

    FlatTiles tiles() {
        FlatTiles t;
        want_places();
        cut_segments(t);
        cut_panels(t);
        count(t);
        return t;
    }

  private:
    const KernelTraits &k_;
    const Problem &p_;
    const int64_t tasks_;
    const FlatChannels channels_;
    const bool forward_;
    const FlatExtent x_, y_, z_;
    const int64_t seen_rows_;  ///< beyond a tile's own
    const double image_rows_;
    const int64_t channel_entries_, entries_;  ///< all taps of a position, or phases of a place: of a channel, of all

    const Size2 tile_{std::max<int64_t>(k_.winograd_cells.height, 1), std::max<int64_t>(k_.winograd_cells.width, 1)};

    int64_t least_ = 192, wanted_ = 0;  ///< places of a tile
    int64_t segments_ = 0, row_cells_ = 0, pitch_ = 0, all_rows_ = 0;

    bool is_winograd() const { return k_.winograd_cells != Size2{}; }
    bool computes_entries() const { return k_.computes_taps || k_.phase_lanes > 0; }
    FlatExtent extent(const Axis &a, int64_t tile) const {
        if (k_.phase_lanes > 0) return {a, forward_, 1};
        return tile > 0 ? FlatExtent(a, forward_, tile) : FlatExtent(a, forward_);
    }

    // What is copied of the picture, and the results of a panel, stay in the second cache, beside weights (with 512 and 256 KB of
    // 512 layers took 1.09 times as long, ten on average; EPYC, 2026-11-23).
    void want_places() {
        // Rows that several tiles see are transformed for each: 1.1 to 1.6 times as fast as with 192 (13 layers, EPYC, 2026-11-23).
        if (tile_.height > 1) least_ = most_of_winograd;
        const double second_cache = static_cast<double>(second_cache_floats()), result_floats = second_cache / 8;
        double copied_floats = second_cache / (is_winograd() ? 2 : 4);
        const int64_t phases = forward_ ? phases_of(p_.width()) * live_phases_of_rows(p_, vector_of(k_)) : 1;
        double results = k_.phase_lanes > 0 ? double(entries_) : double(phases) * k_.weight_channel_multiple;
        // The picture is read once, and its products with all taps stay in the second cache; but what two tiles see is multiplied
        // for both.
        if (k_.computes_taps) {
            copied_floats = 2 * second_cache, results += double(entries_) / 2;
            least_ = std::clamp<int64_t>(3 * x_.pitch * seen_rows_, 512, 4096);
        }
        // Results of short sums are stored in longer runs than with 1024: input gradients of k4 s2, 64 to one channel of 256x256,
        // take 0.85 of the time, of k2 s2, 24 to one of 368x368, 0.78; 640 to four, 32 of 14x24, 1.1 (EPYC, 2026-11-29).
        const int64_t most = is_winograd() ? 1024 : 4096;
        wanted_ = std::clamp(static_cast<int64_t>(std::min(copied_floats / summed(), result_floats / results)), least_, most);
    }

    int64_t results(const Axis &a) const { return forward_ ? a.output() : a.input; }

    // So many elements of a place are copied together.
    double summed() const {
        double channels = k_.packs_groups ? double(k_.weight_channel_multiple) : channels_.summed;
        if (is_winograd()) channels *= double(area(k_.winograd_points)) / double(area(tile_));
        return channels * product_of_axes(p_, [&](const Axis &a) { return forward_ ? 1 : std::min(a.stride, a.kernel); });
    }

    // Where taps see several rows, tiles of some rows copy fewer of them twice; products with all taps read whole rows, which lie
    // side by side. Fewer segments, which are wider, are taken where they compute less; so are those that fill register tiles: k7
    // s2 64 to 3, 512x512, 0.86 to 0.93 of the time, Winograd's k3 64 to 64 256x256 0.95 (EPYC, 2026-11-24).
    void cut_segments(FlatTiles &t) {
        constexpr int64_t times_wider = 4, fewer = 4;
        const bool sees_rows = y_.reach() + z_.reach() > 0 && !k_.packs_groups && !k_.computes_taps;
        const int64_t widest = sees_rows ? std::max<int64_t>(wanted_ / 8, 128) : wanted_;
        const int64_t most = ceil_divide(x_.cells, widest + widest / 4);
        const int64_t least = std::max(ceil_divide(most, times_wider), most - fewer);
        const int64_t beyond = tile_.width > 1 ? x_.reach() : 0, whole = k_.tile_places * tile_.width;
        int64_t best = 0;
        double least_cost = 0;
        for (int64_t segments = most; segments >= least; segments--) {
            // A segment has a cell more, since it may begin within one.
            const int64_t cells = ceil_divide(x_.cells, segments) + 1;
            for (const int64_t width : {cells, round_up(cells + beyond, whole) - beyond}) {
                const double cost = cut_along_x(t, width - 1);
                if (best == 0 || cost < less * least_cost) best = width - 1, least_cost = cost;
            }
        }
        cut_along_x(t, best);
    }

    // What tiles of segments of so many cells cost.
    double cut_along_x(FlatTiles &t, int64_t cells) {
        const bool whole = cells >= x_.cells;
        segments_ = whole ? 1 : ceil_divide(x_.cells, cells);
        t.segment_cells = whole ? x_.cells : cells;
        row_cells_ = whole ? x_.cells : cells + 1;
        pitch_ = whole ? x_.pitch : round_up(row_cells_ + x_.reach(), tile_.width);
        return cut_rows(t) * double(segments_);
    }

    // Register tiles are whole; and rows that taps see beyond a tile's own are copied again.
    double cut_rows(FlatTiles &t) {
        t.rows = double(p_.batch) * y_.pitch * z_.pitch;
        all_rows_ = static_cast<int64_t>(std::min(t.rows, double(max_elements_32bit())));
        const int64_t a_share = std::max(ceil_divide(all_rows_ * segments_, tasks_), ceil_divide(least_, pitch_));
        const int64_t most = std::clamp<int64_t>(std::min(wanted_ / pitch_, a_share), 1, std::max<int64_t>(all_rows_, 1));
        const int64_t unit = rows_stored_together(most);
        const auto cost_of = [&](int64_t n) {
            return of_all(n, [&](int64_t rows) { return computed(t, rows); }) +
                   0.1 * of_all(n, [&](int64_t rows) { return copied(rows); });
        };
        double least_cost = 0;
        t.tile_rows = 0;
        const int64_t first = std::max(most / unit, int64_t{1}) * unit;
        for (int64_t n = first; n > std::max<int64_t>(most / 2, most - 64) || t.tile_rows == 0; n -= unit) {
            const double cost = cost_of(n);
            if (t.tile_rows == 0 || cost < least_cost) t.tile_rows = n, least_cost = cost;
        }
        // Register tiles of Winograd's tiles that are not full cost more than what no longer stays in the cache (ten layers of one
        // axis, with half of the cache for copies, 0.94 of the time; of eight rows of 90 that all fit 1.18 times; EPYC,
        // 2026-11-24).
        for (int64_t n = first + unit; is_winograd() && n * pitch_ <= most_of_winograd && n <= all_rows_; n += unit) {
            const double cost = cost_of(n);
            if (cost < less * least_cost) t.tile_rows = n, least_cost = cost;
        }
        return least_cost;
    }

    // Results of whole images or planes that are turned are stored together, which is worth tiles of some more rows where rows are
    // short.
    int64_t rows_stored_together(int64_t most) const {
        constexpr int64_t worth = 2;
        if (!k_.turns_channels || results(p_.width()) >= vector_of(k_)) return tile_.height;
        if (image_rows_ <= double(most)) return static_cast<int64_t>(image_rows_);
        return y_.pitch <= worth * most ? y_.pitch : 1;
    }

    // Each block of panels copies for itself: as many as make enough tasks.
    void cut_panels(FlatTiles &t) {
        const int64_t panels = ceil_divide(channels_.computed, k_.weight_channel_multiple);
        const double tasks = double(ceil_divide(all_rows_, t.tile_rows)) * double(segments_) * double(channels_.groups);
        const double wanted = computes_entries()
                                  ? double(entries_) * computed(t, t.tile_rows) / static_cast<double>(second_cache_floats())
                                  : double(tasks_) / tasks;
        t.blocks = std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, panels);
        t.block_panels = ceil_divide(panels, t.blocks);
        // A block's entries fill register tiles.
        const int64_t lanes = k_.phase_lanes > 0 ? k_.phase_lanes : tile_entries(k_);
        const int64_t filling = lanes / std::gcd(lanes, channel_entries_);
        if (computes_entries() && t.blocks > 1 && t.block_panels > filling) t.block_panels -= t.block_panels % filling;
        t.blocks = ceil_divide(panels, t.block_panels);
    }

    void count(FlatTiles &t) const {
        const double segments = double(segments_);
        t.computed = of_all(t.tile_rows, [&](int64_t n) { return computed(t, n); }) * segments;
        t.copied = of_all(t.tile_rows, [&](int64_t n) { return copied(n); }) * segments;
        t.stored_cells = of_all(t.tile_rows, [&](int64_t n) { return double(n * t.segment_cells); }) * segments;
        t.run_results = run_results(t);
        t.stored_rows = of_all(t.tile_rows, [](int64_t n) { return double(n); }) * segments;
        t.copied_floats = copied(t.tile_rows) * summed();
        t.seen_share = seen(t);
        t.phase_products = k_.phase_lanes > 0 ? double(t.blocks) * products_of_phases(k_, p_, t.block_panels) : 0;
    }

    // A register tile's cells are of one place in each of a tile's images, or so many neighbours.
    double seen(const FlatTiles &t) const {
        if (!k_.only_cells || k_.joined_terms) return 1;
        const double images = t.tile_rows % (y_.pitch * z_.pitch) == 0 ? double(t.tile_rows) / image_rows_ : 1;
        const double along_x = std::max(double(k_.tile_places) / std::min(images, double(p_.batch)), 1.0);
        const double along_y = 1 + (along_x - 1) / double(row_cells_), along_z = 1 + (along_y - 1) / double(y_.cells);
        constexpr double least = 0.01;  // taps that see nothing are passed by
        return std::max(seen_share(p_.width(), x_.cells, along_x) * seen_share(p_.height(), y_.cells, along_y) *
                            seen_share(p_.depth(), z_.cells, along_z), least);
    }

    int64_t run_results(const FlatTiles &t) const {
        const Axis &x = p_.width();
        const int64_t row = forward_ ? std::min(t.segment_cells * x.stride, results(x)) : t.segment_cells;
        if (!k_.turns_channels || segments_ > 1 || t.tile_rows % y_.pitch != 0) return row;
        const int64_t plane = row * results(p_.height()), vector = vector_of(k_);
        if (!forward_ || live_phases_of_rows(p_, vector) == phases_of(p_.height()) * phases_of(p_.depth()))
            return t.tile_rows % (y_.pitch * z_.pitch) == 0 ? plane * results(p_.depth()) : plane;
        return row < vector ? plane : row;
    }

    template <class OfRows>
    double of_all(int64_t n, OfRows of_rows) const {
        return double(all_rows_ / n) * of_rows(n) + of_rows(all_rows_ % n);
    }

    // Places of a tile of so many rows.
    double copied(int64_t n) const { return n == 0 ? 0.0 : double((n + seen_rows_) * pitch_); }
    double computed(const FlatTiles &t, int64_t n) const {
        if (n == 0) return 0.0;
        if (is_winograd())
            return double(round_up(ceil_divide(n, tile_.height) * (pitch_ / tile_.width), k_.tile_places) * area(tile_));
        const double all = k_.only_cells      ? std::ceil(double(n) * real_cells(t))
                           : k_.computes_taps ? positions(n)
                                              : double((n - 1) * pitch_ + row_cells_);
        return double(round_up(static_cast<int64_t>(all), k_.tile_places));
    }
    // How many cells of a row are computed, on average.
    double real_cells(const FlatTiles &t) const { return double(y_.cells * z_.cells * t.segment_cells) / image_rows_; }
    // How many positions of the picture, without gaps, the taps of so many rows see.
    double positions(int64_t n) const {
        const double rows = std::min(double(n + seen_rows_) / image_rows_, double(p_.batch)) * double(y_.seen * z_.seen);
        return std::ceil(rows) * double(std::min(x_.seen, row_cells_ + x_.reach()));
    }
};

}  // namespace

FlatTiles flat_tiles(const KernelTraits &k, const Problem &p, bool shared) { return Cut(k, p, shared).tiles(); }

}  // namespace conv_transpose
