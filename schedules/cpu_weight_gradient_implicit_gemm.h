// Schedule: the weight gradient as a matrix product on the CPU, for pictures of any rank, layout and element type, every
// attribute of the problem a run-time value.
//
// Machine: 2 cores of an AMD EPYC (Zen 5, AVX-512) that many other programs kept busy, one thread, processor time, 2026-11-22
// at 22:40, channels_first, GFLOP/s (255 is the FMA rate): k4 s2 64->64 32x32 142, k2 s2 128->64 64x64 118, k3 s1 64->64 64x64
// 163, k2 s2 192->96 12^3 120, k5 s2 160->1 12x24x24 93. cpu_weight_gradient_channels.h, for float32 of two axes and four and more
// output channels, goes before, by 1.03 to 1.6 times. Before output channels and taps were one dimension, the last took 18, since
// one of twelve sums of a register tile was used.
//
// Order: a task has channels of both pictures and a part of the tiles. What a tile and its taps see is copied once, converted:
// of the input panels of channels side by side, turned in registers, of the output gradient the places of a channel. Then
// register tiles of vectors of input channels x entries (output channels and taps, in the order of the weights): of each cell of
// the tile a vector of the input serves all entries, and an element of the output gradient all lanes. Cells of the input have no
// gaps, and a table tells what they see. One thread of an EPYC with AVX2, 2026-11-23, in ms, and with products of gaps and copies
// that do not know that elements of rows lie side by side: k3 s1 144->72 5x6x5 2.1 (3.3), k4 s2 160->160 4^3 7.1 (11.6), k20 s10
// 576->3 4x4 11.7 (15.7), k4 s4 768->3 of 4096 2.2 (2.7); 45 layers took 0.89 of the time, none longer.
// Sums of a tile are added to those of the part, which stay in the second cache, and are turned and stored at the end.
//
// Sums stored without turning: k2 s2 768->128 6^3 1.08 times as long, k4 s2 1024->512 4x4 1.2 times; but k4 s2 768->21 4x7 0.6.
//
// Depthwise: an entry is a tap, and an element of the output gradient a vector of groups, turned in registers where groups lie
// apart, as the input is. k4 s2, 64 channels of 256x256: 20 ms (AMD EPYC, one thread, 2026-11-23; PyTorch 58 in the same run),
// with elements scattered one by one 36, with a kernel of lanes along rows, which is gone, 35. Of few groups most of a vector
// would be empty: products with one group each take those.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_IMPLICIT_GEMM_H

#include "algorithm/flat_gemm_funcs.h"
#include "schedules/cpu_implicit_gemm.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

template <bool depthwise>
struct CpuWeightGradientProduct : CpuSchedule {
    static constexpr const char *family = depthwise ? "depthwise" : "implicit_gemm";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    /// The register tile: vectors of input channels (depthwise: of groups), and entries. Each of these has an address: with 12
    /// of one vector registers were missing, and kernels took 1.7 times as long.
    GeneratorParam<int> vectors{"vectors", depthwise ? 1 : 2}, outputs{"outputs", 8};

    /// Vectors of fewer channels are mostly empty, and of more a wider tile has all: other kernels are faster. 0 is no limit.
    GeneratorParam<int> min_in_channels{"min_in_channels", depthwise ? 1 : 2}, max_in_channels{"max_in_channels", 0};

    void set_sizes(FlatWeightGradientFuncs &f, const Halide::Target &target) const {
        const int vector = target.natural_vector_size<float>();
        f.lanes = vectors * vector, f.outputs = outputs;
        f.size = {.vector = vector, .positions = 1, .channels = f.outputs, .channels_in_vectors = true,
                  .depthwise = depthwise, .turns_copies = depthwise};
    }

    void apply(FlatWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        RVar work{"work"};
        Var entries{"entries"};
        auto &s = f.stored;

        Func(f.taps).compute_root();
        f.entries.compute_root();

        Stage stores = f.partial.update();
        stores.allow_race_conditions().fuse(s.in_block, s.out_block, work).fuse(work, s.group, work)
            .fuse(work, s.segment_part, work).fuse(work, s.part, work).parallel(work);
        stores.specialize(f.whole_vectors).vectorize(s.element);
        f.turned_sums.compute_at(f.partial, s.vector).reorder_storage(v.element, v.lane).reorder(v.lane, v.element)
            .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.lane).unroll(v.element);

        const RVar segment = f.tiles.x;
        f.cell_places.update().allow_race_conditions().vectorize(f.placed[0]);
        f.part_sum.compute_at(f.partial, work).bound_extent(v.lane, f.lanes);
        for (Stage stage : {Stage(f.part_sum), f.part_sum.update()})
            stage.split(v.entry, entries, v.entry, f.outputs, TailStrategy::RoundUp).vectorize(v.lane, width)
                .unroll(v.lane).unroll(v.entry);
        f.part_sum.update().reorder({v.lane, v.entry, v.panel, entries, segment, f.tiles.y});

        for (Func table : {f.span, f.seen_rows, f.input_rows, f.cells_before, f.cell_places}) table.compute_at(f.part_sum, segment);
        f.staged.compute_at(f.part_sum, segment).hoist_storage(f.partial, work);
        if (depthwise) {
            f.staged.reorder_storage(v.summed, v.place, v.plane, v.segment, v.tile, v.group).reorder(v.summed, v.place)
                .vectorize(v.summed, width);
            turn_copies(f);
            f.staged.update(0).specialize(f.output_rows_are_dense);
            stage_channels(f, 1);
        } else {
            f.staged.vectorize(v.place, width, TailStrategy::RoundUp);
            stage_places(f, f.output_rows_are_dense);
            stage_channels(f, static_cast<int>(f.copies.size()) - 1);
        }
        stage_input(f, segment, work);

        f.tile_sum.compute_at(f.part_sum, v.panel).bound_extent(v.lane, f.lanes).bound_extent(v.entry, f.outputs)
            .vectorize(v.lane, width).unroll(v.lane).unroll(v.entry);
        f.tile_sum.update().reorder(v.lane, v.entry, f.summed_cells.x).vectorize(v.lane, width).unroll(v.lane).unroll(v.entry);
    }

  private:
    void stage_input(FlatWeightGradientFuncs &f, const Halide::RVar &segment, const Halide::RVar &work) const {
        using namespace Halide;
        const FlatGemmVars &v = f.v;
        const int width = f.size.vector;
        f.staged_input.compute_at(f.part_sum, segment).hoist_storage(f.partial, work).bound_extent(v.lane, f.lanes)
            .reorder_storage(v.lane, v.place, v.panel, v.segment, v.tile, v.group).reorder(v.lane, v.place).vectorize(v.lane, width);
        // Blocks of vectors of cells are turned in registers.
        const RDom &turned = f.input_turn;
        Var lanes{"lanes"};
        f.staged_input.update(0).allow_race_conditions().split(v.lane, lanes, v.lane, width)
            .reorder({v.lane, turned[0], turned[1], lanes, turned[2], v.panel}).vectorize(v.lane).unroll(turned[0])
            .specialize(f.input_rows_are_dense);
        f.turned_input.compute_at(f.staged_input, turned[1]).reorder_storage(v.lane, v.element).reorder(v.element, v.lane)
            .bound_extent(v.element, width).bound_extent(v.lane, width).vectorize(v.element).unroll(v.lane);
        const RVar lane = f.input_copy[1];
        RVar vector{"vector"};
        Stage copy = f.staged_input.update(1);
        copy.allow_race_conditions().reorder({f.input_copy[0], lane, f.input_copy[2], v.panel});
        copy.specialize(f.reads_input_vectors).split(lane, vector, lane, width).vectorize(lane);
    }
};

using CpuWeightGradientImplicitGemm = CpuWeightGradientProduct<false>;
using CpuWeightGradientDepthwise = CpuWeightGradientProduct<true>;

}  // namespace conv_transpose

#endif
