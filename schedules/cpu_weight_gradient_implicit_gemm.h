// Schedule: the weight gradient as a matrix product on the CPU, for pictures of any rank, layout and element type, every
// attribute of the problem a run-time value.
//
// EPYC (Zen 3, AVX2), one thread, 2026-11-23, channels_first, percent of 105 GFLOP/s: k5 s2 1-D 320->160 of 4 x 200 80 %, k3 s1
// 144->72 of 2 x 5x6x5 77 %, k3 s2 3-D 16->8 16x32x32 57 %, k2 s2 16->16 of 8 x 56x56 43 %. Of few channels copies limit it.
//
// Order: a task has channels of both pictures and a part of the tiles. What a tile and its taps see is copied once, converted:
// of the input panels of channels side by side, turned in registers, of the output gradient the places of a channel. Then
// register tiles of vectors of input channels x entries (output channels and taps, in the order of the weights): of each cell of
// the tile a vector of the input serves all entries, and an element of the output gradient all lanes. Cells of the input have no
// gaps, and a table tells what they see. The output gradient is copied as its rows lie, whatever the stride is, without rows that
// no tap sees, and with zeros in gaps alone. Sums of a tile are added to those of the part, which stay in the second cache, and are
// turned and stored at the end.
// - Spots: with channels innermost rows of the output gradient are copied as they lie, all channels of a position side by side.
// - Pairs of bfloat16: two cells of a row are multiplied as one, side by side in each lane of the input; what a tap sees of both
//   lies side by side at each place of the output gradient, which is copied so once for all taps.
// - Depthwise: an entry is a tap, and an element of the output gradient a vector of groups, turned in registers where groups lie
//   apart, as the input is. Of few groups most of a vector would be empty: products with one group each take those.
//
// What was tried: docs/experiments.md#flat-weight-gradients-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_IMPLICIT_GEMM_H

#include <algorithm>

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/cpu_implicit_gemm.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

/// The sums of a register tile, over cells or pairs of them.
inline void sum_cells(FlatWeightGradientFuncs &f, const Halide::Var &lanes, const Halide::Var &others) {
    const Halide::RVar cells = f.summed_cells.x, pair = f.summed_cells.y;
    Halide::Stage sums = f.tile_sum.update();
    if (f.size.pairs_of_cells) sums.atomic();
    sums.reorder({pair, lanes, others, cells}).vectorize(lanes, f.size.vector).unroll(lanes).unroll(others);
    if (f.size.pairs_of_cells) sums.vectorize(pair, 2);
}

/// The input's pairs, and zeros in place of what rows lack of one.
inline void pair_input(FlatWeightGradientFuncs &f) {
    const FlatGemmVars &v = f.v;
    f.staged_input.update(f.staged_input.num_update_definitions() - 1).allow_race_conditions()
        .reorder({f.input_ends[0], f.input_ends[1], v.panel});
    f.input_pairs.bound_extent(v.pair, 2).bound_extent(v.lane, f.lanes).unroll(v.pair);
}

/// Copies of the input: blocks of vectors of cells that are turned in registers, or vectors of channels where those are neighbours.
inline void stage_input(FlatWeightGradientFuncs &f, const Halide::RVar &segment, const Halide::RVar &work) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int width = f.size.vector;
    f.staged_input.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.lane, f.lanes)
        .reorder_storage(v.lane, v.place, v.panel, v.segment, v.tile, v.group);
    int update = 0;
    if (f.taps_see_runs())
        f.staged_input.vectorize(v.lane, f.lanes);
    else
        f.staged_input.update(update++).allow_race_conditions().reorder({f.input_zeros[0], f.input_zeros[1], v.panel})
            .vectorize(f.input_zeros[0], width);
    const RDom &turned = f.input_turn;
    Var lanes{"lanes"};
    f.staged_input.update(update++).allow_race_conditions().split(v.lane, lanes, v.lane, width)
        .reorder({v.lane, turned[0], turned[1], lanes, turned[2], v.panel}).vectorize(v.lane).unroll(turned[0])
        .specialize(f.input_rows_are_dense);
    f.turned_input.compute_at(f.staged_input, turned[1]).reorder_storage(v.lane, v.element).reorder(v.element, v.lane)
        .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.element).unroll(v.lane);
    const RVar lane = f.input_copy[1];
    RVar vector{"vector"};
    Stage copy = f.staged_input.update(update);
    copy.allow_race_conditions().reorder({f.input_copy[0], lane, f.input_copy[2], v.panel});
    copy.specialize(f.reads_input_vectors).split(lane, vector, lane, width).vectorize(lane);
}

/// Sums of a part are turned into runs of entries, which are stored, a task for each block of both channels and part.
inline void store_turned_sums(FlatWeightGradientFuncs &f, const Halide::RVar &work) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const int width = f.size.vector;
    const auto &s = f.stored;
    Stage stores = f.partial.update();
    stores.allow_race_conditions().fuse(s.in_block, s.out_block, work).fuse(work, s.group, work)
        .fuse(work, s.segment_part, work).fuse(work, s.part, work).parallel(work).never_partition_all();
    stores.specialize(f.whole_vectors).vectorize(s.element);
    // Halide does not know how large they are, and would allocate each of them.
    f.turned_sums.compute_at(f.partial, s.vector).hoist_storage(f.partial, work).reorder_storage(v.element, v.lane)
        .reorder(v.lane, v.element)
        .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);
}

template <bool depthwise>
struct CpuWeightGradientProduct : CpuSchedule {
    static constexpr const char *family = depthwise ? "depthwise" : "implicit_gemm";
    static constexpr bool is_depthwise = depthwise;
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors of input channels (depthwise: of groups), and entries. Each of these has an address: with 12
    /// of one vector registers were missing, and kernels took 1.7 times as long.
    GeneratorParam<int> vectors{"vectors", depthwise ? 1 : 2}, outputs{"outputs", 8};

    /// Vectors of fewer channels are mostly empty, and of more a wider tile has all: other kernels are faster. 0 is no limit.
    GeneratorParam<int> min_in_channels{"min_in_channels", depthwise ? 1 : 2}, max_in_channels{"max_in_channels", 0};

    /// The output gradient has its channels innermost, and is copied as it lies; so has the input.
    GeneratorParam<bool> spots{"spots", false};
    /// Pairs of cells in bfloat16 are multiplied.
    GeneratorParam<bool> pairs{"pairs", false};

    /// Of groups of so many input channels.
    void search_space(SearchSpace &space, int in_channels, int vector_registers) const {
        const int lanes = vector_registers / 2, vectors = space.choose(this->vectors, {1, 2, 3, 4});
        const int sums = vectors * space.choose(outputs, {2, 4, 6, 8, 10, 12, 14});
        space.choose(min_in_channels, {1});
        space.require("sums leave registers for operands", sums >= 6 && sums <= vector_registers - 4);
        space.require("less than half of a tile is idle", vectors * lanes < 2 * std::max(in_channels, lanes));
    }

    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        f.lanes = vectors * vector, f.outputs = outputs;
        f.size = {.vector = vector, .positions = 1, .channels = f.outputs, .channels_in_vectors = true,
                  .depthwise = depthwise, .turns_copies = depthwise, .only_seen = true, .joined_terms = spots,
                  .pairs_of_cells = pairs};
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar work{"work"};
        Var entries{"entries"};

        Func(f.taps).compute_root();
        f.entries.compute_root().align_bounds(f.v.entry, f.outputs);

        store_turned_sums(f, work);

        const RVar segment = f.tiles.x;
        f.cell_places.update().allow_race_conditions().vectorize(f.placed[0]);
        f.part_sum.compute_at(f.partial, work).bound_extent(v.lane, f.lanes);
        for (Stage stage : {Stage(f.part_sum), f.part_sum.update()})
            stage.split(v.entry, entries, v.entry, f.outputs, TailStrategy::RoundUp).vectorize(v.lane, width)
                .unroll(v.lane).unroll(v.entry);
        f.part_sum.update().reorder({v.lane, v.entry, v.panel, entries, segment, f.tiles.y})
            .never_partition({segment, f.tiles.y});

        for (Func table : {f.span, f.seen_rows, f.gaps, f.input_rows, f.cells_before, f.cell_places})
            table.compute_at(f.part_sum, segment);
        f.staged.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        Stage zeros = clear_gaps(f);
        if (depthwise) {
            f.staged.reorder_storage(v.summed, v.place, v.plane, v.segment, v.tile, v.group);
            zeros.vectorize(v.summed, width, TailStrategy::RoundUp);
            turn_copies(f);
            f.staged.update(f.copies[0].update).specialize(f.output_rows_are_dense);
            stage_channels(f, 1);
        } else if (spots) {
            zeros.vectorize(f.zeroed[0]);
            stage_spots(f);
        } else {
            zeros.vectorize(f.zeroed[0]);
            stage_places(f, true, f.output_rows_are_dense);
            stage_channels(f, static_cast<int>(f.copies.size()) - 1);
        }
        stage_input(f, segment, work);
        if (pairs) stage_pairs(f, segment, work);

        f.tile_sum.compute_at(f.part_sum, v.panel).bound_extent(v.lane, f.lanes).bound_extent(v.entry, f.outputs)
            .vectorize(v.lane, width).unroll(v.lane).unroll(v.entry);
        bound_to_one_segment(v, {f.span, f.seen_rows, f.gaps, f.staged, f.turned_cells, f.input_rows, f.cells_before, f.cell_places,
                                 f.staged_input, f.turned_input, f.input_pairs, f.seen_pairs, f.tile_sum});
        sum_cells(f, v.lane, v.entry);
    }

  private:
    void stage_pairs(FlatWeightGradientFuncs &f, const Halide::RVar &segment, const Halide::RVar &work) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        for (Func pairs : {f.input_pairs, f.seen_pairs}) pairs.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        pair_input(f);
        f.input_pairs.vectorize(v.lane, width);
        f.seen_pairs.align_bounds(v.element, 2).split(v.element, v.place, v.pair, 2, TailStrategy::RoundUp)
            .unroll(v.pair).vectorize(v.place, width, TailStrategy::RoundUp);
    }
};

/// Few places with many input channels. Machine: an EPYC with AVX2, one thread, 2026-11-24, channels_first, GFLOP/s (100 or so
/// are the limit), beside the kernel above: k4 s2 512->512 of 10 positions 76 (28), 1024->512 4x4 66 (36), 8x8 90 (73); k5 s2
/// 1024->128, 64 of 1x1, 81 (59). Less where a place has fewer channels: k2 s2 512->512, 12 of 4x4, 65 (74), k3 s2 256->128, 4 of
/// 6x6, 65 (89).
///
/// Order: a task has some output channels and all input channels. What taps see of each cell is put side by side, a vector of
/// entries at a time, once. Then register tiles of vectors of entries x input channels, whose sums are complete: they are stored
/// where they belong, without tables, sums of parts and turns, which took five times what ten positions' products do. Entries of
/// a chunk stay in the first cache for all input channels, and rows of weights are written side by side. A loop for each of group
/// and part, in place of one for all that is parallel: Halide did not know that a register tile has one of them, and kept it in
/// memory.
struct CpuWeightGradientEntries : CpuSchedule {
    static constexpr const char *family = "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors of entries, and input channels.
    GeneratorParam<int> vectors{"vectors", 3}, channels{"channels", 8};
    GeneratorParam<int> min_in_channels{"min_in_channels", 1}, max_in_channels{"max_in_channels", 0};
    /// What its tap sees of a place is put beside others once, for all of these.
    GeneratorParam<int> min_channels_of_place{"min_channels_of_place", 6};
    /// Pairs of cells in bfloat16 are multiplied.
    GeneratorParam<bool> pairs{"pairs", false};

    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        f.lanes = channels, f.outputs = vectors * vector, f.entries_in_vectors = true;
        f.size = {.vector = vector, .positions = 1, .channels = f.outputs, .channels_in_vectors = true,
                  .chunk = 16, .only_seen = true, .pairs_of_cells = pairs};
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar vector{"vector"};
        const RVar work = f.stored.out_block;
        auto &s = f.stored;

        Func(f.taps).compute_root();
        f.entries.compute_root();

        // Entries of a chunk stay in the first cache for all input channels.
        Stage stores = f.partial.update();
        stores.allow_race_conditions().parallel(work).never_partition_all().unroll(s.lane)
            .split(s.element, vector, s.element, width).vectorize(s.element).unroll(vector);

        for (Func table : {f.span, f.seen_rows, f.gaps, f.input_rows, f.cells_before, f.cell_places})
            table.compute_at(f.partial, work);
        f.cell_places.update().allow_race_conditions().vectorize(f.placed[0]);
        f.staged.compute_at(f.partial, work);
        clear_gaps(f).vectorize(f.zeroed[0]);
        stage_places(f, true, f.output_rows_are_dense);
        stage_channels(f, static_cast<int>(f.copies.size()) - 1);
        f.staged_input.compute_at(f.partial, work).bound_extent(v.lane, f.lanes)
            .reorder_storage(v.lane, v.place, v.panel, v.segment, v.tile, v.group);
        f.staged_input.update(0).allow_race_conditions().reorder({f.input_zeros[0], f.input_zeros[1], v.panel});
        f.staged_input.update(1).allow_race_conditions().reorder({f.input_copy[0], f.input_copy[1], f.input_copy[2], v.panel});

        if (pairs) {
            pair_input(f);
            f.input_pairs.compute_at(f.partial, work);
            f.entry_pairs.compute_at(f.partial, work).bound_extent(v.pair, 2).bound_extent(v.entry, f.outputs).unroll(v.pair)
                .vectorize(v.entry, width);
        }
        f.seen.compute_at(f.partial, work).bound_extent(v.entry, f.outputs);
        f.seen.update().vectorize(v.entry, width).reorder({v.entry, f.seen_cells.x});

        for (const Var &one : {v.register_tile, v.panel, v.out_block, v.segment, v.tile, v.group}) f.tile_sum.bound_extent(one, 1);
        f.tile_sum.compute_at(f.partial, s.vector).bound_extent(v.lane, f.lanes).bound_extent(v.entry, f.outputs)
            .reorder_storage(v.entry, v.lane, v.register_tile, v.panel, v.out_block, v.segment, v.tile, v.group)
            .reorder(v.entry, v.lane).vectorize(v.entry, width).unroll(v.entry).unroll(v.lane);
        sum_cells(f, v.entry, v.lane);
    }
};

using CpuWeightGradientImplicitGemm = CpuWeightGradientProduct<false>;
using CpuWeightGradientDepthwise = CpuWeightGradientProduct<true>;

}  // namespace conv_transpose

#endif
