// Schedule: Winograd's algorithm on the CPU, of run-time stride and kernel size (algorithm/flat_winograd.h).
//
// EPYC (Zen 3, AVX2), one thread, 2026-11-23, percent of 105 GFLOP/s, of the definition's products: k9 s3 64->32 28x49 151 %, k4 s2
// 512->256, 4 of 16x16, 134 %, k16 s8 256->128 of 4000 118 %, k4 s2 128->64, 16 of 8x8, 95 %. Four points an axis need 2.25 times
// fewer products of both axes, 1.5 of one; less where phases lack a tap (k3 s2 1.65), and where cells, of which there is one more
// than inputs where padding is no multiple of the stride, leave tiles empty. Products take 70 % of the time, at 75 to 85 % of the
// FMA rate; of input gradients (k4 s2 128<-64, 64 images of 16x16, 38.5 ms, 2026-11-24) 65 %, at nine tenths of it.
//
// Order: a channel of a tile's input at a time is copied, transformed down its columns and along its rows, and laid out point by
// point in register tiles. Then, for some panels of channels: point by point a matrix product of all their phases, whose picture
// stays near; and the sums are transformed back to cells, which are stored as those of other products are. Lanes are Winograd's
// tiles, so transforms back need no shuffles but the interleaving of cells. Points lie an odd number of lines of the cache apart:
// else all of them may meet in a set.
//
// What was tried: docs/experiments.md#winograds-algorithm-on-cpus
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WINOGRAD_H

#include "algorithm/winograd_funcs.h"
#include "schedules/cpu_implicit_gemm.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuWinograd : CpuSchedule {
    static constexpr const char *family = "winograd";
    /// The register tile: vectors of tiles, output channels.
    Halide::GeneratorParam<int> vectors{"vectors", 3}, channels{"channels", 8};

    FlatGemmSizes sizes(const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        return {.vector = vector, .positions = vectors * vector, .channels = channels};
    }
    /// Fewer channels would spend more on the transforms than they save. Forward, tiles of both axes save enough for few output
    /// channels: EPYC with AVX2, 2026-11-24, beside the fastest of the other kernels, k4 s2 150->5 136x240 10.9 ms (15.4), 64->9
    /// 240x320 16.7 (26.2), 128->8 64x64 1.32 (1.60), k6 s2 32->3, 64 images of 30x30, 6.6 (8.2); but k4 s2 256->3 256x256 35.8
    /// (28.3), and in rows alone k8 s4 48->8 of 85995 15.6 (8.3).
    void describe(const WinogradFuncs &f, KernelDescription &description, bool forward) const {
        const bool saves_most = forward && f.down.points() > 1;
        const int few = f.down.outputs() == 2 ? 3 : 4;
        description.set("strict_propagation", "false");
        description.set("weight_layout", enumerator(WeightLayout::winograd));
        description.set("winograd_points", f.down.points(), f.across.points());
        description.set("winograd_cells", f.down.outputs(), f.across.outputs());
        description.set("min_in_channels", 16);
        description.set("min_out_channels", saves_most ? few : 16);
    }

    void apply(WinogradFuncs &f) const {
        auto &s = f.stored;
        Halide::Stage stores = f.output.update();
        stores.allow_race_conditions();
        stores.split(s.panel, chunk, s.panel, f.chunk_panels, Halide::TailStrategy::GuardWithIf);
        stores.reorder({s.element, s.vector, s.phase_y, s.row, s.phase_z, s.lane, s.panel, chunk, s.block, s.segment, s.tile,
                        s.group});
        stores.fuse(s.block, s.segment, work).fuse(work, s.tile, work).fuse(work, s.group, work).parallel(work);
        stores.specialize(f.whole_vectors).vectorize(s.element);
        stores.vectorize(s.element);
        if (f.interleaved.defined()) interleave(f);
        for (Halide::Func table : {f.span, f.seen_rows, f.stored_rows}) table.compute_at(f.output, work);
        transform(f);
        multiply(f);
        restore(f);
    }

  private:
    // Points that lie an odd number of lines of the cache apart do not meet in one set of it.
    static Halide::Expr odd(const Halide::Expr &count) { return count / 2 * 2 + 1; }

    Halide::RVar work{"work"}, chunk{"chunk"};

    void interleave(WinogradFuncs &f) const {
        using namespace Halide;
        const RDom &r = f.interleaving;
        f.interleaved.compute_at(f.output, f.stored.phase_y).hoist_storage(f.output, work);
        Stage phases = f.interleaved.update();
        phases.allow_race_conditions().vectorize(r[0]);
        for (int stride : {1, 2, 3, 4, 5, 8}) phases.specialize(f.stride_x == stride).unroll(r[1]);
    }

    // A channel of the tile's input at a time.
    void transform(WinogradFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        f.transformed.compute_at(f.output, work)
            .bound_extent(v.place, f.size.positions)
            .bound_extent(f.point_x, f.across.points()).bound_extent(f.point_y, f.down.points())
            .reorder_storage(v.place, v.summed, v.plane, v.register_tile, f.point_x, f.point_y)
            .bound_storage(v.summed, odd(f.summed_extent)).bound_storage(v.register_tile, odd(f.most_register_tiles))
            .reorder(f.point_x, f.point_y, v.place, v.register_tile, v.plane, v.summed)
            .vectorize(v.place, width).unroll(v.place).unroll(f.point_x).unroll(f.point_y);
        f.staged.compute_at(f.transformed, v.plane).hoist_storage(f.output, work)
            .vectorize(v.place, width, TailStrategy::RoundUp);
        stage_places(f);
        if (f.down.is_identity()) return;
        const RDom &r = f.down_rows;
        f.transformed_down.compute_at(f.transformed, v.plane).hoist_storage(f.output, work)
            .bound_extent(f.point_y, f.down.points());
        f.transformed_down.update().reorder({f.point_y, r[0], r[1], r[2], v.plane, v.summed})
            .allow_race_conditions().vectorize(r[0]).unroll(f.point_y);
    }

    // Point by point, the phases of some panels.
    void multiply(WinogradFuncs &f) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        f.products.compute_at(f.output, chunk).hoist_storage(f.output, work)
            .bound_storage(v.register_tile, odd(f.most_register_tiles))
            .bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.channels)
            .bound_extent(f.point_x, f.across.points()).bound_extent(f.point_y, f.down.points())
            .reorder(v.place, v.lane, v.register_tile, v.panel, v.phase, f.point_x, f.point_y)
            .reorder_storage(v.place, v.lane, v.register_tile, f.point_x, f.point_y, v.phase, v.panel)
            .vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.compute_at(f.products, v.register_tile)
            .bound_extent(v.place, f.size.positions).bound_extent(v.lane, f.size.channels)
            .reorder(v.place, v.lane).vectorize(v.place, width).unroll(v.place).unroll(v.lane);
        f.product.update().reorder({v.place, v.lane, f.summed[0], f.summed[1], f.summed[2]}).vectorize(v.place, width)
            .unroll(v.place).unroll(v.lane);
    }

    void restore(WinogradFuncs &f) const {
        const FlatGemmVars &v = f.v;
        const Halide::RDom &r = f.restored;
        f.result.compute_at(f.output, f.stored.panel).hoist_storage(f.output, work).bound_extent(v.lane, f.size.channels);
        f.result.update().allow_race_conditions().reorder({r[0], r[1], r[2], r[3], r[4], v.lane, v.phase})
            .vectorize(r[0]).unroll(r[1]).unroll(r[2]);
    }
};

}  // namespace conv_transpose

#endif
