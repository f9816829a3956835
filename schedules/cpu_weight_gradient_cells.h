// Schedule: the weight gradient as products of rows of cells on the CPU, of pictures in channels_first, where channels are few.
//
// EPYC (Zen 4, AVX-512), one thread, 2026-11-29, percent of 117 GFLOP/s: k2 s2, 2 of 48x48, 20 to 112 channels 51 %; k4 s2 of three
// axes, 8 to 256 channels of 8x16x16, 41 %; k4 s2, 8 of 64x128, 2 to 2 channels 17 %. 1x1, 2 of 64x64x64, 32 to 2 channels: 6.9 ms,
// of which reading the picture at the memory's 25 GB/s would take 2.7. Of three axes and of few weights copies limit it.
//
// Order: a task has channels of both pictures and a part of the tiles, whose rows are copied once, with zeros in gaps. Register
// tiles are input channels x entries (output channels and taps): of each vector of cells an input channel's serves all entries, and
// what an entry's tap sees all input channels. Lanes of a sum are added up when the part is complete. Eight channels are copied in
// turn, as many rows of addresses as a processor foresees: 0.6 of the time of one channel after the other.
//
// What was tried: docs/experiments.md#flat-weight-gradients-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CELLS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CELLS_H

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/cpu_implicit_gemm.h"
#include "schedules/cpu_weight_gradient_implicit_gemm.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CpuWeightGradientCells : CpuSchedule {
    static constexpr const char *family = "implicit_gemm";
    static constexpr bool is_depthwise = false;
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: input channels, and entries.
    GeneratorParam<int> channels{"channels", 4}, outputs{"outputs", 6};
    GeneratorParam<int> min_in_channels{"min_in_channels", 1}, max_in_channels{"max_in_channels", 0};

    /// Of groups of so many input channels.
    void search_space(SearchSpace &space, int in_channels, int vector_registers) const {
        const int vector = vector_registers / 2, filled = in_channels <= vector ? vector : covered(in_channels, 2 * vector);
        space.require("other vectors are mostly empty", 8 * in_channels <= 5 * filled);  // as the runtime's lanes_rejection()
        const int channels = space.choose(this->channels, {1, 2, 3, 4, 6, 8});
        const int sums = channels * space.choose(outputs, {2, 3, 4, 6, 8});
        space.require("sums leave registers for operands", sums >= 6 && sums <= vector_registers - 4);
        space.require("less than half of a tile is idle", channels == 1 || channels < 2 * in_channels);
    }

    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        f.lanes = channels, f.outputs = outputs, f.cells_in_vectors = true;
        f.size = {.vector = vector, .positions = vector, .channels = f.outputs, .channels_in_vectors = true, .only_seen = true};
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar work{"work"};
        Var entries{"entries"}, panels{"panels"};
        auto &s = f.stored;

        Func(f.taps).compute_root();
        f.entries.compute_root().align_bounds(v.entry, f.outputs);

        f.partial.update().allow_race_conditions().fuse(s.in_block, s.out_block, work).fuse(work, s.group, work)
            .fuse(work, s.segment_part, work).fuse(work, s.part, work).parallel(work).never_partition_all();
        f.lane_sum.compute_at(f.partial, s.element).hoist_storage(f.partial, work).update().atomic().vectorize(f.added_lanes.x);

        const RVar segment = f.tiles.x;
        f.part_sum.compute_at(f.partial, work).bound_extent(v.element, width).bound_extent(v.lane, f.lanes);
        for (Stage stage : {Stage(f.part_sum), f.part_sum.update()})
            stage.split(v.entry, entries, v.entry, f.outputs, TailStrategy::RoundUp).vectorize(v.element).unroll(v.lane)
                .unroll(v.entry);
        f.part_sum.update().reorder({v.element, v.lane, v.entry, v.panel, entries, segment, f.tiles.y})
            .never_partition({segment, f.tiles.y});

        for (Func table : {f.span, f.seen_rows, f.gaps, f.input_rows, f.cell_count}) table.compute_at(f.part_sum, segment);
        f.staged.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        clear_gaps(f).vectorize(f.zeroed[0]);
        stage_places(f, true);
        f.staged_input.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.lane, f.lanes)
            .vectorize(v.place, width, TailStrategy::RoundUp);
        for (const FlatGemmFuncs::Copy &copied : f.input_copies) {
            const RDom &r = copied.domain;
            f.staged_input.update(copied.update).allow_race_conditions().split(v.panel, panels, v.panel, 2, TailStrategy::RoundUp)
                .reorder({r[0], v.lane, v.panel, r[1], r[2], panels}).vectorize(r[0]).unroll(v.lane).unroll(v.panel);
        }

        f.tile_sum.compute_at(f.part_sum, v.panel).bound_extent(v.element, width).bound_extent(v.lane, f.lanes)
            .bound_extent(v.entry, f.outputs).vectorize(v.element).unroll(v.lane).unroll(v.entry);
        bound_to_one_segment(v, {f.span, f.seen_rows, f.gaps, f.staged, f.input_rows, f.cell_count, f.staged_input, f.tile_sum});
        f.tile_sum.update().reorder({v.element, v.lane, v.entry, f.summed_cells.x}).vectorize(v.element).unroll(v.lane)
            .unroll(v.entry);
    }
};

}  // namespace conv_transpose

#endif
