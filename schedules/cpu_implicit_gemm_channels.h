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
// scattered, a vector of them a position, or turned: blocks of vectors of cells x vectors of channels by shuffles, as they
// are copied, and results, with their phases put side by side, as they are stored.
//
// Turned, float32, channels_first, weights packed before: k10 s5 512->256, 4 signals of 375, 82 % (cpu_implicit_gemm.h 66 %);
// k16 s8 512->256, 16 of 32, 82 % (65 %); k2 s2 512->512 37x37 76 % (58 %); k2 s2 768->384 14x14 76 % (69 %). Products reach
// 85 to 95 %: weights and channels are read in their order, where the other reads a row of places a channel, from the second
// cache. Turning takes four products' time of a vector an element; below about 200 channels that is more than is won. Register
// tiles of 8 places x 3 vectors and 24 x 1 were slower; vectors of results with a test for each element, 1.5 to 2 times.
//
// Depthwise: a vector is of groups, each of which sees itself alone; register tiles of 24 places. 3-D k5 s2, 2 images of 256
// channels of 16^3, turned: 15 ms (with a product a group 28), its input gradient 21 (57). Half of the time goes to the turns.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_CHANNELS_H

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

/// The copies of pictures whose channels are in vectors: by vectors of channels; where channels lie apart, by vectors of cells,
/// whose elements are scattered.
inline void stage_channels(FlatGemmFuncs &f, int update) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const RDom &copied = f.copies[update].domain;
    const RVar row = copied[1];
    Var channels{"channels"};
    RVar cell{"cell"}, cells{"cells"};
    Stage copy = f.staged.update(update);
    copy.specialize(f.reads_vectors).split(v.summed, channels, v.summed, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(v.summed, channels, copied[0], row, v.plane).vectorize(v.summed);
    copy.allow_race_conditions().split(copied[0], cells, cell, f.size.vector, TailStrategy::GuardWithIf)
        .reorder(cell, cells, v.summed, row, v.plane).vectorize(cell);
}

/// For pictures whose channels lie apart: blocks of vectors of cells are turned in registers (Halide makes shuffles of stores
/// that lie a vector apart).
inline void stage_turned_channels(FlatGemmFuncs &f) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    Var channels{"channels"};
    const RDom &copied = f.copies[0].domain, &rest = f.copies[1].domain;
    f.staged.update(0).allow_race_conditions().split(v.summed, channels, v.summed, f.size.vector, TailStrategy::RoundUp)
        .reorder({v.summed, copied[0], channels, copied[1], copied[2], v.plane}).vectorize(v.summed).unroll(copied[0]);
    f.turned_cells.compute_at(f.staged, channels).reorder_storage(v.summed, v.element).reorder(v.element, v.summed)
        .bound_extent(v.element, f.size.vector).bound_extent(v.summed, f.size.vector).vectorize(v.element).unroll(v.summed);
    f.staged.update(1).allow_race_conditions().split(v.summed, channels, v.summed, f.size.vector, TailStrategy::RoundUp)
        .reorder(v.summed, rest[0], channels, rest[1], v.plane).vectorize(v.summed);
}

template <bool depthwise>
struct CpuProductOfChannels : CpuSchedule {
    static constexpr const char *family = depthwise ? "depthwise" : "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: places, and vectors of channels.
    GeneratorParam<int> places{"places", depthwise ? 24 : 12}, vectors{"vectors", depthwise ? 1 : 2};
    /// For channels_first alone.
    GeneratorParam<bool> turned{"turned", false};

    FlatGemmSizes sizes(const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        return {.vector = vector, .positions = places, .channels = vectors * vector, .channels_in_vectors = true,
                .turned = turned, .depthwise = depthwise};
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
        stores.allow_race_conditions();
        if (turned)
            stores.reorder({s.element, s.phase_x, s.lane, s.vector, s.phase_y, s.row, s.phase_z, s.lane_vector, s.panel,
                            s.block, s.segment, s.tile, s.group});
        else
            stores.reorder({s.element, s.vector, s.phase_x, s.cell, s.phase_y, s.row, s.phase_z, s.panel, s.block, s.segment,
                            s.tile, s.group});
        stores.fuse(s.block, s.segment, work).fuse(work, s.tile, work).fuse(work, s.group, work).parallel(work);
        if (turned) {
            stores.specialize(f.whole_vectors).vectorize(s.element);
            stores.vectorize(s.element);  // some lanes of one
            interleave(f);
        } else {
            stores.vectorize(s.element);
            stores.specialize(f.writes_vectors);
        }

        for (Func table : {f.span, f.seen_rows, f.stored_rows}) table.compute_at(f.output, work);
        f.staged.compute_at(f.output, depthwise ? s.panel : work).hoist_storage(f.output, work)
            .reorder_storage(v.summed, v.place, v.plane, v.segment, v.tile, v.group).reorder(v.summed, v.place);
        if (depthwise) f.staged.bound_extent(v.summed, f.size.channels).vectorize(v.summed, width);
        turned ? stage_turned_channels(f) : stage_channels(f, 0);

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

  private:
    /// Results are turned, then the phases of a channel put side by side.
    void interleave(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        const RDom &r = f.interleaving;
        const RVar task{"work"};
        f.turned_results.compute_at(f.output, f.stored.vector).hoist_storage(f.output, task)
            .reorder_storage(v.element, v.lane, v.phase).reorder(v.lane, v.element)
            .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);
        f.interleaved.compute_at(f.output, f.stored.vector).hoist_storage(f.output, task).bound_extent(v.lane, width);
        Stage phases = f.interleaved.update();
        phases.allow_race_conditions().reorder({r[0], r[1], v.lane}).vectorize(r[0]);
        if (!Internal::is_const(f.stride_x))
            for (int stride : {1, 2, 3, 4, 5, 8}) phases.specialize(f.stride_x == stride).unroll(r[1]);
    }
};

using CpuImplicitGemmChannels = CpuProductOfChannels<false>;
using CpuDepthwiseChannels = CpuProductOfChannels<true>;

}  // namespace conv_transpose

#endif
