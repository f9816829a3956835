// Schedule: a matrix product on the CPU with channels in vectors, for pictures of any layout and element type, every attribute
// of the problem a run-time value, of any rank.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512) that other programs kept busy, one thread, processor time, 2026-11-22,
// channels_last, percent of 255 GFLOP/s: k4 s2 512->256 16x16 77 % (float32), 76 % (bfloat16); k4 s2 64->64 32x32 65 and 69 %;
// k2 s2 128->64 64x64 46 and 44 %. The gather that computed these before: 7 %.
//
// Order: as in cpu_implicit_gemm.h, but what is copied has the summed channels of a place side by side, and a register tile is
// places x vectors of channels: a vector of weights serves all places, and an element of the picture all channels. Weights are
// read in the order in which they lie, and so is the picture of a place, however many channels there are. Elements are
// converted as they are copied, and results as they are stored. Channels that lie apart (channels_first) are gathered and
// scattered, a vector of them a position, which costs little beside the products of many channels.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_CHANNELS_H

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/kernel_description.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

/// The copies of pictures whose channels are in vectors: by vectors of channels; where channels lie apart, by vectors of cells,
/// whose elements are scattered.
inline void stage_channels(FlatGemmFuncs &f) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const RDom &copied = f.copies[0].domain;
    const RVar row = copied[1];
    Var channels{"channels"};
    RVar cell{"cell"}, cells{"cells"};
    Stage copy = f.staged.update();
    copy.specialize(f.reads_vectors).split(v.summed, channels, v.summed, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(v.summed, channels, copied[0], row, v.plane).vectorize(v.summed);
    copy.allow_race_conditions().split(copied[0], cells, cell, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(cell, cells, v.summed, row, v.plane).vectorize(cell);
}

struct CpuImplicitGemmChannels : CpuSchedule {
    static constexpr const char *family = "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: places, and vectors of channels.
    GeneratorParam<int> places{"places", 12}, vectors{"vectors", 2};

    FlatGemmSizes sizes(const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        return {.vector = vector, .positions = places, .channels = vectors * vector, .channels_in_vectors = true};
    }

    void apply(FlatGemmFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar work{"work"};
        Var register_tile{"register_tile"};
        auto &s = f.stored;

        Func(f.taps).compute_root();
        Func(f.live_taps).compute_root();

        Stage stores = f.output.update();
        stores.allow_race_conditions()
            .reorder({s.element, s.vector, s.phase_x, s.cell, s.row, s.phase_y, s.phase_z, s.panel, s.block, s.segment, s.tile, s.group})
            .fuse(s.block, s.segment, work).fuse(work, s.tile, work).fuse(work, s.group, work).parallel(work).vectorize(s.element);
        stores.specialize(f.writes_vectors);

        for (Func table : {f.span, f.seen_rows, f.stored_rows}) table.compute_at(f.output, work);
        f.staged.compute_at(f.output, work).reorder_storage(v.summed, v.place, v.plane, v.segment, v.tile, v.group)
            .reorder(v.summed, v.place);
        stage_channels(f);

        // Allocated once a task.
        f.result.compute_at(f.output, s.panel).hoist_storage(f.output, work).bound_extent(v.lane, f.size.channels)
            .reorder_storage(v.lane, v.place, v.panel, v.phase, v.segment, v.tile, v.group)
            .split(v.place, register_tile, v.place, f.size.positions, TailStrategy::RoundUp)
            .reorder(v.lane, v.place, register_tile, v.phase).vectorize(v.lane, width).unroll(v.lane).unroll(v.place);
        f.sum.compute_at(f.result, register_tile).bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.channels)
            .reorder_storage(v.lane, v.place, v.panel, v.phase, v.segment, v.tile, v.group)
            .reorder(v.lane, v.place).vectorize(v.lane, width).unroll(v.lane).unroll(v.place);
        f.sum.update().reorder(v.lane, v.place, f.reduced.summed, f.reduced.tap)
            .vectorize(v.lane, width).unroll(v.lane).unroll(v.place);
    }
};

}  // namespace conv_transpose

#endif
