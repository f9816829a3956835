// Schedules: depthwise problems on the CPU with channels innermost, forward, input gradient and weight gradient, every attribute a
// run-time value.
//
// Machine: 2 cores of an EPYC with AVX-512, busy with other programs, one thread, processor time, 2026-11-24, float32. Forward and
// input gradient: k7 s1, 96 channels of 56x56, 0.44 ms, 67 GFLOP/s; k4 s2, 64 of 64x64, 0.21 and 0.17 ms, 24 and 30 GB/s, where a
// plain loop reads and writes 87 of as little; k8 s8, 256 of 64x64, 18 and 24 ms, 15 and 11 GB/s (25). Weight gradient: k7, 8
// images of 384 of 14x14, 2.0 ms; k4 s2, 64 of 64x64, 0.5 ms. Flat products, which copy what taps see 64 bytes of a position at a
// time (cpu_implicit_gemm.h), took 1.5, 1.7 and 2.1 times as long at the mean of 24 layers, 0.7 times at least: they are faster
// where 25 and more taps of a phase see pictures that do not stay in the second cache (k7 s1, 8 x 96 of 56x56, 5.7 and 8.1 ms).
//
// Order: some tiles of a row are the unit of work. A tile is of neighbouring cells of a phase and panels of vectors of channels;
// its sums stay in registers over one loop through all taps of the row, whose places a table tells, so that there is neither a test
// nor a product of coordinates in it. Positions are read as they lie, all panels of a tile before the next tile. Cells at the edges
// have sums of their own. Of the weight gradient a segment of a row is read for some taps of a row of the kernel, whose sums stay
// in registers, panel by panel.
//
// What limits it: of many taps loads, one a product; of few taps the beginning of a tile (about 60 instructions); of pictures of
// 7x7 edges, whose sums are too few to hide what a product takes. Tried without gain: tiles of 8 and 12 cells of two vectors, and
// of 4 and 6 of four; all tiles of a panel before the next panel. AVX-512 with panels of four vectors of three cells takes 0.7
// times as long of 512 channels of 14x14 and 1.4 times of 96 of 28x28. Four nested loops in place of one took 1.5 times as long of
// 16 channels.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_CHANNEL_ROWS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_CHANNEL_ROWS_H

#include <algorithm>
#include <vector>

#include "algorithm/channel_rows_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

/// Eight channels have vectors of their own on AVX-512, too.
inline channel_rows::PanelSizes panel_sizes(int vectors, int vector) { return {vectors * vector, vector, std::min(vector, 8)}; }

struct CpuChannelRows : CpuSchedule {
    static constexpr const char *family = "depthwise";
    /// The register tile: vectors of groups, and neighbouring cells, each of which has an address.
    Halide::GeneratorParam<int> vectors{"vectors", 2}, places{"places", 4};

    void set_sizes(channel_rows::Funcs &f, int vector) const { f.panels = panel_sizes(vectors, vector), f.places = places; }

    void apply(channel_rows::Funcs &f) const {
        using namespace Halide;
        f.phases.compute_root();
        for (Func &table : f.seen) table.compute_root();
        Func output = f.result;
        for (std::size_t i = 0; i < f.sums.size(); i++) {
            channel_rows::Sums &s = f.sums[i];
            const RDom &r = s.stored;
            const int vector = f.panels.vector_of(s.is_narrow);
            const RVar task = r[5];
            Stage stores = output.update(static_cast<int>(i));
            stores.allow_race_conditions().reorder({r[0], r[1], r[2], r[3], r[4], task}).parallel(task)
                .vectorize(r[0], vector).unroll(r[0]).unroll(r[1]).never_partition_all();
            if (!Internal::is_const(f.is_plain)) stores.specialize(f.is_plain);
            for (Func table : {s.task, s.rows, s.row_count}) table.compute_at(output, task);
            if (!s.is_edge) s.list.compute_at(output, task);
            s.columns.compute_at(output, r[3]);
            s.sum.compute_at(output, r[2]).bound_extent(f.lane, f.panels.lanes_of(s.is_narrow))
                .bound_extent(f.place, s.is_edge ? 1 : f.places_of(s))
                .vectorize(f.lane, vector).unroll(f.lane).unroll(f.place);
            std::vector<VarOrRVar> order{f.place, f.lane};
            for (int d = 0; d < s.taps.dimensions(); d++) order.push_back(s.taps[d]);
            s.sum.update().reorder(order).vectorize(f.lane, vector).unroll(f.lane).unroll(f.place).never_partition_all();
        }
    }
};

struct CpuWeightGradientChannelRows : CpuSchedule {
    static constexpr const char *family = "depthwise";
    /// The register tile: vectors of channels, and neighbouring taps, each of which has an address.
    Halide::GeneratorParam<int> vectors{"vectors", 4}, taps{"taps", 3};

    void set_sizes(channel_rows::WeightFuncs &f, int vector) const {
        f.panels = panel_sizes(vectors, vector), f.taps = taps;
        for (int n = taps; n > 0; n--)
            for (const bool is_narrow : {false, true}) f.sums.push_back({n, is_narrow});
    }

    void apply(channel_rows::WeightFuncs &f) const {
        using namespace Halide;
        f.columns.compute_root();
        for (Func &table : f.seen) table.compute_root();
        const RVar segment = f.summed.x, row = f.summed.y;
        f.partial.reorder(f.entry, f.channel, f.group, f.part).parallel(f.part);
        const auto in_vectors = [&](Stage stage) { stage.vectorize(f.channel, f.panels.narrow, TailStrategy::GuardWithIf); };
        f.part_sum.compute_at(f.partial, f.part);
        in_vectors(f.part_sum);
        f.part_sum.update().reorder({f.channel, f.entry, segment, row});
        in_vectors(f.part_sum.update());
        for (Func table : {f.rows, f.row_taps, f.tap_count}) table.compute_at(f.part_sum, row);
        f.row_sum.compute_at(f.part_sum, segment);
        in_vectors(f.row_sum);
        for (std::size_t i = 0; i < f.sums.size(); i++) {
            channel_rows::TapSums &s = f.sums[i];
            const RDom &r = s.stored;
            const int vector = f.panels.vector_of(s.is_narrow);
            f.row_sum.update(static_cast<int>(i)).allow_race_conditions().reorder({r[0], r[1], r[2], r[3], r[4]})
                .vectorize(r[0], vector).unroll(r[0]).unroll(r[1]).never_partition_all();
            s.span.compute_at(f.part_sum, segment);
            const auto tile = [&](Stage stage) { stage.vectorize(f.lane, vector).unroll(f.lane).unroll(f.place); };
            s.sum.compute_at(f.row_sum, r[2]).bound_extent(f.lane, f.panels.lanes_of(s.is_narrow))
                .bound_extent(f.place, s.taps);
            tile(s.sum);
            s.sum.update(0).reorder(f.place, f.lane, s.inside.x).never_partition_all();
            s.sum.update(1).reorder(f.place, f.lane, s.edges.x).never_partition_all();
            for (int u : {0, 1}) tile(s.sum.update(u));
        }
    }
};

}  // namespace conv_transpose

#endif
