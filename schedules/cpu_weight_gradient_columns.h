// Schedule: the weight gradient by matrix instructions on the CPU, Intel's AMX, in bfloat16, for pictures of any rank whose
// channels lie side by side, every attribute of the problem but the dilation along x a run-time value.
//
// Xeon (Sapphire Rapids), one thread, beside others, 2026-11-30, percent of the 2 TFLOP/s that products alone reach: k4 s2 96->96,
// 2 of 40x40, 21 %, k4 s2 96->48, 32 of 7x5, 14 %, k2 s2 320->320 of three axes, 2 of 4x4x4, 4 %.
//
// Order: as that of cpu_weight_gradient_tiles.h, but that register tiles are 32 input channels x 32 columns of a row of the kernel
// (algorithm/flat_gradient_columns.h). The output gradient is copied as its rows lie, the input, too, and then turned. What cells
// see of 32 columns is put beside each other in pairs, by shuffles of two vectors, for all panels of input channels, and rows of
// sums are stored as they are.
//
// What was tried: docs/experiments.md#flat-weight-gradients-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_COLUMNS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_COLUMNS_H

#include "schedules/cpu_weight_gradient_tiles.h"

namespace conv_transpose {

struct CpuWeightGradientColumns : CpuWeightGradientByMatrices {
    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        set_tile(f, target);
        f.size.joined_terms = true;
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        const auto &s = f.stored;
        const TailStrategy whole = TailStrategy::RoundUp;
        RVar work{"work"};
        Var entries{"entries"};

        Func(f.taps).compute_root();
        Stage stores = f.partial.update();
        stores.allow_race_conditions().fuse(s.in_block, s.group, work).fuse(work, s.segment_part, work).fuse(work, s.part, work)
            .parallel(work).never_partition_all();
        stores.specialize(f.whole_vectors && f.columns_are_entries).vectorize(s.element);

        const RVar segment = f.tiles.x;
        f.part_sum.compute_at(f.partial, work).bound_extent(v.lane, f.lanes);
        for (Stage stage : {Stage(f.part_sum), f.part_sum.update()})
            stage.split(v.entry, entries, v.entry, f.outputs, whole).vectorize(v.entry, width).unroll(v.entry);
        f.part_sum.update().reorder({v.entry, v.lane, v.panel, entries, v.tap, segment, f.tiles.y})
            .never_partition({segment, f.tiles.y});

        for (Func table : {f.span, f.seen_rows, f.gaps, f.input_rows, f.cells_before, f.cell_places})
            table.compute_at(f.part_sum, segment);
        f.cell_places.vectorize(v.place, width, whole).update().allow_race_conditions().vectorize(f.placed[0]);
        f.staged.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        clear_gaps(f).vectorize(f.zeroed[0]);
        stage_spots(f);
        stage_runs(f, segment, work);

        f.seen_columns.compute_at(f.part_sum, entries).hoist_storage(f.partial, work).bound_extent(v.pair, 2)
            .bound_extent(v.entry, f.outputs).bound_extent(v.place, f.size.tile_pairs).unroll(v.pair).vectorize(v.entry, width);
        f.tile_sum.compute_at(f.part_sum, v.panel).bound_extent(v.lane, f.lanes).bound_extent(v.entry, f.outputs);
        bound_to_one_segment(v, {f.span, f.seen_rows, f.gaps, f.staged, f.input_rows, f.cells_before, f.cell_places, f.staged_input,
                                 f.turned_input, f.input_runs, f.seen_columns, f.tile_sum});
        multiply_tiles(f, v.lane, v.entry);
    }

  private:
    /// Vectors of input channels become runs of cells.
    void stage_runs(FlatWeightGradientFuncs &f, const Halide::RVar &segment, const Halide::RVar &work) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar channel = f.input_copy[1], vector{"vector"};
        Var lanes{"lanes"}, places{"places"};
        f.staged_input.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.lane, f.lanes)
            .reorder_storage(v.lane, v.place, v.panel, v.segment, v.tile, v.group)
            .reorder(v.lane, v.place).vectorize(v.lane, f.lanes);
        Stage copy = f.staged_input.update(0);
        copy.allow_race_conditions().reorder({f.input_copy[0], channel, f.input_copy[2], v.panel});
        copy.specialize(f.reads_input_vectors).split(channel, vector, channel, width).vectorize(channel);
        f.input_runs.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.lane, f.lanes)
            .bound_extent(v.place, 2 * f.size.tile_pairs).split(v.lane, lanes, v.lane, width).split(v.place, places, v.place, width)
            .reorder({v.place, v.lane, places, lanes, v.chunk, v.panel}).vectorize(v.place).unroll(v.lane);
        f.turned_input.compute_at(f.input_runs, places).reorder_storage(v.element, v.lane).reorder(v.lane, v.element)
            .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);
    }
};

}  // namespace conv_transpose

#endif
