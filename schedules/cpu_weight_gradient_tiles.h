// Schedule: the weight gradient by matrix instructions on the CPU, Intel's AMX, in bfloat16, for pictures of any rank and layout,
// every attribute of the problem a run-time value.
//
// Xeon (Sapphire Rapids), one thread, beside others, 2026-11-30, channels_first, percent of the 2 TFLOP/s that products alone
// reach: k4 s2 96->96, 2 of 40x40, 20 %, k16 s8 1-D 144->144, 2 of 400, 15 %, k4 s2 64->9 240x320 15 %. Copies of both pictures,
// and tile registers that are loaded, are most of the time.
//
// Order: a task has channels of both pictures and a part of the tiles. Both pictures are copied once a tile: rows of the output
// gradient with their cells side by side, a plane for each remainder of a stride, and the input in pairs of cells, with zeros in
// gaps. Then register tiles of 32 entries (output channels and taps, in the order of the weights) x 32 input channels: what 32
// entries see is put one below the other, which stays in the first cache for all panels of input channels, and a nest of loops goes
// through all cells of the tile, 16 pairs at a time. Sums of a tile are added to those of the part, which stay in the second cache,
// and are turned and stored at the end.
//
// What was tried: docs/experiments.md#flat-weight-gradients-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_TILES_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_TILES_H

#include "schedules/cpu_weight_gradient_implicit_gemm.h"

namespace conv_transpose {

struct CpuWeightGradientByMatrices : CpuSchedule {
    static constexpr const char *family = "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors of input channels, one or two, and entries or columns, 16 or 32.
    GeneratorParam<int> vectors{"vectors", 2}, outputs{"outputs", 32};
    GeneratorParam<int> min_in_channels{"min_in_channels", 1}, max_in_channels{"max_in_channels", 0};

  protected:
    static constexpr int pairs = 16;  // of cells, that are summed at once

    void set_tile(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        f.lanes = vectors * vector, f.outputs = outputs;
        f.size = {.vector = vector, .positions = 1, .channels = f.outputs, .channels_in_vectors = true, .only_seen = true,
                  .tile_pairs = pairs};
    }

    /// The loops that a lowering pass makes matrix instructions of (compiler/passes/matrix_tiles.h).
    static void multiply_tiles(FlatWeightGradientFuncs &f, const Halide::Var &rows, const Halide::Var &columns) {
        using namespace Halide;
        const RDom &summed = f.summed_cells;
        Var mma_m{"mma_m"}, mma_n{"mma_n"};
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        f.tile_sum.rename(rows, mma_m).rename(columns, mma_n).reorder(mma_n, mma_m);
        f.tile_sum.update().rename(rows, mma_m).rename(columns, mma_n).rename(summed[0], mma_k).rename(summed[1], mma_k_outer)
            .reorder({mma_k, mma_k_outer, mma_n, mma_m, summed[2]});
    }
};

struct CpuWeightGradientTiles : CpuWeightGradientByMatrices {
    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        set_tile(f, target);
        f.size.positions = 2 * pairs;
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar work{"work"};
        Var entries{"entries"}, chunks{"chunks"};

        Func(f.taps).compute_root();
        f.entries.compute_root().align_bounds(v.entry, f.outputs);
        store_turned_sums(f, work);

        const RVar segment = f.tiles.x;
        f.part_sum.compute_at(f.partial, work).bound_extent(v.lane, f.lanes);
        for (Stage stage : {Stage(f.part_sum), f.part_sum.update()})
            stage.split(v.entry, entries, v.entry, f.outputs, TailStrategy::RoundUp).vectorize(v.lane, width).unroll(v.lane);
        f.part_sum.update().reorder({v.lane, v.entry, v.panel, entries, segment, f.tiles.y})
            .never_partition({segment, f.tiles.y});

        for (Func table : {f.span, f.seen_rows, f.gaps, f.input_rows}) table.compute_at(f.part_sum, segment);
        f.staged.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        clear_gaps(f).vectorize(f.zeroed[0]);
        stage_places(f, true, f.output_rows_are_dense);
        turn_places(f);
        stage_input(f, segment, work);
        f.input_pairs.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.pair, 2)
            .bound_extent(v.lane, f.lanes).unroll(v.pair).vectorize(v.lane, width);
        f.seen_runs.compute_at(f.part_sum, entries).hoist_storage(f.partial, work).bound_extent(v.entry, f.outputs)
            .bound_extent(v.place, f.size.positions).split(v.chunk, chunks, v.chunk, 4, TailStrategy::GuardWithIf)
            .reorder(v.place, v.chunk, v.entry, chunks).vectorize(v.place);

        f.tile_sum.compute_at(f.part_sum, v.panel).bound_extent(v.lane, f.lanes).bound_extent(v.entry, f.outputs);
        bound_to_one_segment(v, {f.span, f.seen_rows, f.gaps, f.staged, f.turned_cells, f.input_rows, f.staged_input,
                                 f.turned_input, f.input_pairs, f.seen_runs, f.tile_sum});
        multiply_tiles(f, v.entry, v.lane);
    }
};

}  // namespace conv_transpose

#endif
