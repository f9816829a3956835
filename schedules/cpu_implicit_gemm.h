// Schedule: a matrix product on the CPU, every attribute of the problem a run-time value, of any rank.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512), busy with other programs, one thread, processor time, 2026-11-22, percent
// of 255 GFLOP/s (the FMA rate that follows from cpu_tiles.h's figures; not measured in this run): k5 s1 64->64 128x128 85 %, k5 s2 128->64 64x64 76 %, k8 s4 128->64 of 30000 samples 69 %, k8 s4
// 64->32 64x64 64 %, k2 s2 384->192 128x128 72 %, k2 s2 512->512 37x37 55 %. The general kernel reached 4 to 9 %.
//
// Order: a tile of places of a group, for a block of channels, is the unit of work. What its taps see of the picture is
// copied once, for all summed channels, as rows with their gaps, so that no test is left in the sums. Then panel by panel
// of channels, phase by phase, register tiles of vectors of places x channels: for each live tap, all summed channels, a
// vector serves all channels and a weight all places, and sums stay in registers until they are complete. A panel's results
// of all phases are interleaved, a row at a time, and stored as whole vectors, the last of a row a little early.
//
// Tables hold what divisions give (rows, taps): with divisions in the loops copies took a third of the time. Register tiles
// of 3 vectors x 8 channels read 11 operands for 24 products; fewer channels take tiles of their own, as wide as registers
// allow. All phases of a register tile before the next tile: 2 to 8 % slower. Halide's prefetches of the picture: it makes loops
// of them, which cost more than they bring. Rows are stored in the order of memory, phases of y inside of rows: a depthwise
// picture of 256x256 took 13.1 ms phase by phase and takes 9.7.
//
// Depthwise: a panel is one group, which sees itself alone and is copied when its panel begins. 1-D k3 s2, 512 channels of 400:
// 0.09 ms, 16 GB/s; cpu_implicit_gemm_channels.h, groups in vectors, is up to twice as fast where taps are many.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_IMPLICIT_GEMM_H

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

/// The copies of rows by vectors of places, of several widths.
inline void stage_places(FlatGemmFuncs &f) {
    using namespace Halide;
    for (std::size_t i = 0; i < f.copies.size() && f.copies[i].domain.dimensions() == 3; i++) {
        const RDom &r = f.copies[i].domain;
        Stage copy = f.staged.update(i);
        // Rows of less than a vector have one or two pieces, for which a loop would cost more than copying them.
        if (f.copies[i].width < f.size.vector) copy.reorder({r[0], f.v.summed, r[1], r[2], f.v.plane});
        else copy.reorder({r[0], r[1], f.v.summed, r[2], f.v.plane});
        copy.allow_race_conditions().vectorize(r[0]);
        // Every so many-th element of whole vectors, by shuffles.
        if (Internal::is_const(f.read_stride) || f.copies[i].width == 1) continue;
        for (int stride : {1, 2, 3, 4})
            if (stride <= 2 || f.copies[i].width == f.size.vector) copy.specialize(f.read_stride == stride);
    }
}

template <bool depthwise>
struct CpuProductOfPlaces : CpuSchedule {
    static constexpr const char *family = depthwise ? "depthwise" : "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors of places, and channels.
    GeneratorParam<int> vectors{"vectors", depthwise ? 8 : 3}, channels{"channels", depthwise ? 1 : 8};

    /// The product's channels are all taps of all channels.
    GeneratorParam<bool> computes_taps{"computes_taps", false};

    FlatGemmSizes sizes(const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>(), entries = computes_taps ? int(channels) : 0;
        return {.vector = vector, .positions = vectors * vector, .channels = entries > 0 ? 1 : int(channels),
                .depthwise = depthwise, .entries = entries};
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
            .reorder({s.element, s.vector, s.phase_y, s.row, s.phase_z, s.lane, s.panel, s.block, s.segment, s.tile, s.group})
            .fuse(s.block, s.segment, work).fuse(work, s.tile, work).fuse(work, s.group, work).parallel(work);
        stores.specialize(f.whole_vectors).vectorize(s.element);
        stores.vectorize(s.element);  // some lanes of one

        for (Func table : {f.span, f.seen_rows, f.stored_rows}) table.compute_at(f.output, work);
        f.staged.compute_at(f.output, depthwise ? s.panel : work).hoist_storage(f.output, work)
            .vectorize(v.place, width, TailStrategy::RoundUp);
        stage_places(f);

        // Allocated once a task.
        f.result.compute_at(f.output, s.panel).hoist_storage(f.output, work).bound_extent(v.lane, f.size.channels)
            .split(v.place, register_tile, v.place, f.size.positions, TailStrategy::RoundUp)
            .reorder(v.place, v.lane, register_tile, v.phase).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.sum.compute_at(f.result, register_tile).bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.channels)
            .vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        Stage sums = f.sum.update();
        if (computes_taps) compute_entries(f), sums.reorder(v.place, v.lane, f.reduced.tap);
        else sums.reorder(v.place, v.lane, f.reduced.summed, f.reduced.tap);
        sums.vectorize(v.place, width).unroll(v.place).unroll(v.lane);

        f.interleaved.compute_at(f.output, s.phase_y).hoist_storage(f.output, work);
        Stage interleave = f.interleaved.update();
        interleave.allow_race_conditions().vectorize(f.interleaving[0]);
        if (!Internal::is_const(f.stride_x))
            for (int stride : {1, 2, 3, 4, 5, 8}) interleave.specialize(f.stride_x == stride).unroll(f.interleaving[1]);
    }

  private:
    /// All entries of a register tile's places, which stay in the first cache meanwhile.
    void compute_entries(FlatGemmFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        Var register_tile{"register_tile"};
        f.entries.compute_root();
        f.products.compute_at(f.output, RVar("work")).bound_extent(v.lane, f.size.entries)
            .split(v.place, register_tile, v.place, f.size.positions, TailStrategy::RoundUp)
            .reorder(v.place, v.lane, v.panel, register_tile).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.compute_at(f.products, v.panel).bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.entries)
            .vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.update().reorder(v.place, v.lane, f.summed_entries.x).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
    }
};

using CpuImplicitGemm = CpuProductOfPlaces<false>;
using CpuDepthwisePlaces = CpuProductOfPlaces<true>;

}  // namespace conv_transpose

#endif
