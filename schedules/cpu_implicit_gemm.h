// Schedule: a matrix product on the CPU, every attribute of the problem a run-time value, of any rank. Lanes are places, or
// channels: these for pictures of any layout and element type.
//
// EPYC (Zen 5, AVX-512), one thread, 2026-11-22, percent of 255 GFLOP/s. Places: k5 s1 64->64 128x128 85 %, k2 s2 512->512 37x37
// 55 %. Channels: k4 s2 512->256 16x16 77 %, k2 s2 128->64 64x64 46 %; turned, k10 s5 512->256, 4 signals of 375, 82 %. All taps,
// AVX2, 2026-11-24: k4 s2 256->3 256x256 50 % of 105. All phases, AVX2 (EPYC, Zen 3), 2026-12-01: k9 s2 56->1 128x128 49 % of 125,
// k4 s2 64->1 35 %. Products alone reach 80 to 95 %; copies, turns and stores take the rest.
//
// Order: a tile of places of a group, for a block of channels, is the unit of work. What its taps see of the picture is copied
// once, for all summed channels, as rows with their gaps, so that no test is left in the sums. Then panel by panel of channels,
// phase by phase, register tiles of vectors of places x channels: for each live tap, all summed channels, a vector serves all
// channels and a weight all places, and sums stay in registers until they are complete. A panel's results of all phases are
// interleaved, a row at a time, and stored as whole vectors. Tables hold what divisions would give (rows, taps, cells).
// - All taps (computes_taps, algorithm/flat_entries.h): positions are read once for all entries, eight register tiles that lie side
//   by side of a channel, then the next channel's: a line is used up before others of its set of the cache drive it out.
// - All phases (joins_phases, algorithm/flat_phases.h): lanes are phases of channels, whose weights are put side by side before all
//   tiles; a channel's terms of all taps come before the next one's, so that what they see of the picture stays near.
// - Places in any layout (any_layout): where channels lie side by side, vectors of them are turned into vectors of places as they
//   are copied, and results are scattered. For few channels, which would fill little of a vector: 2 to 8 times as fast as vectors
//   of channels (a Xeon, 2026-11-30, percent of 180 GFLOP/s: k8 s8 192->3, 8 of 32x32, 45 %, k4 s2 64->9 240x320 32 %).
// - Channels: the summed channels of a place lie side by side, and a register tile is places x vectors of channels: a vector of
//   weights serves all places, an element of the picture all channels, and both are read in the order in which they lie.
// - Turned, where channels lie apart: blocks of vectors of cells x vectors of channels are turned by shuffles as they are copied,
//   and results as they are stored, by runs of whole planes, images or rows: a table tells where each result of a run is.
// - From channels_last to channels_last (stores_sums): a register tile's sums are stored from its registers, where a table tells
//   each cell's results to lie, and zeros are written to gaps alone. Input gradients took 0.86 of the time of results that wait in
//   the second cache (a Xeon, Sapphire Rapids, 2026-12-01, percent of 190 GFLOP/s: k2 s2 128<-128 37x37 68 %, k4 s2 64<-3 256x256
//   65 %); tiles of 6 places x 4 vectors read fewest operands where channels fill them.
// - Joined terms: channels and taps are one loop, a table tells where each reads, and the picture is copied as it lies.
// - Pairs of bfloat16: `pair` is vectorized atomically inside of the channels, of which Halide makes vdpbf16ps.
// - Tiles of pairs: loops over 32 places, 32 channels and 8 or 16 pairs stay serial, and compiler/passes/matrix_tiles.h makes AMX
//   of them, four tiles of sums in registers over all taps. Products alone reach 2.0 TFLOP/s where vdpbf16ps reaches 0.085
//   (Sapphire Rapids, one thread, 2026-11-29), so copies and stores are most of the time: in channels_last a register tile is
//   stored as soon as it is complete.
//   Of few channels a row of the kernel is summed as one, with all channels of its taps, which lie side by side in channels_last.
// - Depthwise: a panel is one group, copied when its panel begins; or a vector is of groups, each of which sees itself alone.
//
// What was tried: docs/experiments.md#flat-products-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_H

#include <algorithm>
#include <vector>

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

/// The copies of rows by vectors of places, of several widths; a row of all channels before the next, or a channel's rows. In any
/// layout vectors need `are_dense`: that elements of a row lie side by side.
inline void stage_places(FlatGemmFuncs &f, bool row_by_row = false,
                         const Halide::Expr &are_dense = Halide::Internal::const_true()) {
    using namespace Halide;
    Var together{"together"};
    for (std::size_t i = 0; i < f.copies.size() && f.copies[i].domain.dimensions() == 3; i++) {
        const RDom &r = f.copies[i].domain;
        Stage copy = f.staged.update(f.copies[i].update);
        // Rows of less than a vector have one or two pieces, for which a loop would cost more than copying them.
        if (f.copies[i].width < f.size.vector) copy.reorder({r[0], f.v.summed, r[1], r[2], f.v.plane});
        else if (row_by_row) copy.reorder({r[0], r[1], f.v.summed, r[2], f.v.plane});
        else  // a processor foresees eight rows of addresses at once, and memory waits for a single one
            copy.split(f.v.summed, f.v.summed, together, 8, TailStrategy::GuardWithIf)
                .reorder({r[0], together, r[1], f.v.plane, r[2], f.v.summed});
        copy.allow_race_conditions().vectorize(r[0]);
        if (f.copies[i].width == 1) continue;
        if (Internal::is_const(f.read_stride) && !Internal::is_const(are_dense)) copy.specialize(are_dense);
        if (Internal::is_const(f.read_stride)) continue;
        // Every so many-th element of whole vectors, by shuffles.
        for (int stride : {1, 2, 3, 4})
            if (stride <= 2 || f.copies[i].width == f.size.vector) copy.specialize(are_dense && f.read_stride == stride);
    }
}

/// Zeros in gaps alone, in vectors of places; a schedule says more.
inline Halide::Stage clear_gaps(FlatGemmFuncs &f) {
    return f.staged.update(0).allow_race_conditions()
        .reorder({f.zeroed[0], f.zeroed[1], f.v.summed, f.zeroed[2], f.v.plane});
}

/// The body of a weight gradient's loops over tiles and their segments has one of each. Halide sees that by itself only where it
/// partitions these loops, which compiles all of the body six times.
inline void bound_to_one_segment(const FlatGemmVars &v, const std::vector<Halide::Func> &funcs) {
    for (Halide::Func func : funcs)
        for (const Halide::Var &arg : func.args())
            if (arg.name() == v.segment.name() || arg.name() == v.tile.name()) func.bound_extent(arg, 1);
}

/// The copies of pictures whose channels are in vectors: by vectors of channels; where channels lie apart, by vectors of cells,
/// whose elements are scattered.
inline void stage_channels(FlatGemmFuncs &f, int number) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const RDom &copied = f.copies[number].domain;
    const RVar row = copied[1];
    Var channels{"channels"};
    RVar cell{"cell"}, cells{"cells"};
    Stage copy = f.staged.update(f.copies[number].update);
    copy.specialize(f.reads_vectors).split(v.summed, channels, v.summed, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(v.summed, channels, copied[0], row, v.plane).vectorize(v.summed);
    copy.allow_race_conditions().split(copied[0], cells, cell, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(cell, cells, v.summed, row, v.plane).vectorize(cell);
}

/// The same of spots, whose channels lie side by side: rows by vectors, or a spot's channels.
inline void stage_spots(FlatGemmFuncs &f) {
    using namespace Halide;
    const RDom &row = f.copies[0].domain, &spot = f.copies[1].domain;
    RVar channel{"channel"}, channels{"channels"};
    f.staged.update(f.copies[0].update).allow_race_conditions().vectorize(row[0]).specialize(f.reads_vectors);
    f.staged.update(f.copies[1].update).allow_race_conditions()
        .split(spot[0], channels, channel, f.size.vector, TailStrategy::GuardWithIf).vectorize(channel)
        .specialize(f.reads_vectors);
}

/// For pictures whose channels lie apart: blocks of vectors of cells are turned in registers
/// (compiler/passes/vector_transpositions.h makes shuffles of stores that lie a vector apart).
inline void turn_copies(FlatGemmFuncs &f) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    Var channels{"channels"};
    const RDom &copied = f.copies[0].domain;
    f.staged.update(f.copies[0].update).allow_race_conditions()
        .split(v.summed, channels, v.summed, f.size.vector, TailStrategy::RoundUp)
        .reorder({v.summed, copied[0], copied[1], channels, copied[2], v.plane}).vectorize(v.summed).unroll(copied[0]);
    f.turned_cells.compute_at(f.staged, copied[1]).reorder_storage(v.summed, v.element).reorder(v.element, v.summed)
        .bound_extent(v.element, f.size.vector).bound_extent(v.summed, f.size.vector).vectorize(v.element).unroll(v.summed);
}

/// The same, and rows of less than a vector.
inline void stage_turned_channels(FlatGemmFuncs &f) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    Var channels{"channels"};
    const RDom &rest = f.copies[1].domain;
    turn_copies(f);
    f.staged.update(f.copies[1].update).allow_race_conditions()
        .split(v.summed, channels, v.summed, f.size.vector, TailStrategy::RoundUp)
        .reorder(v.summed, rest[0], channels, rest[1], v.plane).vectorize(v.summed);
}

/// The other way round, for places: vectors of channels become vectors of places.
inline void turn_places(FlatGemmFuncs &f) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int width = f.size.vector;
    const RDom &copied = f.copies.back().domain;
    f.staged.update(f.copies.back().update).allow_race_conditions().vectorize(copied[0]).unroll(copied[1])
        .specialize(f.reads_vectors);
    f.turned_cells.compute_at(f.staged, copied[2]).reorder_storage(v.element, v.lane).reorder(v.lane, v.element)
        .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);
}

/// `of_channels`: lanes are channels, else places.
template <bool depthwise, bool of_channels>
struct CpuProduct : CpuSchedule {
    static constexpr const char *family = depthwise ? "depthwise" : "implicit_gemm";
    static constexpr bool is_depthwise = depthwise;
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors, and what has no lanes, channels or places.
    GeneratorParam<int> vectors{"vectors", of_channels ? (depthwise ? 1 : 2) : depthwise ? 8 : 3};
    GeneratorParam<int> channels{"channels", depthwise ? 1 : 8}, places{"places", depthwise ? 24 : 12};

    /// Of places: the product's channels are all taps of all channels.
    GeneratorParam<bool> computes_taps{"computes_taps", false};
    /// Of places: the product's channels are all phases of a channel.
    GeneratorParam<bool> joins_phases{"joins_phases", false};
    /// So many are summed at once, of those and of joined terms, which stay in the first cache.
    GeneratorParam<int> chunk{"chunk", 128};
    /// Of channels, for channels_last alone: sums are stored from registers.
    GeneratorParam<bool> stores_sums{"stores_sums", false};
    /// Of places, which are of channels_first alone otherwise.
    GeneratorParam<bool> any_layout{"any_layout", false};
    /// Of channels, for channels_first alone.
    GeneratorParam<bool> turned{"turned", false};
    /// Of channels, for input gradients: tiles have no gaps; channels and taps are summed as one, of pictures as they lie.
    GeneratorParam<bool> only_cells{"only_cells", false}, joined_terms{"joined_terms", false};
    /// Of channels: pairs of bfloat16 are multiplied.
    GeneratorParam<bool> pairs{"pairs", false};
    /// Not 0: so many pairs, 8 or 16, are multiplied by a matrix instruction, of 16 or 32 places and channels
    /// (compiler/passes/matrix_tiles.h).
    GeneratorParam<int> tile_pairs{"tile_pairs", 0};
    GeneratorParam<bool> fills_tiles{"fills_tiles", false};  // with zeros; else summed channels are whole such pairs

    FlatGemmSizes sizes(const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        if (of_channels)
            return {.vector = vector, .positions = places, .channels = vectors * vector, .channels_in_vectors = true,
                    .turned = turned, .depthwise = depthwise, .chunk = chunk, .only_seen = stores_sums,
                    .joined_terms = joined_terms, .only_cells = only_cells, .stores_sums = stores_sums, .pairs = pairs,
                    .tile_pairs = tile_pairs, .fills_tiles = fills_tiles};
        const int entries = computes_taps ? int(channels) : 0;
        return {.vector = vector, .positions = vectors * vector, .channels = entries > 0 || joins_phases ? 1 : int(channels),
                .depthwise = depthwise, .places_of_any_layout = any_layout, .entries = entries, .chunk = chunk,
                .phase_lanes = joins_phases ? int(channels) : 0, .read_tiles = 8};
    }

    /// Of channels_first, for so many channels of a group that are computed.
    void search_space(SearchSpace &space, int channels_computed, int vector_registers, bool is_gradient) const {
        const int vector = vector_registers / 2;  // 16 lanes with AVX-512, of 32 registers, and 8 with AVX2
        const int vectors = space.choose(this->vectors, {1, 2, 3, 4, 6, 8, 12});
        int others, tile_channels;
        if (of_channels) {
            others = space.choose(places, {2, 4, 6, 8, 10, 12, 14, 16}), tile_channels = vectors * vector;
            space.choose(turned, {true});
            const bool is_joined = is_gradient && space.choose(joined_terms, {false, true});
            const bool by_cells = space.choose(only_cells, {false, true});
            space.require("joined terms are of cells alone", by_cells || !is_joined);
        } else {
            others = tile_channels = space.choose(channels, {1, 2, 3, 4, 5, 6, 8, 12, 16});
        }
        const int sums = vectors * others;
        space.require("sums leave registers for operands", sums >= 6 && sums <= vector_registers - 4);
        space.require("less than half of a tile is idle",
                      tile_channels < 2 * std::max(channels_computed, of_channels ? vector : 1));
    }

    void apply(FlatGemmFuncs &f, const Halide::Target &) const {
        if (!joins_phases)
            for (Halide::Func table : {f.taps, f.live_taps}) table.compute_root();
        store(f);
        if (f.empty.defined()) f.empty.compute_root();
        if (f.size.joined_terms && !f.size.joins_rows()) f.terms.compute_root();
        if (f.turned_results.defined()) turn_results(f);
        if (f.interleaved.defined()) interleave(f);
        for (Halide::Func table : {f.span, f.seen_rows, f.stored_rows}) table.compute_at(f.output, work);
        if (f.size.stores_register_tiles()) f.stored_cells.compute_at(f.output, work);
        if (stores_sums) f.cell_results.compute_at(f.output, work).update().allow_race_conditions().vectorize(f.resulting[0]);
        if (f.size.only_cells) f.cell_rows.compute_at(f.output, work), f.cell_count.compute_at(f.output, work);
        if (f.size.skips_zeros()) f.cell_boxes.compute_at(f.output, work).update().unscheduled();
        if (f.size.only_cells) f.cell_places.compute_at(f.output, work).update().allow_race_conditions().vectorize(f.placed[0]);
        stage(f);
        multiply(f);
    }

  private:
    Halide::RVar work{"work"};
    Halide::Var register_tile{"register_tile"}, tiles{"tiles"};

    void store(FlatGemmFuncs &f) const {
        auto &s = f.stored;
        Halide::Stage stores = f.output.update();
        stores.allow_race_conditions();
        if (!of_channels)
            stores.reorder({s.element, s.vector, s.phase_y, s.row, s.phase_z, s.lane, s.panel, s.block, s.segment, s.tile,
                            s.group});
        else if (turned)
            stores.reorder({s.element, s.lane, s.vector, s.phase_y, s.row, s.phase_z, s.lane_vector, s.panel, s.block, s.segment,
                            s.tile, s.group});
        else if (stores_sums)
            stores.reorder({s.element, s.vector, s.cell, s.register_tile, s.phase_x, s.phase_y, s.phase_z, s.panel, s.block,
                            s.segment, s.group, s.tile});
        else if (f.size.stores_register_tiles())
            stores.reorder({s.element, s.vector, s.cell, s.row, s.register_tile, s.phase_x, s.phase_y, s.phase_z, s.panel, s.block,
                            s.segment, s.tile, s.group});
        else
            stores.reorder({s.element, s.vector, s.phase_x, s.cell, s.phase_y, s.row, s.phase_z, s.panel, s.block, s.segment,
                            s.tile, s.group});
        if (stores_sums) {
            // Of loops that are fused Halide does not know that a register tile has one of each.
            stores.rename(s.block, work).parallel(work).parallel(s.segment).parallel(s.group).parallel(s.tile);
            stores.vectorize(s.element).unroll(s.vector).unroll(s.cell);
            return;
        }
        // Blocks of panels share a tile's tables where they compute all taps.
        if (computes_taps || joins_phases) stores.fuse(s.segment, s.tile, work);
        else stores.fuse(s.block, s.segment, work).fuse(work, s.tile, work);
        stores.fuse(work, s.group, work).parallel(work);
        if (any_layout) stores.specialize(f.whole_vectors && f.writes_rows).vectorize(s.element);
        if (!of_channels || turned) stores.specialize(f.whole_vectors).vectorize(s.element);
        stores.vectorize(s.element);  // some lanes of one
        if (of_channels && !turned) stores.specialize(f.writes_vectors);
        if (f.size.stores_register_tiles()) stores.unroll(s.vector);
    }

    void turn_results(FlatGemmFuncs &f) const {
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        f.turned_results.compute_at(f.output, f.stored.vector).hoist_storage(f.output, work)
            .reorder_storage(v.element, v.lane, v.phase).reorder(v.lane, v.element)
            .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);
        f.run_results.compute_root().update().unscheduled();
    }

    /// The phases of a channel are put side by side.
    void interleave(FlatGemmFuncs &f) const {
        using namespace Halide;
        const RDom &r = f.interleaving;
        f.interleaved.compute_at(f.output, f.stored.phase_y).hoist_storage(f.output, work);
        Stage phases = f.interleaved.update();
        phases.allow_race_conditions().vectorize(r[0]);
        if (!Internal::is_const(f.stride_x))
            for (int stride : {1, 2, 3, 4, 5, 8}) phases.specialize(f.stride_x == stride).unroll(r[1]);
    }

    void stage(FlatGemmFuncs &f) const {
        const FlatGemmVars &v = f.v;
        f.staged.compute_at(f.output, depthwise || computes_taps ? f.stored.panel : work).hoist_storage(f.output, work);
        const bool joins_terms = f.size.joined_terms || joins_phases;
        if (f.size.only_seen) clear_gaps_of_channels(f);
        if (joins_terms) f.staged.bound(v.summed, 0, f.staged_channels).bound(v.plane, 0, f.staged_planes);
        const bool turns = turned && !f.size.taps_inside();
        if (joins_terms && !turns) f.staged.reorder_storage(v.place, v.plane, v.summed);
        if (!of_channels || (f.size.joined_terms && !turns)) {
            f.staged.vectorize(v.place, f.size.vector, Halide::TailStrategy::RoundUp);
            if (any_layout) return stage_places(f, !joins_phases, f.reads_rows), turn_places(f);
            return f.size.channels_of_any_layout() ? stage_spots(f) : stage_places(f);
        }
        f.staged.reorder_storage(v.summed, v.place, v.plane, v.segment, v.tile, v.group).reorder(v.summed, v.place);
        // LLVM fills memory with zeros of float32, but of bfloat16 one by one: a third of the time of k2 s2, 20 from 112 channels.
        const auto tail = turned ? Halide::TailStrategy::RoundUp : Halide::TailStrategy::GuardWithIf;
        if (pairs) f.staged.vectorize(v.summed, f.size.vector, tail);
        // Else Halide takes the factor of two out of addresses, and each place's is doubled in the loop: half of its instructions.
        if (pairs && !f.size.joined_terms) f.staged.bound_storage(v.summed, f.staged_channels);
        if (depthwise) f.staged.bound_extent(v.summed, f.size.channels).vectorize(v.summed, f.size.vector);
        turned ? stage_turned_channels(f) : stage_channels(f, 0);
    }

    void clear_gaps_of_channels(FlatGemmFuncs &f) const {
        const FlatGemmVars &v = f.v;
        f.gaps.compute_at(f.output, work);
        Halide::Stage zeros = clear_gaps(f);
        if (f.size.joined_terms) zeros.vectorize(f.zeroed[0]);
        else zeros.reorder({v.summed, f.zeroed[0], f.zeroed[1]})
            .vectorize(v.summed, f.size.vector, Halide::TailStrategy::GuardWithIf);
    }

    // Results of a panel are allocated once a task. Whole register tiles are computed, so what they see must be set: denormal
    // numbers in memory that is not took up to 30 times as long (Xeon, 1-D k4 s2, 512 to 512 channels of 10, 2026-11-23).
    void sum_by_register_tiles(FlatGemmFuncs &f, Halide::Func results, const Halide::RVar &at) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        results.compute_at(f.output, at).hoist_storage(f.output, work).bound_extent(v.lane, f.size.channels)
            .align_bounds(v.place, f.size.positions)
            .split(v.place, register_tile, v.place, f.size.positions, TailStrategy::RoundUp);
        f.sum.compute_at(results, register_tile).bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.channels);
        if (of_channels)
            for (Func sums : {results, f.sum})
                sums.reorder_storage(v.lane, v.place, v.panel, v.phase, v.segment, v.tile, v.group);
    }

    void multiply(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        const Var &lanes = of_channels ? v.lane : v.place, &others = of_channels ? v.place : v.lane;
        if (tile_pairs > 0) return multiply_tiles(f);
        if (joins_phases) return multiply_phases(f);
        if (stores_sums) {
            f.sum.compute_at(f.output, f.stored.register_tile).bound_extent(v.place, f.size.positions)
                .bound_extent(v.lane, f.size.channels)
                .reorder_storage(v.lane, v.place, v.panel, v.phase, v.segment, v.tile, v.group);
            return sum_terms(f);
        }
        sum_by_register_tiles(f, f.result, f.stored.panel);
        f.result.reorder(lanes, others, register_tile, v.phase).vectorize(lanes, width).unroll(lanes).unroll(others);
        if (f.chunks.defined() && !computes_taps)
            f.result.update().split(v.place, register_tile, v.place, f.size.positions)
                .reorder(lanes, others, register_tile, f.chunks.x, v.phase).vectorize(lanes, width).unroll(lanes).unroll(others);
        sum_terms(f);
    }

    void sum_terms(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        const Var &lanes = of_channels ? v.lane : v.place, &others = of_channels ? v.place : v.lane;
        f.sum.reorder(lanes, others).vectorize(lanes, width).unroll(lanes).unroll(others);
        Stage sums = f.sum.update();
        // Registers hold the operand that has fewer of them while those of the other come and go, or sums are spilled.
        const bool holds_others = !of_channels && int(vectors) > int(channels);
        const Var &inner = holds_others ? others : lanes, &outer = holds_others ? lanes : others;
        if (computes_taps) compute_entries(f), sums.reorder(lanes, others, f.reduced.tap);
        else if (f.size.joined_terms) sums.reorder(f.reduced.pair, inner, outer, f.reduced.summed);
        else if (pairs) sums.reorder(f.reduced.pair, lanes, others, f.reduced.summed, f.reduced.tap);
        else sums.reorder(inner, outer, f.reduced.summed, f.reduced.tap);
        if (f.size.skips_zeros()) f.seen_terms.compute_at(f.sum, f.reduced.tap);
        if (pairs) sums.atomic();
        sums.vectorize(lanes, width).unroll(lanes).unroll(others);
        if (pairs) sums.vectorize(f.reduced.pair, 2);
    }

    /// The loops that a lowering pass makes matrix instructions of. Sums of a tile are finished, and stored where they
    /// are not turned, before the next one.
    void multiply_tiles(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        Func finished = turned ? f.result : f.finished;
        sum_by_register_tiles(f, finished, turned ? f.stored.panel : f.stored.register_tile);
        finished.split(v.lane, v.lane_vector, v.lane, f.size.vector)
            .reorder({v.lane, v.place, v.lane_vector, register_tile, v.phase}).vectorize(v.lane);
        if (!turned) finished.bound_extent(v.phase, 1);
        Var mma_m{"mma_m"}, mma_n{"mma_n"};
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        f.sum.rename(v.place, mma_m).rename(v.lane, mma_n).reorder(mma_n, mma_m);
        if (f.size.joins_rows()) {
            Var of_pair{"of_pair"};
            f.filled_panel.compute_at(f.output, f.stored.panel).hoist_storage(f.output, work)
                .bound_extent(v.lane, 2 * f.size.channels).split(v.lane, v.lane, of_pair, 2).reorder(of_pair, v.lane)
                .unroll(of_pair).vectorize(v.lane, f.size.vector);
        } else if (fills_tiles)
            f.filled_panel.compute_at(f.output, f.stored.panel).hoist_storage(f.output, work)
                .bound_extent(v.lane, 2 * f.size.channels).vectorize(v.lane, 2 * f.size.vector);
        f.sum.update().rename(v.place, mma_m).rename(v.lane, mma_n).rename(f.reduced.pair, mma_k)
            .split(f.reduced.summed, f.reduced.summed, mma_k_outer, tile_pairs)
            .reorder({mma_k, mma_k_outer, mma_n, mma_m, f.reduced.summed, f.reduced.tap});
    }

    /// All phases of a block's channels; their weights are put side by side before all tiles.
    void multiply_phases(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        for (Func table : {f.phase_windows, f.windows, f.terms, f.kernel_positions, f.filled_panel}) table.compute_root();
        f.windows.update().unscheduled();
        f.products.compute_at(f.output, f.stored.block).hoist_storage(f.output, work).bound_extent(v.lane, f.size.phase_lanes)
            .bound_extent(v.out_block, 1).align_bounds(v.place, f.size.positions)
            .split(v.place, register_tile, v.place, f.size.positions, TailStrategy::RoundUp)
            .reorder(v.place, v.lane, register_tile, v.panel).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.compute_at(f.products, register_tile).bound_extent(v.place, f.size.positions)
            .bound_extent(v.lane, f.size.phase_lanes).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.update().reorder(v.place, v.lane, f.reduced.summed).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.filled_panel.bound_extent(v.lane, f.size.phase_lanes).unroll(v.lane);
    }

    /// All entries of a register tile's positions, which stay in the first cache meanwhile, chunk by chunk.
    void compute_entries(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        const TailStrategy whole = TailStrategy::RoundUp;
        for (Func table : {f.offsets, f.runs, f.one_run, f.position_count}) table.compute_at(f.output, work);
        f.offsets.update().unscheduled(), f.one_run.update().unscheduled();
        f.offsets.align_bounds(v.place, f.size.positions).vectorize(v.place, width, whole);
        f.products.compute_at(f.output, f.stored.block).bound_extent(v.lane, f.size.entries)
            .align_bounds(v.place, f.size.positions).bound_storage(v.place, f.room_of_positions).vectorize(v.place, width, whole);
        f.products.update().split(v.place, register_tile, v.place, f.size.positions, TailStrategy::GuardWithIf)
            .split(register_tile, tiles, register_tile, f.size.read_tiles, TailStrategy::GuardWithIf)
            .reorder(v.place, v.lane, v.panel, register_tile, tiles, f.chunks.x)
            .vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.compute_at(f.products, v.panel).bound_extent(v.place, f.size.positions)
            .bound_extent(v.lane, f.size.entries).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.update().reorder(v.place, v.lane, f.summed_entries.x).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.inputs.compute_at(f.products, tiles).bound_extent(v.lane, f.size.positions).bound_extent(v.element, f.size.read_tiles)
            .bound_extent(v.register_tile, 1).bound_storage(v.summed, f.size.chunk);
        // Eight channels in turn, as stage_places() does.
        Var together{"together"};
        f.inputs.update(0).split(v.summed, v.summed, together, 8, TailStrategy::GuardWithIf)
            .reorder(f.reads[0].x, together, f.reads[0].y, v.summed).allow_race_conditions().vectorize(f.reads[0].x);
        for (int i = 1; i < 3; i++)
            f.inputs.update(i).reorder(f.reads[i][0], v.summed, f.reads[i][1], f.reads[i][2]).allow_race_conditions()
                .vectorize(f.reads[i][0]);
    }
};

using CpuImplicitGemm = CpuProduct<false, false>;
using CpuDepthwisePlaces = CpuProduct<true, false>;
using CpuImplicitGemmChannels = CpuProduct<false, true>;
using CpuDepthwiseChannels = CpuProduct<true, true>;

}  // namespace conv_transpose

#endif
