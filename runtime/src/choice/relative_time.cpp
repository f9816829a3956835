// Estimates of time for CPU kernels: see relative_time.h. A unit is what all products of one result of a panel's channel take, at a
// rate of 100; elements that are copied and stored take so many products' time, in hundredths.
#include "choice/relative_time.h"

#include <algorithm>
#include <cmath>

#include "choice/flat_extent.h"
#include "choice/flat_tiles.h"
#include "device/machine.h"
#include "problem/counting.h"
#include "problem/layouts.h"

namespace conv_transpose {

namespace {

// What packing takes of each weight of an input gradient: in panels, and in panels of weights in the order in which they lie.
constexpr double panel_packing = 0.4, ordered_panel_packing = 0.35;

// What stays in the third cache, of which cores have a share.
constexpr double third_cache_floats = 2 << 20;

// A flat product's, with any instructions: rates alone differ. Forward operations were fitted to 228 layers with AVX2 (2 % more
// than the fastest kernel of each takes, at the mean), input gradients to 137 (1 %; EPYC, Zen 3, 2026-11-23); rates with AVX-512
// and depthwise problems to 85 and 51 layers (2.5 % and 3.6 %; with AVX2 2.6 % and 2.2 %; EPYC, Zen 4, 2026-11-27); stores of
// turned results of the forward operation to 66 with AVX-512 (0.8 %; the same, 2026-11-28), packing, joined terms and pictures of
// one pixel of input gradients to 102 (3.0 %, with AVX2 of 45 2.3 %; one thread's tiles, the same day), and since strided rows are
// read by shuffles, what is copied to 85 (3.8 %, AVX-512, 2026-11-29); places of any layout, kernels of one vector and joined terms
// of two to 72 in both layouts (4 % to 10 %, with the noise of one run; a Xeon, Sapphire Rapids, 2026-11-30). What has_avx2() has a
// part in was fitted to 91 layers in channels_first, networks' and drawn ones (forward 4.0 %, 5.8 % before, input gradients 3.7 %
// and 5.8 %; EPYC, Zen 3, 2026-11-30).
class FlatTime {
  public:
    FlatTime(const KernelTraits &k, const Problem &p, TensorFormat read, TensorFormat written, bool shared)
        : k_(k), p_(p), channels_(k, p), tiles_(flat_tiles(k, p, shared)), taps_(double(taps(p))),
          forward_(k.operation == Operation::forward),
          forward_product_(forward_ && !k.packs_groups && (!reads_as_given() || k.places_of_any_layout)),
          gradient_product_(!forward_ && !k.packs_groups),
          turns_copies_(k.turns_channels && !k.taps_innermost),
          reads_apart_(is_apart(read, forward_ ? input_positions(p) : output_positions(p))),
          writes_apart_(is_apart(written, forward_ ? output_positions(p) : input_positions(p))) {}

    double total() const {
        if (k_.winograd_cells != Size2{}) return by_winograd();
        double time = products() + sums_to_memory() + copied_panels() + filled_panels();
        if (gradient_product_) time *= begun_sums();
        else if (forward_product_ && turned_with_avx2()) time *= begun(channels_.summed);
        time += copies();
        const double results = stored_channels() * share();
        time += tiles_.stored_cells * results * stored_phases() / (channels_.summed * taps_) / 100;
        if (forward_product_) time += rows();
        if (gradient_product_) time += double(channels_.computed) * (k_.taps_innermost ? ordered_panel_packing : panel_packing);
        return time;
    }

  private:
    const KernelTraits &k_;
    const Problem &p_;
    const FlatChannels channels_;
    const FlatTiles tiles_;
    const double taps_;
    const bool forward_, forward_product_, gradient_product_, turns_copies_;
    const bool reads_apart_, writes_apart_;  ///< elements of the picture, and of the result

    // Channels of a picture of one pixel are neighbours in any layout.
    static bool is_apart(TensorFormat f, int64_t positions) { return !channels_innermost(f) && positions > 1; }

    int64_t phases() const { return forward_ ? phases_of(p_) : 1; }
    int64_t phases_of_rows() const { return forward_ ? phases_of(p_.height()) * phases_of(p_.depth()) : 1; }
    int64_t planes() const {
        return product_of_axes(p_, [&](const Axis &a) { return forward_ ? 1 : std::min(a.stride, a.kernel); });
    }
    // Where groups are channels, the time is a group's share.
    double share() const { return k_.packs_groups ? 1 / double(p_.groups) : 1; }

    // Products of points, each of whose weights a tile reads; both transforms; and stores (fitted to 46 layers: 7 % off, EPYC, one
    // thread, 2026-11-23). Input gradients transform what they have copied: by 34 layers with AVX2 and AVX-512, packing within
    // the time (EPYC, Zen 4, 2026-12-01).
    double by_winograd() const {
        constexpr double weight = 5, stored = 28, row = 1790, packed_point = 1;
        const double point = forward_ ? 15 : 8;
        const Axis &x = p_.width(), &y = p_.height();
        const double of_phases = products_of_phases(y, k_.winograd_points.height) * products_of_phases(x, k_.winograd_points.width);
        const double channels = double(round_up(channels_.computed, k_.weight_channel_multiple));
        const double winograd_tiles = tiles_.computed / double(area(k_.winograd_cells));
        const double points = winograd_tiles * double(area(k_.winograd_points));
        const double tasks = tile_count(), summed = channels_.summed;
        const double results = double(channels_.computed * phases()), read = double(planes());
        const double stored_phases = forward_ ? double(std::min(y.stride, y.output())) : 1;
        const double rows = tiles_.stored_rows * stored_phases * double(channels_.computed);
        const double of_inputs = double(tiles_.blocks) * read * point * from_memory();
        const double transforms = points * (of_inputs + results / summed * point_of_result());
        const double stores = (tiles_.stored_cells * results * stored + rows * row) / summed;
        const double weights = tasks * channels * of_phases * weight;
        const double packing = double(channels_.computed) * of_phases * packed_point;
        const double time = winograd_tiles * channels * of_phases / double(k_.fma_percent) + (weights + transforms + stores) / 100;
        return forward_ ? time / taps_ : (time + packing) / taps_ + copies();
    }

    // Products of a panel's phases that stay in no cache are written to memory and read (k64 s32, 21 to 21, 16x16, which are 19 MB,
    // took 1.8 to 2.2 times as long as other products, k48 s24 1.4 times; with 8 MB they take 0.9 of it; EPYC, 2026-11-24).
    double point_of_result() const {
        constexpr double near = 5, far = 100;
        const double of_panel = tiles_.copied_floats / channels_.summed * double(phases() * k_.weight_channel_multiple);
        return of_panel > third_cache_floats ? far : near;
    }

    // So many points have products, of all phases of a tile on an axis: those that lack the last tap have one fewer.
    double products_of_phases(const Axis &a, int64_t points) const {
        if (points == 1) return double(forward_ ? a.stride : std::min(a.kernel, a.stride));
        return double(points * a.stride - (round_up(a.kernel, a.stride) - a.kernel));
    }

    double products() const { return tiles_.computed * computed_channels() * share() * tiles_.seen_share * filled() / rate(); }

    // So many channels are summed for one that there is.
    double filled() const {
        const auto summed = static_cast<int64_t>(channels_.summed) * (k_.joins_row_taps ? p_.width().kernel : 1);
        return double(round_up(summed, k_.filled_multiple)) / double(summed);
    }

    // Tiles of sums leave their registers for memory before they are stored, in channels_first one element after the other where
    // they are not turned (384 to four channels, k12 s6, 8 of 4000: 37 ms, turned 13). This, and what copies and stores of such
    // kernels take, are fitted to twelve of each of 38 layers, forward operation and input gradient, both layouts: what is chosen
    // takes 1.04 to 1.07 of the fastest's time (Sapphire Rapids, 2026-11-29).
    double sums_to_memory() const {
        if (!by_matrices()) return 0;
        const double sum = !k_.any_layout ? 3 : writes_apart_ ? 20 : 1;
        const int64_t channels = round_up(channels_.computed, k_.weight_channel_multiple);
        return tiles_.computed * double(channels * phases()) * sum / (channels_.summed * taps_) / 100;
    }

    // Each tile's task copies the weights that have taps for channels. With this what is chosen of 38 input gradients in
    // channels_last takes 1.06 of the fastest's time (six kernels, Sapphire Rapids, 2026-11-30).
    double copied_panels() const {
        constexpr double weight = 10;
        return k_.joins_row_taps ? tile_count() * double(channels_.computed) * filled() * weight / 100 : 0;
    }

    // The weights of lanes are put side by side, once, each in the time of a hundred products.
    double filled_panels() const { return tiles_.phase_products / taps_; }

    // A panel of which one of two vectors is left out takes so much of its time (48 channels, AVX-512, EPYC, 2026-11-28).
    double computed_channels() const {
        constexpr double half = 0.7;
        const int64_t panel = k_.weight_channel_multiple, vector = vector_of(k_), rest = channels_.computed % panel;
        if (k_.phase_lanes > 0) return tiles_.phase_products / taps_;
        if (!k_.computes_taps) {
            const bool is_half = leaves_out_vectors() && rest > 0 && rest <= panel - vector;
            return double(round_up(channels_.computed, panel)) - (is_half ? (1 - half) * double(panel) : 0);
        }
        return double(round_up(entries(), tile_entries(k_))) / taps_;  // of whole register tiles
    }
    double tile_count() const { return std::ceil(tiles_.rows / double(tiles_.tile_rows)); }
    bool by_matrices() const { return k_.cpu_level == CpuLevel::amx; }
    // As FlatGemmSizes (algorithm/flat_gemm_funcs.h) tells.
    bool leaves_out_vectors() const {
        const int64_t panel = k_.weight_channel_multiple, vector = vector_of(k_);
        return !k_.packs_groups && !k_.stores_sums && channels_in_vectors() && panel > vector &&
               k_.tile_places * panel <= vector * vector;
    }
    bool channels_in_vectors() const { return k_.turns_channels || (reads_as_given() && !k_.places_of_any_layout); }
    bool reads_as_given() const { return k_.any_layout || k_.stores_sums; }
    int64_t entries() const { return channels_.computed * taps(p_); }

    // Products with all taps read positions for each block, in runs, which cost as much whatever the channels, and copy what those
    // give with gaps, before it is added (fitted to 101 layers: 2 % more than the fastest kernel of each takes, at the mean; EPYC,
    // 2026-11-23; reads in runs, and pictures that come from memory, to 30 layers, 2026-11-24).
    double copies() const {
        const double read = taps_ > 1 ? std::max(4 + 24 / double(entries()), 5.0) : 20;  // few products hide less of a read
        constexpr double run = 140, entry = 23;
        const double position = (read + run / channels_.summed) * from_memory();
        if (k_.computes_taps) {
            const double positions = tiles_.computed * double(tiles_.blocks) * position;
            return (positions + tiles_.copied * double(entries()) * entry / channels_.summed + far_weights()) / taps_ / 100;
        }
        const double copies = k_.phase_lanes > 0 ? 1 : double(tiles_.blocks);  // blocks share a tile's
        return tiles_.copied * double(planes()) * copies * copied_element() * from_memory() / taps_ / 100;
    }
    double from_memory() const {
        // Runs are short; transforms read rows of points (5 and 9 channels from 19 MB, EPYC, Zen 4, 2026-11-29).
        const double beyond_caches = k_.computes_taps || k_.winograd_cells != Size2{} ? 3 : 1.5;
        const double picture = double(p_.in_channels) * double(input_positions(p_));
        return forward_product_ && picture > third_cache_floats ? beyond_caches : 1;
    }

    // Products with all taps read entries of a panel from lines that are all entries apart: each tile does, of weights that do not
    // stay in the second cache (k4 s2 1024 to 512, 4x4, takes 1.4 times as long as turned; EPYC, 2026-11-24).
    double far_weights() const {
        constexpr double weight = 10;
        const bool stay = double(entries()) * channels_.summed <= static_cast<double>(second_cache_floats());
        return stay ? 0 : tile_count() * double(entries()) * weight;
    }

    // A register tile's operands in rows, of many channels, do not stay in the first cache.
    double rate() const {
        const double most_near = forward_product_ ? 8000 : 20000;
        constexpr double far = 0.9, one_vector = 0.79;
        const bool in_rows = !k_.computes_taps && !channels_in_vectors();
        const bool is_far = in_rows && !gradient_product_ && double(k_.tile_places) * channels_.summed > most_near;
        return double(k_.fma_percent) * (is_far ? far : 1) * (has_one_vector() ? one_vector : 1);
    }

    // Whether a register tile reads an operand for each of its sums, and one more, which the caches then deliver too slowly where
    // layers are not small: the rate of such kernels was measured on those.
    bool has_one_vector() const {
        return !k_.packs_groups && (channels_in_vectors() ? k_.weight_channel_multiple : k_.tile_places) == vector_of(k_);
    }

    bool has_avx2() const { return k_.cpu_level == CpuLevel::avx2; }
    bool turned_with_avx2() const { return k_.turns_channels && has_avx2(); }

    // How much longer a sum takes than its terms. Register tiles of AVX2 have half of the sums that AVX-512's have, which begin and
    // end as slowly.
    double begun(double terms) const { return (terms + (turned_with_avx2() ? 5 : 2.7)) / terms; }

    // A sum over few channels of a tap, or of all taps, ends before it is fast; where weights keep their order operands of many
    // channels come from as many lines; and pictures that do not stay in the second cache are read for each panel.
    double begun_sums() const {
        const double near = 8, beyond = k_.turns_channels ? 0.065 : 0.1;
        const double terms = channels_.summed * (k_.joined_terms ? taps_ : 1);
        const double sums = k_.taps_innermost ? 1 + beyond * std::max(0.0, 1 - near / channels_.summed) : begun(terms);
        return sums * (tiles_.copied_floats > 4 * static_cast<double>(second_cache_floats()) ? 1.5 : 1);
    }

    // Scattered one by one, or as vectors along rows; whole vectors of channels are turned.
    double copied_element() const {
        const bool strided = !forward_ && p_.width().input > 1 && p_.width().stride > 1;
        if (turns_places()) return turned_places();
        if (forward_product_) return !k_.turns_channels ? 17 : by_matrices() ? 6 : 19;
        if (gradient_product_) return gradient_element();
        if (k_.turns_channels) return 35;
        if (reads_as_given()) return !reads_apart_ ? 0 : k_.packs_groups ? 90 : 30;
        return strided && k_.packs_groups ? 130 : 0;
    }
    // All phases at once are fitted as other products are where both pictures lie as the kernel stages them.
    bool turns_places() const { return k_.places_of_any_layout && !(k_.phase_lanes > 0 && reads_apart_ && writes_apart_); }
    // Vectors of channels are turned; fewer channels are read element by element.
    double turned_places() const {
        const bool by_elements = !reads_apart_ && static_cast<int64_t>(channels_.summed) < vector_of(k_);
        return by_elements ? 40 : 20;
    }
    // Channels of a group are a part of a line of the cache, which each group reads and writes anew (k4 s2, 32 groups of four to
    // four channels, 8 of 56x56: 130 ms; vectors of channels 63; a Xeon, Sapphire Rapids, 2026-12-01).
    double of_each_group() const { return channels_.groups > 1 && !writes_apart_ ? 2.5 : 1; }
    double gradient_element() const {
        if (turns_copies_ && !reads_apart_) return 0;
        if (turns_copies_)
            return 20 * double(round_up(static_cast<int64_t>(channels_.summed), vector_of(k_))) / channels_.summed;
        if (reads_as_given()) return !reads_apart_ ? 0 : k_.joins_row_taps ? 200 : by_matrices() || has_avx2() ? 30 : 80;
        // Rows begin anywhere in memory.
        const double row = 70 / double(p_.width().output());
        return (k_.turns_channels ? 11 : apart()) + row;
    }

    // Every so many-th element, of whole vectors by shuffles of up to four (compiler/passes/strided_loads.h).
    double apart() const {
        const int64_t cells = p_.width().input, stride = cells > 1 ? p_.width().stride : 1;
        if (stride > 1 && cells < vector_of(k_)) return 40;
        return stride == 1 ? 7 : stride == 2 ? 15 : stride <= 4 ? 20 : 40;
    }

    // A vector of channels is turned, or stored of a tile, however few there are.
    double stored_channels() const {
        const auto channels = double(channels_.computed);
        const bool whole = k_.turns_channels ? forward_product_ || by_matrices() : by_matrices() && !writes_apart_;
        return whole ? std::max(channels, double(vector_of(k_))) : channels;
    }

    // Rows of phases without taps are stored without a turn (k1 s2, AVX-512, EPYC, 2026-11-28).
    double stored_phases() const {
        constexpr double hole = 10;
        const auto all = double(phases());
        if (!forward_product_ || !k_.turns_channels) return all * stored_element();
        const double live = double(phases_of(p_.width()) * live_phases_of_rows(p_, vector_of(k_)));
        return live * stored_element() + std::max(all - live, 0.0) * hole;
    }

    double stored_element() const {
        if (by_matrices() && k_.turns_channels) return (forward_ ? 15 : 10) * in_vectors();
        if (turns_places()) return 35 * of_each_group();
        if (forward_product_) return k_.turns_channels ? 30 * in_vectors() : k_.computes_taps ? 28 : 25;
        if (k_.stores_sums) return 12;
        if (reads_as_given()) return writes_apart_ ? (gradient_product_ && has_avx2() ? 40 : 120) : by_matrices() ? 10 : 20;
        // Phases of large strides are put side by side one by one.
        const double turned = !k_.packs_groups ? 40 : forward_ && p_.width().stride >= 8 ? 70 : forward_ ? 35 : 20;
        return (k_.turns_channels ? turned : gradient_product_ ? 40 : 50) * in_vectors();
    }
    // What vectors of a run take, beside its results.
    double in_vectors() const {
        constexpr int64_t vector = 16;
        return double(round_up(tiles_.run_results, vector)) / double(tiles_.run_results);
    }

    // Each row of a channel is stored by loops of its own, where it is not turned.
    double rows() const {
        if (k_.turns_channels) return 0;
        const double row_time = k_.computes_taps ? 1130 : 600;
        const double stored = tiles_.stored_rows * double(phases_of_rows()) * double(channels_.computed);
        return stored * row_time / (channels_.summed * taps_) / 100;
    }
};

// Register tiles of vectors of cells, each of which computes all of its channels (fitted to 70 layers of five kernels, EPYC,
// 2026-11-23; few channels to 18, 2026-11-24). Each row of an input channel is copied by itself (k4 s2, 64 to 3, 64 of 32x32:
// 7.6 ms, by products of three channels 5.4; Zen 4, 2026-11-29).
double time_of_tiles(const KernelTraits &k, const Problem &p) {
    // Of what is copied, or stored. Of one tap nothing else is done meanwhile (AVX2, EPYC, Zen 3, 2026-12-01).
    const bool one_tap = taps(p) == 1 && k.cpu_level == CpuLevel::avx2;
    const double element_time = one_tap ? 6 : 17, row_time = one_tap ? 300 : 900;
    constexpr int64_t block_channels = 128;
    const auto cells_in_whole = [&](int64_t cells_together) {
        return double(p.batch) * double(ceil_divide(p.height().output(), p.height().stride)) *
               double(round_up(ceil_divide(p.width().output(), p.width().stride), cells_together));
    };
    const int64_t out = p.out_channels / p.groups;
    const double computed = cells_in_whole(k.tile_places) * double(round_up(out, k.weight_channel_multiple));
    const double cells = cells_in_whole(vector_of(k));
    const double phases = double(p.height().stride * p.width().stride), summed = double(p.in_channels / p.groups);
    const double copied = cells * double(ceil_divide(out, block_channels)), stored = cells * double(out) * phases / summed;
    const double rows = double(p.batch) * double(p.height().input) * double(ceil_divide(out, block_channels));
    return computed / double(k.fma_percent) + ((copied + stored) * element_time + rows * row_time) / double(taps(p)) / 100;
}

}  // namespace

double relative_time(const KernelTraits &k, const Problem &p, TensorFormat read, TensorFormat written, bool shared) {
    if (is_flat(k)) return FlatTime(k, p, read, written, shared).total();
    return time_of_tiles(k, p);
}

}  // namespace conv_transpose
